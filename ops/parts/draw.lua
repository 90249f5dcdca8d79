  number = redis.pcall("incrby", fence, "1")
  local goes_on = type(number) == "number" and number > 1 and number > floor and number <= most + 1
  if not goes_on then number = most + 1 end
  local kept, wrote = string.format("%d", number), nil
  if number > most then wrote = redis.pcall("hset", record, "gmax", kept) end
  if type(wrote) ~= "table" and not (goes_on and number % 16 > 0) then wrote = redis.pcall("set", fence, kept, "px", "86400000") end
  if type(wrote) == "table" and wrote.err then
    redis.pcall("del", KEYS[1])
    return wrote
  end
