-- Several keys, all of them or none: KEYS[first] to KEYS[last].
local keys = {}

-- The first key that exists, and its TTL; 0: none does.
function keys.find_held(first, last)
  local held, left = 0, -2
  for i = first, last do
    left = redis.call("pttl", KEYS[i])
    if left ~= -2 then
      held = i - first + 1
      break
    end
  end
  return held, left
end

-- The first key that does not have the token; 0: each has it.
function keys.find_lost(first, last, token)
  local lost = 0
  for i = first, last do
    if redis.call("get", KEYS[i]) ~= token then
      lost = i - first + 1
      break
    end
  end
  return lost
end

-- Makes all of them, or none: then returns the error.
function keys.make(first, last, token, ttl)
  local failed
  for i = first, last do
    local set = redis.pcall("set", KEYS[i], token, "px", ttl)
    if set.err then
      for j = first, i - 1 do redis.pcall("del", KEYS[j]) end
      failed = set
      break
    end
  end
  return failed
end

-- Lengthens the life of a key, never shortens it.
function keys.lengthen(key, ttl)
  local left = redis.call("pttl", key)
  if left >= 0 and left < tonumber(ttl) then redis.call("pexpire", key, ttl) end
end

-- As lengthen(), for several keys: returns an error, if there was one.
function keys.lengthen_all(first, last, ttl)
  local failed
  for i = first, last do
    local left = redis.pcall("pttl", KEYS[i])
    local done = type(left) == "number" and left >= 0 and left < tonumber(ttl) and redis.pcall("pexpire", KEYS[i], ttl)
    if type(done) == "table" then
      failed = done
      break
    end
  end
  return failed
end

-- One field of a hash and its value, as `field=value`; "": it has none.
function keys.first_field(key)
  local cursor, pair = "0"
  repeat
    local step = redis.call("hscan", key, cursor, "COUNT", 1)
    cursor, pair = step[1], step[2]
  until pair[1] or cursor == "0"
  return pair[1] and pair[1] .. "=" .. pair[2] or ""
end

return keys
