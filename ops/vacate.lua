-- The queue script of RELEASE: as ops/release.lua, and says whether the name has a queue: 2, or -1 if the key is not ours.

local both = redis.call("mget", KEYS.name, KEYS.queue)
if both[1] ~= ARGV.token then return both[2] and -1 or 0 end
redis.call("del", KEYS.name)
return both[2] and 2 or 1
