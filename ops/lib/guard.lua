-- The record of a guarded node set, a hash. A node may vote while the record has the request's pass: that of the current
-- configuration, or of the one before.
local clock = require("clock")

local guard = {}

-- Whether the record has this pass. One command where it is the current one.
function guard.admits(record, pass)
  local current = redis.call("hget", record, "pass")
  return pass == current or pass == redis.call("hget", record, "prev")
end

-- The record's fields pass, floor, gmax; false if it has another pass.
function guard.read(record, pass)
  local set = redis.call("hmget", record, "pass", "floor", "gmax")
  return (pass == set[1] or pass == redis.call("hget", record, "prev")) and set
end

-- As read(), and the time if the request wants it, for an answer that is one text.
function guard.open(record, pass, timed)
  local set = guard.read(record, pass)
  local now = clock.told_as_text(timed)
  return set, now
end

-- The bounds of numbers that were drawn, and whether they are known: without them none may be drawn.
function guard.bounds(set)
  local floor, most = tonumber(string.match(set[2] or "", "^%d+$")), tonumber(string.match(set[3] or "", "^%d+$"))
  local known = floor and most and floor <= most and most < 2 ^ 53 - 1
  return floor, most, known
end

return guard
