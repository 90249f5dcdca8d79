local base, has = 2, redis.call("mget", unpack(KEYS))
-- include slots
for i = first, first + slots - 1 do
  local slot = i % slots
  local at = slot == 0 and 1 or base + slot
  if not has[at] and redis.call("set", KEYS[at], ARGV[1], "nx", "px", ARGV[2]) then
    if has[base] ~= ARGV[3] then redis.pcall("set", KEYS[base], ARGV[3], "px", 86400000) end
    return {1, 0, slot, 0, ARGV[1]}
  end
end
return {0, 0, 0, 0, ARGV[1]}
