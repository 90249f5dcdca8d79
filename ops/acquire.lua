-- ACQUIRE: makes the key with the token, if there is no key.
--
-- effect: claims
-- lost: leaves a key; undo by release; harmful when late
-- waits as: enter
-- native: SET name token NX PX ttl
-- guard script: name record | token ttl pass timed
-- yes: OK
-- no: nil
-- guarded yes: {1, 0, 0, time:ms, token:text}
-- guarded no: {0, 0, pttl:ms, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- rights: set
local pass = redis.call("hget", KEYS[2], "pass")
-- include passes
if redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then return "1 0 0 " .. now .. " " .. ARGV[1] end
return "0 0 " .. string.format("%d", redis.call("pttl", KEYS[1])) .. " " .. now .. " " .. ARGV[1]
