local set = redis.call("hmget", KEYS[#KEYS], "pass", "floor", "gmax", "prev")
if ARGV[#ARGV] ~= set[1] and ARGV[#ARGV] ~= set[4] then return "-2 0 0 0 " .. ARGV[1] end
