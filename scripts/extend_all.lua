local names, now = #KEYS, 0
-- include lengthen
return {1, 0, 0, now, ARGV[1]}
