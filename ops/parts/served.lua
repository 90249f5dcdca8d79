  if mine then
    line = string.sub(line, string.find(line, ";", 1, true) + 1)
    redis.pcall("hdel", KEYS[3], place)
  end
  if line == "" and was ~= "" then
    redis.pcall("del", KEYS[2])
  elseif line ~= was then
    redis.pcall("set", KEYS[2], line, "px", 60000)
  end
