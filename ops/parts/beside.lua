local from = whole and 1 or string.find(all, "1w%x+%.0%d+ ") or #all + 1
local beside, was = string.sub(all, 1, from - 1), string.sub(all, from)
