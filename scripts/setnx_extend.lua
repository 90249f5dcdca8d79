-- include setnx
if not ours then return {0, ARGV[1]} end
if left >= tonumber(ARGV[2]) then return {1, ARGV[1]} end
local value = string.format("%d", math.max(time[1] + math.ceil(ARGV[2] / 1000) + 1, wrote))
redis.call("set", KEYS[2], value .. " 0 " .. ARGV[1], "px", ARGV[2])
local set = redis.pcall("set", KEYS[1], value, "px", ARGV[2])
if not set.err then return {1, ARGV[1]} end
redis.pcall("del", KEYS[2])
return set
