-- SHARE_EXTEND: lets our token end later. It also turns a key that we upgraded back into a shared one, and wakes readers.
--
-- If it came late, it would do so with a key that was upgraded since.
--
-- effect: extends, by script alone
-- lost: ask again; harmful when late
-- queue script share_extend: name queue offers | token ttl patience turns
-- script: name | token ttl turns
-- guard script: name queue offers record | token ttl patience turns pass
-- yes: {1, token:text}
-- no: {0, token:text}
-- guarded yes: {1, 0, 0, time:ms, token:text}
-- guarded no: {0, 0, 0, time:ms, token:text}
-- guarded quarantine: {-2, 0, 0, 0, token:text}
-- rights: get set del zadd zscore zrevrange zremrangebyscore pexpireat mget pttl pexpire time publish hget hset hdel hlen

local clock = require("clock")
local guard = require("guard")
local queue = require("queue")

if GUARDED then
  local set = guard.read(KEYS.record, ARGV.pass)
  if not set then return "-2 0 0 0 " .. ARGV.token end
end
local score = redis.pcall("zscore", KEYS.name, ARGV.token)
local turns = type(score) == "table" -- the key is a string: it is turned into a set
if turns and not string.find(score.err, "WRONGTYPE", 1, true) then return score end
local moment = clock.now()
local rest = (GUARDED and "0 0 " .. string.format("%d", moment) .. " " or "") .. ARGV.token
if turns and (ARGV.turns ~= "1" or redis.call("get", KEYS.name) ~= ARGV.token) or not turns and (tonumber(score) or 0) < moment then
  return "0 " .. rest
end
local ends = moment + ARGV.ttl
if turns then
  ends = math.max(ends, moment + redis.call("pttl", KEYS.name))
  redis.call("del", KEYS.name)
else
  ends = math.max(ends, tonumber(score))
  redis.call("zremrangebyscore", KEYS.name, "-inf", string.format("(%d", moment))
end
local set = redis.pcall("zadd", KEYS.name, string.format("%d", ends), ARGV.token)
local latest = redis.pcall("zrevrange", KEYS.name, 0, 0, "withscores")
if type(set) ~= "table" and latest[1] == ARGV.token then set = redis.pcall("pexpireat", KEYS.name, latest[2]) end
if type(set) == "table" then
  if turns then redis.pcall("del", KEYS.name) end
  return set
end
local was = turns and KEYS.queue and redis.pcall("get", KEYS.queue)
if type(was) == "string" and type(redis.pcall("pexpire", KEYS.queue, 60000)) == "number" then
  local line = queue.wake(was, KEYS.offers, false, ARGV[3])
  queue.keep(redis.pcall, KEYS.queue, line, was)
end
return "1 " .. rest
