  number, most = redis.pcall("incrby", fence, "1"), tonumber(most) or 0
  local goes_on = type(number) == "number" and number > 1 and number > floor
  if not goes_on then number = math.max(most, floor) + 1 end
  local kept = string.format("%d", number)
  local told = number > most and redis.pcall("hset", record, "gmax", kept)
  local lives = goes_on and number % 16 > 0 or redis.pcall("set", fence, kept, "px", "86400000")
  if type(told) == "table" or type(lives) == "table" and lives.err then
    redis.pcall("del", KEYS[1])
    number = -1
  end
