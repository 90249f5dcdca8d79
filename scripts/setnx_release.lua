-- include setnx
if ours then redis.call("del", KEYS[1]) end
if token == ARGV[1] then redis.pcall("del", KEYS[2]) end
return {ours and 1 or 0, ARGV[1]}
