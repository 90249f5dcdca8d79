-- include admitted
local names = (#KEYS - 1) / 2
-- include known
if not known then return {-2, 0, 0, now, ARGV[1]} end
-- include draw_all
-- include take
local number = draw(names + 1)
if type(number) == "number" then return {1, number, 0, now, ARGV[1]} end
for i = 1, names do redis.pcall("del", KEYS[i]) end
return number
