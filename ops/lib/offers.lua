-- The offers beside a queue are a hash: by place, what a waiter lets a holder hand over to it: since when, the number of
-- the offer, the TTL, the token. By token, an empty value: this token may not be handed over any more.
local clock = require("clock")

local offers = {}

-- The offer of the first waiter in line, if it is recent enough for a lock with this TTL; else "".
function offers.first(line, key, ttl)
  local offer, next = "", string.match(line, "^1w(%x+%.%d+)")
  local told = next and redis.pcall("hget", key, next)
  local since, terms, life = string.match(type(told) == "string" and told or "", "^(%d+) (%d+ (%d+) .+)$")
  if since then
    local now = clock.now()
    local age = now - since
    local least = math.max(age * 8, math.min(ttl, 8000))
    if age >= 0 and age <= 2000 and least <= tonumber(life) then offer = next .. " " .. terms end
  end
  return offer
end

-- Makes an offer.
function offers.make(key, place, number, ttl, token)
  local now = clock.now()
  redis.pcall("hset", key, place, table.concat({string.format("%d", now), number, ttl, token}, " "))
  if redis.pcall("pexpire", key, 60000) ~= 1 then redis.pcall("del", key) end
end

-- Notes that a token may not be handed over.
function offers.bar(key, token)
  local size = redis.pcall("hlen", key)
  if type(size) == "number" and size > 999 then redis.pcall("del", key) end
  redis.pcall("hset", key, token, "")
  if redis.pcall("pexpire", key, 60000) ~= 1 then redis.pcall("del", key) end
end

return offers
