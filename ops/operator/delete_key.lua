-- Deletes a key that no token ends, for `redlock break`, if it is the one that was shown. Its mark is type, size and a
-- digest, which a large key does not have: to read it would keep the server from its work.
-- KEYS: the key.
-- ARGV: the mark that was read before; empty: nothing is deleted. Then 1 if a key counts only without an expiry.
-- Answer: the mark, and 1 if the key was deleted.

local sizes = {string = "strlen", list = "llen", set = "scard", zset = "zcard", hash = "hlen", stream = "xlen"}
local kind = redis.call("type", KEYS[1]).ok
if kind == "none" or ARGV[2] == "1" and redis.call("pttl", KEYS[1]) ~= -1 then return {"none", 0} end
local size = sizes[kind] and redis.call(sizes[kind], KEYS[1]) or 0
local digest = size <= 10000 and redis.sha1hex(redis.call("dump", KEYS[1])) or "-"
local mark = kind .. " " .. size .. " " .. digest
if mark == ARGV[1] then redis.call("del", KEYS[1]) end
return {mark, mark == ARGV[1] and 1 or 0}
