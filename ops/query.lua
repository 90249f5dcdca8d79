-- QUERY: looks at the key: its type, remaining TTL, size and first bytes of its value.
--
-- The node does not know the token: the client compares it with the value. Of a shared lock, the size is the number
-- of holders, and the value is their tokens.
--
-- effect: looks
-- lost: ask again
-- script: name |
-- native: WATCH
-- yes: {type:text, pttl:ms, size, value:text}
-- rights: type pttl strlen getrange hscan
-- plain rights: multi exec type pttl strlen getrange

local keys = require("keys")
local shared = require("shared")

local kind = redis.call("type", KEYS.name).ok
local left = redis.call("pttl", KEYS.name)
if kind == "string" then
  return {kind, left, redis.call("strlen", KEYS.name), redis.call("getrange", KEYS.name, 0, 1023)}
end
local count, text = shared.holders(KEYS.name, kind, left)
if kind ~= "hash" then return {kind, left, count, text} end
text = keys.first_field(KEYS.name)
return {kind, left, #text, string.sub(text, 1, 1024)}
