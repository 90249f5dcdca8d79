local score = redis.pcall("zscore", KEYS[1], ARGV[1])
if type(score) == "table" then
  if not string.find(score.err, "WRONGTYPE", 1, true) then return score end
  if redis.call("get", KEYS[1]) ~= ARGV[1] then return "0 " .. ARGV[1] end
  local left = redis.call("pttl", KEYS[1])
  if left >= 0 and left < tonumber(ARGV[2]) then redis.call("pexpire", KEYS[1], ARGV[2]) end
  return "1 " .. ARGV[1]
end
local clock = redis.call("time")
local moment = clock[1] * 1000 + math.floor(clock[2] / 1000)
if (tonumber(score) or 0) < moment then return "-1 " .. ARGV[1] end
if redis.call("zcount", KEYS[1], string.format("%d", moment), "+inf") > 1 then return "0 " .. ARGV[1] end
local ttl = math.max(tonumber(ARGV[2]), tonumber(score) - moment)
redis.call("set", KEYS[1], ARGV[1], "px", string.format("%d", ttl))
return "1 " .. ARGV[1]
