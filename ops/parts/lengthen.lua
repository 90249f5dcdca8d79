for i = 1, names do
  if redis.call("get", KEYS[i]) ~= ARGV[1] then return {0, i, 0, now, ARGV[1]} end
end
for i = 1, names do
  local left = redis.pcall("pttl", KEYS[i])
  local done = type(left) == "number" and left >= 0 and left < tonumber(ARGV[2]) and redis.pcall("pexpire", KEYS[i], ARGV[2])
  if type(done) == "table" then return done end
end
