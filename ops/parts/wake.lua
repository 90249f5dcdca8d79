  local time = redis.pcall("time")
  local now = time[1] and time[1] * 1000 + math.floor(time[2] / 1000)
  while at <= #line do
    local kind, client, slot, till, behind = string.match(line, "^(..)(%x+)%.(%d+) ([^;]*);()", at)
    if kind == "1w" or kind == "1r" then
      local turn, told, unsure = free or kind == "1r", tonumber(till), string.find(till, "^ *0")
-- include tell
    elseif client then
      redis.pcall("publish", "redlock:wake:" .. client, slot)
    end
    if client and KEYS[3] then redis.pcall("hdel", KEYS[3], client .. "." .. slot) end
    at = behind or (string.find(line, ";", at, true) or #line) + 1
  end
  if at > 1 then line = string.sub(line, at) end
  if mark then line = string.gsub(line, "^([^;]* )[^ ;]*;", "%1" .. mark .. ";") end
