  local was = redis.pcall("get", fence)
  number = math.max(tonumber(type(was) == "string" and was or set[4]) or 0, tonumber(set[3])) + 1
  local kept = string.format("%d", number)
  local most = number > (tonumber(set[4]) or 0) and redis.pcall("hset", record, "gmax", kept)
  if type(most) == "table" or redis.pcall("set", fence, kept, "px", 86400000).err then
    redis.pcall("del", KEYS[1])
    number = -1
  end
