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
-- plain rights: watch multi exec getrange del

local offers = require("offers")
local queue = require("queue")

local both = redis.call("mget", KEYS.name, KEYS.queue)
if both[1] ~= ARGV.token then
  offers.bar(KEYS.offers, ARGV.token)
  return both[2] and -1 or 0
end
redis.call("del", KEYS.name)
local client, slot, number, ttl, token = string.match(ARGV.next, "^(%x+)%.(%d+) (%d+) (%d+) (%S+)$")
local line, waiting, offer = both[2], 0, ""
local place = client and client .. "." .. slot
local found = line and place and string.find(line, "w" .. place .. " ", 1, true)
if not place or line and not found then return line and 2 or 1 end
if redis.pcall("hdel", KEYS.offers, token) == 1 then return line and 2 or 1 end
local set = redis.pcall("set", KEYS.name, token, "px", ttl)
if set.err then return line and 2 or 1 end
if line then
  line = queue.remove(line, found)
  waiting = queue.count(#line)
  redis.pcall("hdel", KEYS.offers, place)
  queue.keep(redis.pcall, KEYS.queue, line, both[2])
  offer = offers.first(line, KEYS.offers, ttl)
end
local message = table.concat({slot, number, token, waiting, offer, KEYS.name}, ";")
local heard = redis.pcall("publish", "redlock:wake:" .. client, message)
if type(heard) == "number" and heard > 0 then return 1 end
redis.pcall("del", KEYS.name)
return waiting > 0 and 2 or 1
