local both = redis.call("mget", KEYS[1], KEYS[2])
if both[1] == ARGV[1] then
  local life = redis.call("pttl", KEYS[1])
  if life >= 0 and life < tonumber(ARGV[2]) then redis.call("pexpire", KEYS[1], ARGV[2]) end
  return {1, math.floor(#(both[2] or "") / 31), 0, 0, ARGV[1], ""}
end
if both[2] then redis.call("pexpire", KEYS[2], 60000) end
local left = redis.call("pttl", KEYS[1])
local free, was, place = left == -2, both[2] or "", ARGV[3]
local patience, offered = string.match(ARGV[4], "^(%d+) (%d+)$")
local line, at, mine, told, now, mark = was, 1, false, nil, nil, nil
while at <= #line do
  local kind, client, slot, till, behind = string.match(line, "^(..)(%x+)%.(%d+) ([^;]*);()", at)
  if kind == "1w" then
    told, mine = tonumber(till), client .. "." .. slot == place
    if mine or not (told or free) then break end
    if not now then
      local time = redis.call("time")
      now = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    if told then
      if told > now and told <= now + 60000 then break end
    elseif redis.pcall("publish", "redlock:wake:" .. client, slot) ~= 0 then
      mark = now + patience
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
if free and (mine or line == "") and redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then
  if mine then
    line = string.sub(line, string.find(line, ";", 1, true) + 1)
    redis.pcall("hdel", KEYS[3], place)
  end
  if line == "" and was ~= "" then
    redis.pcall("del", KEYS[2])
  elseif line ~= was then
    redis.pcall("set", KEYS[2], line, "px", 60000)
  end
  local next, offer = string.match(line, "^1w(%x+%.%d+)"), ""
  local told = next and redis.pcall("hget", KEYS[3], next)
  local since, terms, ttl = string.match(type(told) == "string" and told or "", "^(%d+) (%d+ (%d+) .+)$")
  if since then
    local time = redis.call("time")
    local age = time[1] * 1000 + math.floor(time[2] / 1000) - since
    local least = math.max(age * 8, math.min(ARGV[2], 8000))
    if age >= 0 and age <= 2000 and least <= tonumber(ttl) then offer = next .. " " .. terms end
  end
  return {1, math.floor(#line / 31), 0, 0, ARGV[1], offer}
end
local stands = mine and 1 or 0
if mine and told then
  line = string.gsub(line, "^([^;]* )%d+;", "%1;")
elseif not mine and place ~= "" then
  local found = string.find(line, "w" .. place .. " ", 1, true)
  stands = math.floor((found or #line) / 31) + 1
  if not found then line = line .. string.format("1w%-27s ;", place) end
end
if line == "" and was ~= "" then
  redis.call("del", KEYS[2])
elseif line ~= was then
  redis.call("set", KEYS[2], line, "px", 60000)
end
if place ~= "" and offered ~= "0" then
  local time = redis.call("time")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.pcall("hset", KEYS[3], place, table.concat({string.format("%d", now), offered, ARGV[2], ARGV[1]}, " "))
  if redis.pcall("pexpire", KEYS[3], 60000) ~= 1 then redis.pcall("del", KEYS[3]) end
end
return {0, math.floor(#line / 31), left, stands, ARGV[1], string.sub(both[1] or "", 1, 1024)}
