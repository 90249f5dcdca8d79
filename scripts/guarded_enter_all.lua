-- include admitted
local last, moment, place, patience = names, now, ARGV[5], ARGV[6]
-- include line_up
