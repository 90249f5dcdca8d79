-- include admitted
-- include take
return {1, 0, 0, now, ARGV[1]}
