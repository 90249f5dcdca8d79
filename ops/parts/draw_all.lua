local function draw(first)
  local counts, last = redis.pcall("mget", unpack(KEYS, first, #KEYS - 1)), 0
  if counts.err then return counts end
  for i = 1, #KEYS - first do
    local count = tonumber(string.match(counts[i] or "", "^%d+$")) or 0
    last = math.max(last, count > floor and count <= most and count or most)
  end
  local kept, wrote = string.format("%d", last + 1), nil
  if last >= most then wrote = redis.pcall("hset", KEYS[#KEYS], "gmax", kept) end
  for i = first, #KEYS - 1 do
    if type(wrote) == "table" and wrote.err then return wrote end
    wrote = redis.pcall("set", KEYS[i], kept, "px", 86400000)
  end
  return wrote.err and wrote or last + 1
end
