-- SHARE_RELEASE: removes our token, or deletes the key that we upgraded. It wakes waiters if the key is free then, or
-- still shared, so that other readers may enter.
--
-- effect: releases, by script alone
-- lost: ask again; harmful when late with a caller's own value
-- queue script share_release: name queue offers | token place patience quiet
-- script: name | token
-- yes: {1..2, token:text}
-- no: {-1..0, token:text}
-- rights: get set del type zrem zrevrange zremrangebyscore pexpireat mget pttl pexpire time publish hget hset hdel hlen

local clock = require("clock")
local queue = require("queue")

local gone = redis.pcall("zrem", KEYS.name, ARGV.token)
if type(gone) == "table" and not string.find(gone.err, "WRONGTYPE", 1, true) then
  local score = redis.pcall("zscore", KEYS.name, ARGV.token)
  if type(score) == "string" then return gone end
  gone = score or 0
end
if type(gone) == "table" then
  if not string.find(gone.err, "WRONGTYPE", 1, true) then return gone end
  gone = redis.call("mget", KEYS.name)[1] == ARGV.token and redis.call("del", KEYS.name) or 0
end
local others = gone == 1 and redis.pcall("pttl", KEYS.name) ~= -2
local latest = others and redis.pcall("zrevrange", KEYS.name, 0, 0, "withscores")
if latest and latest[2] then
  local now = clock.now_or_nil()
  redis.pcall("zremrangebyscore", KEYS.name, "-inf", string.format("(%d", now))
  redis.pcall("pexpireat", KEYS.name, latest[2])
end

local was = KEYS.queue and redis.pcall("get", KEYS.queue)
if type(was) ~= "string" then return gone .. " " .. ARGV.token end
if type(redis.pcall("pexpire", KEYS.queue, 60000)) ~= "number" then return (gone == 1 and 2 or -1) .. " " .. ARGV.token end
local line = queue.leave(was, KEYS.offers, ARGV.place)
local free = redis.pcall("pttl", KEYS.name) == -2
local open = free or redis.pcall("type", KEYS.name).ok == "zset"
if line ~= "" and ARGV.quiet ~= "1" and open then
  line = queue.wake(line, KEYS.offers, free, ARGV.patience)
end
queue.keep(redis.pcall, KEYS.queue, line, was)
return (line == "" and gone or gone == 1 and 2 or -1) .. " " .. ARGV.token
