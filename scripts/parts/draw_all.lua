local function draw(first)
  local counts, last = redis.pcall("mget", unpack(KEYS, first, #KEYS - 1)), 0
  for i = 1, #KEYS - first do
    local count = tonumber(string.match(counts[i] or "", "^%d+$")) or 0
    last = math.max(last, count > floor and count <= most and count or math.max(most, floor))
  end
  if counts.err or last >= 2 ^ 53 - 1 then return end
  local kept = string.format("%d", last + 1)
  if last >= most and type(redis.pcall("hset", KEYS[#KEYS], "gmax", kept)) == "table" then return end
  for i = first, #KEYS - 1 do
    if redis.pcall("set", KEYS[i], kept, "px", 86400000).err then return end
  end
  return last + 1
end
