local record, fence, fenced = KEYS[2], KEYS[3], ARGV[4] ~= ""
local set = fenced and redis.call("hmget", record, "pass", "prev", "floor", "gmax") or redis.call("hmget", record, "pass", "prev")
if ARGV[3] ~= set[1] and ARGV[3] ~= set[2] then return {-1, 0, 0, 0, ARGV[1]} end
if fenced and not tonumber(set[3]) then return {-2, 0, 0, 0, ARGV[1]} end
local clock = ARGV[5] ~= "" and redis.call("time")
local now, number = clock and clock[1] * 1000 + math.floor(clock[2] / 1000) or 0, 0
if not redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then
  return {0, 0, redis.call("pttl", KEYS[1]), now, ARGV[1]}
end
if fenced then
-- include draw
end
return {number < 0 and -2 or 1, number, 0, now, ARGV[1]}
