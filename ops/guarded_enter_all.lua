-- include admitted
local last, moment, place, patience = (#KEYS + 2) / 2, now, ARGV[5], ARGV[6]
-- include known
if ARGV[7] ~= "" and not known then return {2, 0, 0, now, ARGV[1]} end
-- include draw_all
if ARGV[7] == "" then draw = nil end
-- include line_up
