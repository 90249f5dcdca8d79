-- include admitted
local names = #KEYS - 1
-- include lengthen
return {1, 0, 0, now, ARGV[1]}
