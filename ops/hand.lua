-- HAND: a release that gives the key to the next waiter and tells it. If the waiter cannot be told, it only releases.
--
-- LEAVE follows an answer that says that others still wait.
--
-- effect: releases
-- lost: ask again; harmful when late with a caller's own value
-- then: leave
-- queue script: name queue offers | token next
-- native: DELEX name IFEQ token
-- native: DELIFEQ name token
-- script release: name | token
-- native: WATCH
-- yes: 1..2
-- no: -1..0
-- rights: set get del mget pttl pexpire time publish hget hset hdel hlen
-- watch rights: watch multi exec getrange del
local both = redis.call("mget", KEYS[1], KEYS[2])
if both[1] ~= ARGV[1] then
  local size = redis.pcall("hlen", KEYS[3])
  if type(size) == "number" and size > 999 then redis.pcall("del", KEYS[3]) end
  redis.pcall("hset", KEYS[3], ARGV[1], "")
  if redis.pcall("pexpire", KEYS[3], 60000) ~= 1 then redis.pcall("del", KEYS[3]) end
  return both[2] and -1 or 0
end
redis.call("del", KEYS[1])
local client, slot, number, ttl, token = string.match(ARGV[2], "^(%x+)%.(%d+) (%d+) (%d+) (%S+)$")
local line, waiting, offer = both[2], 0, ""
local place = client and client .. "." .. slot
local found = line and place and string.find(line, "w" .. place .. " ", 1, true)
if not place or line and not found then return line and 2 or 1 end
if redis.pcall("hdel", KEYS[3], token) == 1 then return line and 2 or 1 end
local set = redis.pcall("set", KEYS[1], token, "px", ttl)
if set.err then return line and 2 or 1 end
if line then
  line = string.sub(line, 1, found - 2) .. string.sub(line, (string.find(line, ";", found, true) or #line) + 1)
  waiting = math.floor(#line / 31)
  redis.pcall("hdel", KEYS[3], place)
  if line == "" then
    redis.pcall("del", KEYS[2])
  else
    redis.pcall("set", KEYS[2], line, "px", 60000)
  end
  local next = string.match(line, "^1w(%x+%.%d+)")
  local told = next and redis.pcall("hget", KEYS[3], next)
  local since, terms, life = string.match(type(told) == "string" and told or "", "^(%d+) (%d+ (%d+) .+)$")
  if since then
    local time = redis.call("time")
    local age = time[1] * 1000 + math.floor(time[2] / 1000) - since
    local least = math.max(age * 8, math.min(ttl, 8000))
    if age >= 0 and age <= 2000 and least <= tonumber(life) then offer = next .. " " .. terms end
  end
end
local message = table.concat({slot, number, token, waiting, offer, KEYS[1]}, ";")
local heard = redis.pcall("publish", "redlock:wake:" .. client, message)
if type(heard) == "number" and heard > 0 then return 1 end
redis.pcall("del", KEYS[1])
return waiting > 0 and 2 or 1
