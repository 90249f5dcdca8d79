local last, moment, place, patience, draw = #KEYS, 0, ARGV[3], ARGV[4], nil
-- include line_up
