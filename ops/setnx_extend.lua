-- SETNX_EXTEND: writes a later time, if the key is ours.
--
-- effect: extends
-- lost: ask again
-- eval: name setnx | token ttl
-- yes: {1, token:text}
-- no: {0, token:text}
-- rights: get time pttl set del
-- include setnx

local setnx = require("setnx")

local is = redis.call("get", KEYS.name)
local ours, _, left, time, wrote = setnx.read(is, KEYS.name, KEYS.setnx, ARGV.token)
if not ours then return {0, ARGV.token} end
if left >= tonumber(ARGV.ttl) then return {1, ARGV.token} end
local ttl = left < 0 and math.max(ARGV.ttl, redis.call("pttl", KEYS.setnx)) or ARGV.ttl
local value = string.format("%d", math.max(time[1] + math.ceil(ttl / 1000) + 1, wrote))
redis.call("set", KEYS.setnx, value .. " 0 " .. ARGV.token, "px", ttl)
local set = redis.pcall("set", KEYS.name, value, "px", ttl)
if not set.err then return {1, ARGV.token} end
redis.pcall("del", KEYS.setnx)
return set
