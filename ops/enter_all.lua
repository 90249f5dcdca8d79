-- ENTER_ALL: as CLAIM_ALL, for a waiter in the queue of one of the names.
--
-- A refusal's verdict says which name is held: -2 the first, -3 the second. If that is another name than the queue's,
-- our place is 0. The rest of an answer is that of ENTER.
--
-- effect: claims
-- lost: leaves a key; undo by release_all; harmful when late
-- without rights: claim_all
-- queue script: name queue offers names | token ttl place patience
-- guard script: name queue offers names fences record | token ttl pass timed place patience fenced
-- yes: {1, waiting, 0, 0, token:text, offer:text}
-- no: {-65..-2, waiting, pttl:ms, place, token:text, value:text}
-- noperm: error ERR unknown command
-- noperm: error ERR Unknown
-- no: error NOSCRIPT
-- guarded yes: {1, waiting, number, time:ms, token:text, offer:text}
-- guarded no: {-65..-2, waiting, pttl:ms, place, token:text, value:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- guarded uncounted: {2, 0, 0, time:ms, token:text}
-- rights: set del type hmget mget pttl pexpire time publish hget hset hdel hlen subscribe unsubscribe

local clock = require("clock")
local guard = require("guard")
local kept = require("kept")
local keys = require("keys")
local numbers = require("numbers")
local queue = require("queue")

local first, last, moment, place, number = 4, #KEYS, 0, ARGV.place, 0
local fenced, floor, most = false, nil, nil
if GUARDED then
  local set = guard.read(KEYS.record, ARGV.pass)
  if not set then return {-1, 0, 0, 0, ARGV.token} end
  moment = clock.told(ARGV.timed)
  last = ARGV.fenced ~= "" and (#KEYS + 2) / 2 or #KEYS - 1
  local known
  floor, most, known = guard.bounds(set)
  fenced = ARGV.fenced ~= ""
  if fenced and not known then return {2, 0, 0, moment, ARGV.token} end
end

-- The number of the first held name, and that of the name whose queue this is.
local both, way, own = redis.call("mget", KEYS.name, KEYS.queue), 0, 0
for i = first, last do
  if KEYS[i] == KEYS.name then own = i - 3 end
  if way == 0 and redis.call("pttl", KEYS[i]) ~= -2 then way = i - 3 end
end
if both[2] then redis.call("pexpire", KEYS.queue, 60000) end
local left, was = redis.call("pttl", KEYS.name), both[2] or ""
local free = left == -2
local open = free or not both[1] and redis.pcall("type", KEYS.name).ok == "zset"
local line, mine = queue.tidy(was, KEYS.offers, place, free, open, ARGV.patience)
local turn = free and (mine or line == "")
if turn and way == 0 then
  local failed = keys.make(first, last, ARGV.token, ARGV.ttl)
  if failed then return failed end
  if GUARDED then
    number = fenced and numbers.draw_all(last + 1, floor, most) or 0
    if type(number) == "table" then
      for i = first, last do redis.pcall("del", KEYS[i]) end
      return number
    end
  end
  if mine then
    line = queue.serve(line, KEYS.offers, place)
  end
  queue.keep(redis.pcall, KEYS.queue, line, was)
  return {1, queue.count(#line), number, moment, ARGV.token, ""}
end

-- A waiter whose turn it is, and whom another name keeps out, leaves this queue to the next one.
if turn then
  if mine then
    local rest, nobody = string.sub(line, string.find(line, ";", 1, true) + 1), ""
    line = queue.tidy(rest, KEYS.offers, nobody, free, open, ARGV.patience)
  end
  mine, place = false, ""
end
local stands
line, stands = queue.stand(line, mine, "w", place, nil)
queue.keep(redis.call, KEYS.queue, line, was)
if stands == 1 then kept.ask(both[1], queue.count(#line), "", KEYS.name) end
return {-1 - (turn and way or own), queue.count(#line), left, stands, ARGV.token, string.sub(both[1] or "", 1, 1024)}
