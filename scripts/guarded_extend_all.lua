-- include admitted
-- include lengthen
return {1, 0, 0, now, ARGV[1]}
