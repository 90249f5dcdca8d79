local score = redis.pcall("zscore", KEYS[1], ARGV[1])
local is, moment = type(score) == "table", 0
if is then
  if not string.find(score.err, "WRONGTYPE", 1, true) then return score end
  if redis.call("get", KEYS[1]) ~= ARGV[1] then return "0 " .. rest end
else
  local clock = redis.call("time")
  moment = clock[1] * 1000 + math.floor(clock[2] / 1000)
  if (tonumber(score) or 0) < moment then return "-1 " .. rest end
  if redis.call("zcount", KEYS[1], string.format("%d", moment), "+inf") > 1 then return "0 " .. rest end
end
