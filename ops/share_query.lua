-- SHARE_QUERY: looks at the key as QUERY does, and says whether the token of the request is a live holder (1 or 0).
--
-- effect: looks, by script alone
-- lost: ask again
-- script: name | token
-- yes: {type:text, pttl:ms, size, value:text, ours}
-- rights: type get pttl time zcount zrevrangebyscore zscore hscan

local clock = require("clock")
local keys = require("keys")
local shared = require("shared")

local kind = redis.call("type", KEYS.name).ok
local ttl_ms = redis.call("pttl", KEYS.name)
if kind == "string" then
  local value = redis.call("get", KEYS.name)
  return {kind, ttl_ms, #value, string.sub(value, 1, 1024), value == ARGV.token and 1 or 0}
end
if kind == "hash" then
  local field = keys.first_field(KEYS.name)
  return {kind, ttl_ms, #field, string.sub(field, 1, 1024), 0}
end
local count, text = shared.holders(KEYS.name, kind, ttl_ms)
local ends = kind == "zset" and tonumber(redis.call("zscore", KEYS.name, ARGV.token) or "")
local now = clock.now()
local ours = ends and ends >= now
return {kind, ttl_ms, count, text, ours and 1 or 0}
