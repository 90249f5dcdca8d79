if kind == "zset" and left >= 0 then
  local clock = redis.pcall("time")
  local moment = clock[1] and string.format("%d", clock[1] * 1000 + math.floor(clock[2] / 1000))
  local live = moment and redis.pcall("zcount", KEYS[1], moment, "+inf")
  local some = moment and redis.pcall("zrevrangebyscore", KEYS[1], "+inf", moment, "limit", 0, 24)
  local last = moment and redis.pcall("zrevrangebyscore", KEYS[1], "+inf", moment, "withscores", "limit", 0, 1)[2]
  if type(live) == "number" and last and math.abs(moment + left - last) <= 1000 then count, text = live, string.sub(table.concat(some, " "), 1, 1024) end
end
