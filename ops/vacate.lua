local both = redis.call("mget", KEYS[1], KEYS[2])
if both[1] ~= ARGV[1] then return both[2] and -1 or 0 end
redis.call("del", KEYS[1])
return both[2] and 2 or 1
