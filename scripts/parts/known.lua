local floor, most = tonumber(string.match(set[3] or "", "^%d+$")), tonumber(string.match(set[4] or "", "^%d+$"))
