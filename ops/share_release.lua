-- SHARE_RELEASE: removes our token, or deletes the key that we upgraded. The last reader wakes the next waiter.
--
-- effect: releases, by script alone
-- lost: ask again; harmful when late with a caller's own value
-- queue script share_release: name queue offers | token place patience quiet
-- script: name | token
-- yes: {1..2, token:text}
-- no: {-1..0, token:text}
-- rights: get set del type zrem zrevrange zremrangebyscore pexpireat mget pttl pexpire time publish hget hset hdel hlen
local gone = redis.pcall("zrem", KEYS[1], ARGV[1])
if type(gone) == "table" and not string.find(gone.err, "WRONGTYPE", 1, true) then
  local score = redis.pcall("zscore", KEYS[1], ARGV[1])
  if type(score) == "string" then return gone end
  gone = score or 0
end
if type(gone) == "table" then
  if not string.find(gone.err, "WRONGTYPE", 1, true) then return gone end
  gone = redis.call("mget", KEYS[1])[1] == ARGV[1] and redis.call("del", KEYS[1]) or 0
end
local others = gone == 1 and redis.pcall("pttl", KEYS[1]) ~= -2
local latest = others and redis.pcall("zrevrange", KEYS[1], 0, 0, "withscores")
if latest and latest[2] then
  local clock = redis.pcall("time")
  redis.pcall("zremrangebyscore", KEYS[1], "-inf", string.format("(%d", clock[1] * 1000 + math.floor(clock[2] / 1000)))
  redis.pcall("pexpireat", KEYS[1], latest[2])
end
local was = KEYS[2] and redis.pcall("get", KEYS[2])
if type(was) ~= "string" then return gone .. " " .. ARGV[1] end
if type(redis.pcall("pexpire", KEYS[2], 60000)) ~= "number" then return (gone == 1 and 2 or -1) .. " " .. ARGV[1] end
local line, at, mark, patience = was, 1, nil, ARGV[3]
local found = string.find(line, "[wr]" .. ARGV[2] .. " ")
if found then
  redis.pcall("hdel", KEYS[3], ARGV[2])
  line = string.sub(line, 1, found - 2) .. string.sub(line, (string.find(line, ";", found, true) or #line) + 1)
end
local free = redis.pcall("pttl", KEYS[1]) == -2
local open = free or redis.pcall("type", KEYS[1]).ok == "zset"
if line ~= "" and ARGV[4] ~= "1" and open then
-- include wake
end
if line == "" then
  redis.pcall("del", KEYS[2])
elseif line ~= was then
  redis.pcall("set", KEYS[2], line, "px", 60000)
end
return (line == "" and gone or gone == 1 and 2 or -1) .. " " .. ARGV[1]
