local set = redis.call("hmget", KEYS[2], "pass", "prev")
if ARGV[3] ~= set[1] and ARGV[3] ~= set[2] then return {-1, 0, 0, 0, ARGV[1]} end
local clock = ARGV[4] ~= "" and redis.call("time")
local now = clock and clock[1] * 1000 + math.floor(clock[2] / 1000) or 0
if redis.call("get", KEYS[1]) ~= ARGV[1] then return {0, 0, 0, now, ARGV[1]} end
local left = redis.call("pttl", KEYS[1])
if left >= 0 and left < tonumber(ARGV[2]) then redis.call("pexpire", KEYS[1], ARGV[2]) end
return {1, 0, 0, now, ARGV[1]}
