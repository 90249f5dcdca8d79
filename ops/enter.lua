-- ENTER: an acquire that waits for its turn: it takes the key, or a place in the queue, or keeps the place it has.
--
-- A refusal reports the number of waiters, the key's TTL, our place (1: the first; 0: none) and the first bytes of the
-- holder's value. A grant reports the offer of the next waiter, so that a release can hand the lock over.
-- A request that was not executed, as its script is unknown, is a "no" without numbers. A node that has no such command,
-- or does not permit it, has no queue for us.
--
-- effect: claims
-- lost: leaves a key; undo by release; harmful when late
-- without rights: acquire
-- queue script: name queue offers | token ttl place terms
-- guard script: name queue offers record fence | token ttl place terms pass fenced timed
-- yes: {1, waiting, 0, 0, token:text, offer:text}
-- no: {0, waiting, pttl:ms, place, token:text, value:text}
-- no: error NOSCRIPT
-- noperm: error ERR unknown command
-- noperm: error ERR Unknown
-- guarded yes: {1, waiting, number, time:ms, token:text, offer:text}
-- guarded no: {0, waiting, pttl:ms, place, token:text, value:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text, ""}
-- guarded uncounted: {-2, 0, 0, 0, token:text, ""}
-- rights: set del hmget mget pttl pexpire time publish hget hset hdel hlen subscribe unsubscribe

local clock = require("clock")
local guard = require("guard")
local kept = require("kept")
local keys = require("keys")
local numbers = require("numbers")
local offers = require("offers")
local queue = require("queue")

local moment, number, fenced, floor, most = 0, 0, false, nil, nil
if GUARDED then
  local set = guard.read(KEYS.record, ARGV.pass)
  if not set then return {-1, 0, 0, 0, ARGV.token, ""} end
  local known
  floor, most, known = guard.bounds(set)
  fenced = ARGV.fenced ~= ""
  if fenced and not known then return {-2, 0, 0, 0, ARGV.token, ""} end
end
local both = redis.call("mget", KEYS.name, KEYS.queue)
if GUARDED then
  moment = clock.told(ARGV.timed)
end
if both[1] == ARGV.token then
  if GUARDED then
    number = fenced and math.min(tonumber(redis.pcall("get", KEYS.fence)) or most, most) or 0
  end
  keys.lengthen(KEYS.name, ARGV.ttl)
  return {1, queue.count(#(both[2] or "")), number, moment, ARGV.token, ""}
end
if both[2] then redis.call("pexpire", KEYS.queue, 60000) end

local left, was, place = redis.call("pttl", KEYS.name), both[2] or "", ARGV.place
local free = left == -2
local open = free or not both[1] and redis.pcall("type", KEYS.name).ok == "zset"
local patience, offered = string.match(ARGV.terms, "^(%d+) (%d+)$")
local polls = offered == "1" and 2000 -- the waiter hears no messages: it asks
local line, mine = queue.tidy(was, KEYS.offers, place, free, open, patience)
if free and (mine or line == "") and redis.call("set", KEYS.name, ARGV.token, "nx", "px", ARGV.ttl) then
  if GUARDED then
    if fenced then
      local failed
      number, failed = numbers.draw(KEYS.fence, KEYS.record, floor, most)
      if failed then
        redis.pcall("del", KEYS.name)
        return failed
      end
    end
  end
  if mine then
    line = queue.serve(line, KEYS.offers, place)
  end
  queue.keep(redis.pcall, KEYS.queue, line, was)
  local offer = ""
  if not GUARDED then
    offer = offers.first(line, KEYS.offers, ARGV.ttl)
  end
  return {1, queue.count(#line), number, moment, ARGV.token, offer}
end

local stands
line, stands = queue.stand(line, mine, "w", place, polls)
queue.keep(redis.call, KEYS.queue, line, was)
if not GUARDED then
  if place ~= "" and offered ~= "0" and not polls then
    offers.make(KEYS.offers, place, offered, ARGV.ttl, ARGV.token)
  end
end
if stands == 1 then
  local offer = ""
  if not GUARDED then
    offer = offers.first(line, KEYS.offers, ARGV.ttl)
  end
  kept.ask(both[1], queue.count(#line), offer, KEYS.name)
end
return {0, queue.count(#line), left, stands, ARGV.token, string.sub(both[1] or "", 1, 1024)}
