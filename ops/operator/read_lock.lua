-- Reads the key of a lock and its side keys on one node, for `redlock ls`. Writes nothing.
-- KEYS: the lock's key, then those of its side keys that were seen.
-- Answer: type, remaining TTL, size, first bytes and the node's time, as QUERY says it; then remaining TTL (-2: no key),
-- length and first bytes of each side key.

local clock = require("clock")
local keys = require("keys")
local shared = require("shared")

local kind, left = redis.call("type", KEYS[1]).ok, redis.call("pttl", KEYS[1])
local now = clock.now()
local count, text = shared.holders(KEYS[1], kind, left)
if kind == "string" then
  count, text = redis.call("strlen", KEYS[1]), redis.call("getrange", KEYS[1], 0, 1023)
end
if kind == "hash" then
  text = keys.first_field(KEYS[1])
  count, text = #text, string.sub(text, 1, 1024)
end
local answer = {kind, left, count, text, now}
for i = 2, #KEYS do
  local life = redis.pcall("pttl", KEYS[i])
  local size = redis.pcall("strlen", KEYS[i])
  local value = redis.pcall("getrange", KEYS[i], 0, 255)
  answer[#answer + 1] = type(life) == "number" and life or -2
  answer[#answer + 1] = type(size) == "number" and size or 0
  answer[#answer + 1] = type(value) == "string" and value or ""
end
return answer
