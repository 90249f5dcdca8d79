local found = mine and 2 or place ~= "" and string.find(line, kind .. place .. " ", 1, true)
local stands = place ~= "" and math.floor((found or #line) / 31) + 1 or 0
if place ~= "" then
  local mark, ends = "", found and string.find(line, ";", found, true)
  if polls then
    local time = redis.call("time")
    mark = string.format("%d", time[1] * 1000 + math.floor(time[2] / 1000) + polls)
  end
  local entry = string.format("1%s%-27s %s;", kind, place, mark)
  line = ends and string.sub(line, 1, found - 2) .. entry .. string.sub(line, ends + 1) or line .. entry
end
if line == "" and was ~= "" then
  redis.call("del", KEYS[2])
elseif line ~= was then
  redis.call("set", KEYS[2], line, "px", 60000)
end
