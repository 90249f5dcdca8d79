local both = redis.call("mget", KEYS[1], KEYS[2] or KEYS[1])
local was, place, kind = KEYS[2] and both[2] or "", ARGV[3] or "", "r"
local left, clock = redis.call("pttl", KEYS[1]), redis.call("time")
local moment = clock[1] * 1000 + math.floor(clock[2] / 1000)
local free, top, polls = left == -2, nil, nil
if not both[1] and left >= 0 and redis.call("type", KEYS[1]).ok == "zset" then
  top = tonumber(redis.call("zrevrange", KEYS[1], 0, 0, "withscores")[2])
  if math.abs(moment + left - top) > 1000 then top = nil end
end
local open, patience = free or top ~= nil, was ~= "" and string.match(ARGV[4] or "", "^%d+")
if was ~= "" then redis.call("pexpire", KEYS[2], 60000) end
-- include tidy
local found = place ~= "" and string.find(line, "r" .. place .. " ", 1, true)
local writer, has = line ~= "" and string.find(line, "w", 1, true), top and redis.call("zscore", KEYS[1], ARGV[1])
local ours = has and tonumber(has) >= moment
if open and not ours and (not writer or found and found < writer) then
  local ends = string.format("%d", moment + ARGV[2])
  redis.call("zadd", KEYS[1], ends, ARGV[1])
  local set = top and top >= tonumber(ends) or redis.pcall("pexpireat", KEYS[1], ends)
  if type(set) == "table" then
    redis.pcall("zrem", KEYS[1], ARGV[1])
    return set
  end
  if top then redis.pcall("zremrangebyscore", KEYS[1], "-inf", string.format("(%d", moment)) end
  if found then
    line = string.sub(line, 1, found - 2) .. string.sub(line, string.find(line, ";", found, true) + 1)
    if found == 2 and string.find(line, "^1r%x+%.%d+ *;") then
      local client, slot, behind
      now, mark, kind, behind = moment, unsure or not told, "1r", 1
-- include readers
      line = string.gsub(line, ";", (type(mark) == "string" and mark or string.format("%d", moment + patience)) .. ";", 1)
    end
  end
  if line == "" and was ~= "" then
    redis.pcall("del", KEYS[2])
  elseif line ~= was then
    redis.pcall("set", KEYS[2], line, "px", 60000)
  end
  return "1 " .. (KEYS[2] and math.floor(#line / 31) or -1) .. " 0 " .. (guarded and ends - ARGV[2] or 0) .. " " .. ARGV[1]
end
-- include stand
return {open and not ours and -1 or 0, KEYS[2] and math.floor(#line / 31) or -1, left, stands, ARGV[1],
  string.sub(both[1] or "", 1, 1024)}
