local score = redis.pcall("zscore", KEYS[1], ARGV[1])
local turns = type(score) == "table"
if turns and not string.find(score.err, "WRONGTYPE", 1, true) then return score end
local clock = redis.call("time")
local moment = clock[1] * 1000 + math.floor(clock[2] / 1000)
local rest = (guarded and "0 0 " .. string.format("%d", moment) .. " " or "") .. ARGV[1]
if turns and (not may_turn or redis.call("get", KEYS[1]) ~= ARGV[1]) or not turns and (tonumber(score) or 0) < moment then
  return "0 " .. rest
end
local ends = moment + ARGV[2]
if turns then
  ends = math.max(ends, moment + redis.call("pttl", KEYS[1]))
  redis.call("del", KEYS[1])
else
  ends = math.max(ends, tonumber(score))
  redis.call("zremrangebyscore", KEYS[1], "-inf", string.format("(%d", moment))
end
local set = redis.pcall("zadd", KEYS[1], string.format("%d", ends), ARGV[1])
local latest = redis.pcall("zrevrange", KEYS[1], 0, 0, "withscores")
if type(set) ~= "table" and latest[1] == ARGV[1] then set = redis.pcall("pexpireat", KEYS[1], latest[2]) end
if type(set) == "table" then
  if turns then redis.pcall("del", KEYS[1]) end
  return set
end
local was = turns and KEYS[2] and redis.pcall("get", KEYS[2])
if type(was) == "string" and type(redis.pcall("pexpire", KEYS[2], 60000)) == "number" then
  local line, at, mark, patience, free = was, 1, nil, ARGV[3], false
-- include wake
  if line == "" then
    redis.pcall("del", KEYS[2])
  elseif line ~= was then
    redis.pcall("set", KEYS[2], line, "px", 60000)
  end
end
return "1 " .. rest
