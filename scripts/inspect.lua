local kind = redis.call("type", KEYS[1]).ok
local left = redis.call("pttl", KEYS[1])
if kind == "string" then
  return {kind, left, redis.call("strlen", KEYS[1]), redis.call("getrange", KEYS[1], 0, 1023)}
end
if kind == "hash" then
  local pair = redis.call("hscan", KEYS[1], 0, "COUNT", 1)[2]
  local text = pair[1] .. "=" .. pair[2]
  return {kind, left, #text, string.sub(text, 1, 1024)}
end
return {kind, left, 0, ""}
