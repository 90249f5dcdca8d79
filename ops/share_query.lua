-- SHARE_QUERY: as QUERY, and whether our token is among the holders (1 or 0).
--
-- effect: looks, by script alone
-- lost: ask again
-- script: name | token
-- yes: {type:text, pttl:ms, size, value:text, ours}
-- rights: type get pttl time zcount zrevrangebyscore zscore

local clock = require("clock")
local shared = require("shared")

local kind = redis.call("type", KEYS.name).ok
local left = redis.call("pttl", KEYS.name)
if kind == "string" then
  local is = redis.call("get", KEYS.name)
  return {kind, left, #is, string.sub(is, 1, 1024), is == ARGV.token and 1 or 0}
end
local count, text = shared.holders(KEYS.name, kind, left)
local score = kind == "zset" and tonumber(redis.call("zscore", KEYS.name, ARGV.token) or "")
local now = clock.now()
local ours = score and score >= now
return {kind, left, count, text, ours and 1 or 0}
