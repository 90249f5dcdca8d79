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

local clock = require("clock")
local guard = require("guard")
local numbers = require("numbers")

local set = redis.call("hmget", KEYS.record, "pass", "floor", "gmax")
local floor, most, known = guard.bounds(set)
if ARGV.pass ~= set[1] and ARGV.pass ~= redis.call("hget", KEYS.record, "prev") then return "-1 0 0 0 " .. ARGV.token end
local now = clock.told_as_text(ARGV.timed)
if not known then return "-2 0 0 0 " .. ARGV.token end
if not redis.call("set", KEYS.name, ARGV.token, "nx", "px", ARGV.ttl) then
  return "0 0 " .. string.format("%d", redis.call("pttl", KEYS.name)) .. " " .. now .. " " .. ARGV.token
end
local _, failed, kept = numbers.draw(KEYS.fence, KEYS.record, floor, most)
if failed then
  redis.pcall("del", KEYS.name)
  return failed
end
return "1 " .. kept .. " 0 " .. now .. " " .. ARGV.token
