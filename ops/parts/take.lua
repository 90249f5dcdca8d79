for i = 1, names do
  local left = redis.call("pttl", KEYS[i])
  if left ~= -2 then return {0, i, left, now, ARGV[1]} end
end
for i = 1, names do
  local set = redis.pcall("set", KEYS[i], ARGV[1], "px", ARGV[2])
  if set.err then
    for j = 1, i - 1 do redis.pcall("del", KEYS[j]) end
    return set
  end
end
