local line, at, mine, told, unsure, now, mark = was, 1, false, nil, nil, nil, nil
while at <= #line do
  local kind, client, slot, till, behind = string.match(line, "^(..)(%x+)%.(%d+) ([^;]*);()", at)
  if kind == "1w" or kind == "1r" then
    local turn = free or open and kind == "1r"
    told, unsure, mine = tonumber(till), string.find(till, "^ *0"), client .. "." .. slot == place
    if mine or not (told or open) then break end
    if not now then
      local time = redis.call("time")
      now = time[1] * 1000 + math.floor(time[2] / 1000)
    end
-- include tell
  elseif client then
    redis.pcall("publish", "redlock:wake:" .. client, slot)
  end
  if client then redis.pcall("hdel", KEYS[3], client .. "." .. slot) end
  at = behind or (string.find(line, ";", at, true) or #line) + 1
end
if at > 1 then line = string.sub(line, at) end
if mark then line = string.gsub(line, "^([^;]* )[^ ;]*;", "%1" .. mark .. ";") end
