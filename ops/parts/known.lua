local floor, most = tonumber(string.match(set[2] or "", "^%d+$")), tonumber(string.match(set[3] or "", "^%d+$"))
local known = floor and most and floor <= most and most < 2 ^ 53 - 1
