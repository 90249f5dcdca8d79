local kind = redis.call("type", KEYS[1]).ok
local left = redis.call("pttl", KEYS[1])
if kind == "string" then
  return {kind, left, redis.call("strlen", KEYS[1]), redis.call("getrange", KEYS[1], 0, 1023)}
end
local count, text = 0, ""
-- include holders
if kind ~= "hash" then return {kind, left, count, text} end
-- include first_field
return {kind, left, #text, string.sub(text, 1, 1024)}
