-- Fencing tokens. Each name has a counter with its last number. The record's field `gmax`, here `most`, is the highest
-- number of all names: a lost counter continues from it. No number is below `floor`, which the node's admission has set.
local numbers = {}

-- Draws the next number of one counter. Returns the number, an error if it could not be stored (else false), and the number
-- as text. INCRBY keeps the expiry of a day, so every 16th number renews it by SET.
function numbers.draw(fence, record, floor, most)
  local number = redis.pcall("incrby", fence, "1")
  local goes_on = type(number) == "number" and number > 1 and number > floor and number <= most + 1
  if not goes_on then number = most + 1 end
  local kept, wrote = string.format("%d", number), nil
  if number > most then wrote = redis.pcall("hset", record, "gmax", kept) end
  if type(wrote) ~= "table" and not (goes_on and number % 16 > 0) then wrote = redis.pcall("set", fence, kept, "px", "86400000") end
  return number, type(wrote) == "table" and wrote.err and wrote, kept
end

-- Draws one number for several counters, KEYS[first] up to the record, which is the last key: the number, or an error.
function numbers.draw_all(first, floor, most)
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

return numbers
