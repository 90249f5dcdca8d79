-- EXTEND: lengthens the life of a key that has the token. A key that is gone is not made again.
--
-- effect: extends
-- lost: ask again
-- script: name | token ttl
-- guard script guarded_extend: name record | token ttl pass timed
-- native: WATCH
-- yes: 1
-- no: 0
-- guarded yes: {1, 0, 0, time:ms, token:text}
-- guarded no: {0, 0, 0, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- rights: get pttl pexpire
-- watch rights: watch multi exec getrange pttl pexpire
if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
local left = redis.call("pttl", KEYS[1])
if left >= 0 and left < tonumber(ARGV[2]) then redis.call("pexpire", KEYS[1], ARGV[2]) end
return 1
