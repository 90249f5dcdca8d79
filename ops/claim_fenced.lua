-- CLAIM_FENCED: an acquire that draws a fencing token. Only nodes of a guarded set have the counter's bounds.
--
-- effect: claims
-- lost: leaves a key; undo by release; harmful when late
-- waits as: enter
-- guard script: name record fence | token ttl pass timed
-- guarded yes: {1, number, 0, time:ms, token:text}
-- guarded no: {0, 0, pttl:ms, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- guarded uncounted: {-2, 0, 0, 0, token:text}
-- rights: hget hmget hset incrby set del pttl time
local record, fence, number = KEYS[2], KEYS[3], 0
local set = redis.call("hmget", record, "pass", "floor", "gmax")
local pass = set[1]
-- include known
-- include passes
if not known then return "-2 0 0 0 " .. ARGV[1] end
if not redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then
  return "0 0 " .. string.format("%d", redis.call("pttl", KEYS[1])) .. " " .. now .. " " .. ARGV[1]
end
-- include draw
return "1 " .. kept .. " 0 " .. now .. " " .. ARGV[1]
