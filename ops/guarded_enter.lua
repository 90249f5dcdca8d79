local record, fence, fenced = KEYS[4], KEYS[5], ARGV[6] ~= ""
local set = redis.call("hmget", record, "pass", "floor", "gmax", "prev")
if ARGV[5] ~= set[1] and ARGV[5] ~= set[4] then return {-1, 0, 0, 0, ARGV[1], ""} end
-- include known
if fenced and not known then return {-2, 0, 0, 0, ARGV[1], ""} end
local both = redis.call("mget", KEYS[1], KEYS[2])
local clock = ARGV[7] ~= "" and redis.call("time")
local moment, number = clock and clock[1] * 1000 + math.floor(clock[2] / 1000) or 0, 0
if both[1] == ARGV[1] then
  number = fenced and math.min(tonumber(redis.pcall("get", fence)) or most, most) or 0
  local life = redis.call("pttl", KEYS[1])
  if life >= 0 and life < tonumber(ARGV[2]) then redis.call("pexpire", KEYS[1], ARGV[2]) end
  return {1, math.floor(#(both[2] or "") / 31), number, moment, ARGV[1], ""}
end
if both[2] then redis.call("pexpire", KEYS[2], 60000) end
local left = redis.call("pttl", KEYS[1])
local free, was, place, kind = left == -2, both[2] or "", ARGV[3], "w"
local open = free or not both[1] and redis.pcall("type", KEYS[1]).ok == "zset"
local patience, offered = string.match(ARGV[4], "^(%d+) (%d+)$")
local polls = offered == "1" and 2000
-- include tidy
if free and (mine or line == "") and redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then
  if fenced then
-- include draw
  end
-- include served
  return {1, math.floor(#line / 31), number, moment, ARGV[1], ""}
end
-- include stand
return {0, math.floor(#line / 31), left, stands, ARGV[1], string.sub(both[1] or "", 1, 1024)}
