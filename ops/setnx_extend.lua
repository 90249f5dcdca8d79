-- SETNX_EXTEND: writes a later time, if the key is ours.
--
-- effect: extends
-- lost: ask again
-- eval: name setnx | token ttl
-- yes: {1, token:text}
-- no: {0, token:text}
-- rights: get time pttl set del
-- include setnx
if not ours then return {0, ARGV[1]} end
if left >= tonumber(ARGV[2]) then return {1, ARGV[1]} end
local ttl = left < 0 and math.max(ARGV[2], redis.call("pttl", KEYS[2])) or ARGV[2]
local value = string.format("%d", math.max(time[1] + math.ceil(ttl / 1000) + 1, wrote))
redis.call("set", KEYS[2], value .. " 0 " .. ARGV[1], "px", ttl)
local set = redis.pcall("set", KEYS[1], value, "px", ttl)
if not set.err then return {1, ARGV[1]} end
redis.pcall("del", KEYS[2])
return set
