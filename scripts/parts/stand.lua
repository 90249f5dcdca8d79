local stands = mine and 1 or 0
if mine and told then
  line = string.gsub(line, "^([^;]* )%d+;", "%1;")
elseif not mine and place ~= "" then
  local found = string.find(line, kind .. place .. " ", 1, true)
  stands = math.floor((found or #line) / 31) + 1
  if not found then line = line .. string.format("1%s%-27s ;", kind, place) end
end
if line == "" and was ~= "" then
  redis.call("del", KEYS[2])
elseif line ~= was then
  redis.call("set", KEYS[2], line, "px", 60000)
end
