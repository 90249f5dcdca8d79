if is then
  local left = redis.call("pttl", KEYS[1])
  if left >= 0 and left < tonumber(ARGV[2]) then redis.call("pexpire", KEYS[1], ARGV[2]) end
else
  local ttl = math.max(tonumber(ARGV[2]), tonumber(score) - moment)
  redis.call("set", KEYS[1], ARGV[1], "px", string.format("%d", ttl))
end
