local last, moment, place, patience = #KEYS, 0, ARGV[3], ARGV[4]
-- include line_up
