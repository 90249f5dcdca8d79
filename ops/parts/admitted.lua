local set = redis.call("hmget", KEYS[#KEYS], "pass", "floor", "gmax", "prev")
if ARGV[3] ~= set[1] and ARGV[3] ~= set[4] then return {-1, 0, 0, 0, ARGV[1]} end
local clock = ARGV[4] ~= "" and redis.call("time")
local now = clock and clock[1] * 1000 + math.floor(clock[2] / 1000) or 0
