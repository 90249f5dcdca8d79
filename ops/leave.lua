-- LEAVE: a release that also gives up the waiter's place, and wakes the first waiter if the key is free.
--
-- effect: releases
-- lost: ask again; harmful when late with a caller's own value
-- queue script: name queue offers | token place patience bars
-- native: DELEX name IFEQ token
-- native: DELIFEQ name token
-- script release: name | token
-- native: WATCH
-- yes: 1..2
-- no: -1..0
-- rights: set get del mget pttl pexpire time publish hget hset hdel hlen
-- watch rights: watch multi exec getrange del
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
local line, at, mark, patience = was, 1, nil, ARGV[3]
local found = string.find(line, "[wr]" .. ARGV[2] .. " ")
if found then
  redis.pcall("hdel", KEYS[3], ARGV[2])
  line = string.sub(line, 1, found - 2) .. string.sub(line, (string.find(line, ";", found, true) or #line) + 1)
end
local free = ours or not both[1] and redis.pcall("pttl", KEYS[1]) == -2
local open = free or not both[1] and redis.pcall("type", KEYS[1]).ok == "zset"
if line ~= "" and ARGV[4] ~= "2" and open then
-- include wake
end
if line == "" then
  redis.pcall("del", KEYS[2])
elseif line ~= was then
  redis.pcall("set", KEYS[2], line, "px", 60000)
end
return not ours and 0 or line == "" and 1 or 2
