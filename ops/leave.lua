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
-- plain rights: watch multi exec getrange del

local offers = require("offers")
local queue = require("queue")

local both = redis.call("mget", KEYS.name, KEYS.queue)
local ours, was = both[1] == ARGV.token, both[2] or ""
if ours then redis.call("del", KEYS.name) end
if not ours and ARGV.bars ~= "" then
  offers.bar(KEYS.offers, ARGV.token)
end
if was == "" or type(redis.pcall("pexpire", KEYS.queue, 60000)) ~= "number" then
  return not ours and 0 or was == "" and 1 or 2
end

local line = queue.leave(was, KEYS.offers, ARGV.place)
local free = ours or not both[1] and redis.pcall("pttl", KEYS.name) == -2
local open = free or not both[1] and redis.pcall("type", KEYS.name).ok == "zset"
if line ~= "" and ARGV.bars ~= "2" and open then
  line = queue.wake(line, KEYS.offers, free, ARGV.patience)
end
queue.keep(redis.pcall, KEYS.queue, line, was)
return not ours and 0 or line == "" and 1 or 2
