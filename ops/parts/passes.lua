if ARGV[3] ~= pass and ARGV[3] ~= redis.call("hget", KEYS[2], "prev") then return "-1 0 0 0 " .. ARGV[1] end
local now = "0"
if ARGV[4] ~= "" then
  local clock = redis.call("time")
  now = string.format("%d", clock[1] * 1000 + math.floor(clock[2] / 1000))
end
