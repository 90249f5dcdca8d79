  number = redis.pcall("incrby", fence, "1")
  local goes_on = type(number) == "number" and number > 1 and number > floor and number <= most + 1
  if not goes_on then number = math.max(most, floor) + 1 end
  local kept, failed = string.format("%d", number), number >= 2 ^ 53
  if not failed and number > most then failed = type(redis.pcall("hset", record, "gmax", kept)) == "table" end
  if not failed and not (goes_on and number % 16 > 0) then failed = redis.pcall("set", fence, kept, "px", "86400000").err end
  if failed then
    redis.pcall("del", KEYS[1])
    number = -1
  end
