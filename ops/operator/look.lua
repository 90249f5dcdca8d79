-- Reads the key of a lock and its side keys on one node, for `redlock ls`. Writes nothing.
-- KEYS: the lock's key, then those of its side keys that were seen.
-- Answer: type, remaining TTL, size, first bytes and the node's time, as QUERY says it; then remaining TTL (-2: no key),
-- length and first bytes of each side key.
local kind, left = redis.call("type", KEYS[1]).ok, redis.call("pttl", KEYS[1])
local count, text, clock = 0, "", redis.call("time")
if kind == "string" then
  count, text = redis.call("strlen", KEYS[1]), redis.call("getrange", KEYS[1], 0, 1023)
end
-- include holders
if kind == "hash" then
-- include first_field
  count, text = #text, string.sub(text, 1, 1024)
end
local answer = {kind, left, count, text, clock[1] * 1000 + math.floor(clock[2] / 1000)}
for i = 2, #KEYS do
  local life = redis.pcall("pttl", KEYS[i])
  local size = redis.pcall("strlen", KEYS[i])
  local value = redis.pcall("getrange", KEYS[i], 0, 255)
  answer[#answer + 1] = type(life) == "number" and life or -2
  answer[#answer + 1] = type(size) == "number" and size or 0
  answer[#answer + 1] = type(value) == "string" and value or ""
end
return answer
