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

local clock = require("clock")
local guard = require("guard")

local admitted = guard.admits(KEYS.record, ARGV.pass)
if not admitted then return "-1 0 0 0 " .. ARGV.token end
local now = clock.told_as_text(ARGV.timed)
if redis.call("set", KEYS.name, ARGV.token, "nx", "px", ARGV.ttl) then return "1 0 0 " .. now .. " " .. ARGV.token end
return "0 0 " .. string.format("%d", redis.call("pttl", KEYS.name)) .. " " .. now .. " " .. ARGV.token
