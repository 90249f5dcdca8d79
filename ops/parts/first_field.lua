local cursor, pair = "0", {}
repeat
  local step = redis.call("hscan", KEYS[1], cursor, "COUNT", 1)
  cursor, pair = step[1], step[2]
until pair[1] or cursor == "0"
text = pair[1] and pair[1] .. "=" .. pair[2] or ""
