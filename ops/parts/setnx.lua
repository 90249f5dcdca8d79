local is, side, time = redis.call("get", KEYS[1]), redis.call("get", KEYS[2]), redis.call("time")
local left = redis.call("pttl", KEYS[1])
local wrote, since, token = string.match(side or "", "^(%d+) (%d+) (.*)$")
local ends = tonumber(string.match(is or "", "^%d+%.?%d*$"))
local ours = token == ARGV[1] and is == wrote and left >= 0
if token == ARGV[1] and ends and left == -1 then
  local age = time[1] * 1000 + math.floor(time[2] / 1000) - since
  ours = age >= 0 and age <= 1000 and ends > tonumber(time[1]) and ends <= wrote + 1
end
