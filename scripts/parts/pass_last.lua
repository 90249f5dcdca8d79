local set = redis.call("hmget", KEYS[#KEYS], "pass", "prev", "floor", "gmax")
if ARGV[#ARGV] ~= set[1] and ARGV[#ARGV] ~= set[2] then return "-2 0 0 0 " .. ARGV[1] end
