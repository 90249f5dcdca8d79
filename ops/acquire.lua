-- ACQUIRE: makes the key with the token, if there is no key. A fenced request draws a number; only nodes of a guarded set
-- have the counter's bounds.
--
-- effect: claims
-- lost: leaves a key; undo by release; harmful when late
-- waits as: enter
-- native: SET name token NX PX ttl
-- guard script: name record fences | token ttl pass timed
-- yes: OK
-- no: nil
-- guarded yes: {1, number, 0, time:ms, token:text}
-- guarded no: {0, 0, pttl:ms, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- guarded uncounted: {-2, 0, 0, 0, token:text}
-- rights: set del pttl hget hmget hset incrby time
-- plain rights: set

local clock = require("clock")
local guard = require("guard")
local numbers = require("numbers")

local fenced, floor, most, number = #KEYS > 2, nil, nil, "0"
local set
if fenced then
  set = guard.read(KEYS.record, ARGV.pass)
else
  set = guard.admits(KEYS.record, ARGV.pass)
end
if not set then return "-1 0 0 0 " .. ARGV.token end
local now = clock.told_as_text(ARGV.timed)
if fenced then
  local known
  floor, most, known = guard.bounds(set)
  if not known then return "-2 0 0 0 " .. ARGV.token end
end
if not redis.call("set", KEYS.name, ARGV.token, "nx", "px", ARGV.ttl) then
  return "0 0 " .. string.format("%d", redis.call("pttl", KEYS.name)) .. " " .. now .. " " .. ARGV.token
end
if fenced then
  local _, failed, digits = numbers.draw(KEYS[3], KEYS.record, floor, most)
  if failed then
    redis.pcall("del", KEYS.name)
    return failed
  end
  number = digits
end
return "1 " .. number .. " 0 " .. now .. " " .. ARGV.token
