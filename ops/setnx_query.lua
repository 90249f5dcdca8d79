-- SETNX_QUERY: as QUERY, and whether the key is ours (1 or 0), which the node alone can tell.
--
-- effect: looks
-- lost: ask again
-- eval: name setnx | token
-- yes: {type:text, pttl:ms, size, value:text, ours}
-- rights: type get time pttl zcount zrevrangebyscore

local setnx = require("setnx")
local shared = require("shared")

local kind = redis.call("type", KEYS.name).ok
local left = redis.call("pttl", KEYS.name)
if kind ~= "string" then
  local count, text = shared.holders(KEYS.name, kind, left)
  return {kind, left, count, text, 0}
end
local is = redis.call("get", KEYS.name)
local ours, _, life = setnx.read(is, KEYS.name, KEYS.setnx, ARGV.token)
return {kind, life, #is, string.sub(is, 1, 1024), ours and 1 or 0}
