local both, way, own = redis.call("mget", KEYS[1], KEYS[2]), 0, 0
for i = 4, last do
  if KEYS[i] == KEYS[1] then own = i - 3 end
  if way == 0 and redis.call("pttl", KEYS[i]) ~= -2 then way = i - 3 end
end
if both[2] then redis.call("pexpire", KEYS[2], 60000) end
local left = redis.call("pttl", KEYS[1])
local free, was, kind, rest, polls = left == -2, both[2] or "", "w", nil, nil
local open = free or not both[1] and redis.pcall("type", KEYS[1]).ok == "zset"
-- include tidy
local turn = free and (mine or line == "")
if turn and way == 0 then
  for i = 4, last do
    local set = redis.pcall("set", KEYS[i], ARGV[1], "px", ARGV[2])
    if set.err then
      for j = 4, i - 1 do redis.pcall("del", KEYS[j]) end
      return set
    end
  end
  local number = not draw and 0 or draw(last + 1)
  if type(number) == "table" then
    for i = 4, last do redis.pcall("del", KEYS[i]) end
    return number
  end
-- include served
  return {1, math.floor(#line / 31), number, moment, ARGV[1], ""}
end
if turn and mine then
  local was, place = string.sub(line, string.find(line, ";", 1, true) + 1), ""
-- include tidy
  rest = line
end
if turn then mine, place, line = false, "", rest or line end
-- include stand
return {-1 - (turn and way or own), math.floor(#line / 31), left, stands, ARGV[1], string.sub(both[1] or "", 1, 1024)}
