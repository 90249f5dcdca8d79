local both = redis.call("mget", KEYS[1], KEYS[2])
local ours, was = both[1] == ARGV[1], both[2] or ""
if ours then redis.call("del", KEYS[1]) end
if not ours and ARGV[4] ~= "" then
  local size = redis.pcall("hlen", KEYS[3])
  if type(size) == "number" and size > 999 then redis.pcall("del", KEYS[3]) end
  redis.pcall("hset", KEYS[3], ARGV[1], "")
  if redis.pcall("pexpire", KEYS[3], 60000) ~= 1 then redis.pcall("del", KEYS[3]) end
end
if was == "" or type(redis.pcall("pexpire", KEYS[2], 60000)) ~= "number" then
  return not ours and 0 or was == "" and 1 or 2
end
local line, at, mark = was, 1, nil
local found = string.find(line, "w" .. ARGV[2] .. " ", 1, true)
if found then
  redis.pcall("hdel", KEYS[3], ARGV[2])
  line = string.sub(line, 1, found - 2) .. string.sub(line, (string.find(line, ";", found, true) or #line) + 1)
end
if line ~= "" and ARGV[4] ~= "2" and (ours or not both[1] and redis.pcall("pttl", KEYS[1]) == -2) then
  local time = redis.pcall("time")
  local now = time[1] and time[1] * 1000 + math.floor(time[2] / 1000)
  while at <= #line do
    local kind, client, slot, till, behind = string.match(line, "^(..)(%x+)%.(%d+) ([^;]*);()", at)
    if kind == "1w" then
      till = tonumber(till)
      if till and not (now and (till <= now or till > now + 60000)) then break end
      if not till and redis.pcall("publish", "redlock:wake:" .. client, slot) ~= 0 then
        mark = now and now + ARGV[3]
        break
      end
    elseif client then
      redis.pcall("publish", "redlock:wake:" .. client, slot)
    end
    if client then redis.pcall("hdel", KEYS[3], client .. "." .. slot) end
    at = behind or (string.find(line, ";", at, true) or #line) + 1
  end
  if at > 1 then line = string.sub(line, at) end
  if mark then line = string.gsub(line, ";", mark .. ";", 1) end
end
if line == "" then
  redis.pcall("del", KEYS[2])
elseif line ~= was then
  redis.pcall("set", KEYS[2], line, "px", 60000)
end
return not ours and 0 or line == "" and 1 or 2
