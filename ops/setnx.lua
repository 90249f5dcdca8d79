-- SETNX: makes the key with a time as its value, if there is no key, or one whose time is over.
--
-- A lock of the old SETNX protocol has a time as its value, which other programs compare and write. A key beside it,
-- which lives as long, says whose it is: the time that was written, when it was claimed (server's ms; 0: it was extended
-- since), and the token (docs/decisions/setnx.md).
--
-- effect: claims
-- lost: leaves a key; undo by setnx_release; harmful when late
-- eval: name setnx | token ttl
-- yes: {1, token:text}
-- no: {0, token:text}
-- rights: get time pttl set del

local is, time = redis.call("get", KEYS.name), redis.call("time")
local ends = tonumber(string.match(is or "", "^%d+%.?%d*$"))
local over = ends and ends < tonumber(time[1]) and redis.call("pttl", KEYS.name) == -1
if is and not over then return {0, ARGV.token} end
local value = string.format("%d", time[1] + math.ceil(ARGV.ttl / 1000) + 1)
local now = string.format("%d", time[1] * 1000 + math.floor(time[2] / 1000))
redis.call("set", KEYS.setnx, value .. " " .. now .. " " .. ARGV.token, "px", ARGV.ttl)
local set = redis.pcall("set", KEYS.name, value, "px", ARGV.ttl)
if not set.err then return {1, ARGV.token} end
redis.pcall("del", KEYS.setnx)
return set
