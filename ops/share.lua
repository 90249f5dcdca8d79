-- SHARE: adds the token to the holders of a shared lock, unless a writer holds the key or waits ahead of us.
--
-- A shared lock is a sorted set: the tokens, each with the time (server's ms) at which it ends; the key ends with the
-- last of them. A string is an exclusive holder's, also of a reader that was upgraded (docs/decisions/shared.md).
-- Verdict -1: no key keeps us out, but a waiting writer goes first. Waiting -1: the script did not look at the queue.
--
-- effect: claims, by script alone
-- lost: leaves a key; undo by share_release; harmful when late
-- queue script share: name queue offers | token ttl place terms
-- script: name | token ttl
-- guard script: name queue offers record | token ttl place terms pass
-- yes: {1, waiting, 0, time:ms, token:text}
-- no: {-1..0, waiting, pttl:ms, place, token:text, value:text}
-- guarded yes: {1, waiting, 0, time:ms, token:text}
-- guarded no: {-1..0, waiting, pttl:ms, place, token:text, value:text}
-- guarded quarantine: {-2, 0, 0, 0, token:text}
-- rights: set del type zadd zrem zscore zrevrange zremrangebyscore pexpireat mget pttl pexpire time publish hget hset hdel hlen subscribe unsubscribe

local clock = require("clock")
local guard = require("guard")
local kept = require("kept")
local queue = require("queue")

if GUARDED then
  local set = guard.read(KEYS.record, ARGV.pass)
  if not set then return "-2 0 0 0 " .. ARGV.token end
end
local both = redis.call("mget", KEYS.name, KEYS.queue or KEYS.name)
local was, place = KEYS.queue and both[2] or "", ARGV.place or ""
local left = redis.call("pttl", KEYS.name)
local moment = clock.now()
local free, top = left == -2, nil -- top: when the last reader's share ends
if not both[1] and left >= 0 and redis.call("type", KEYS.name).ok == "zset" then
  top = tonumber(redis.call("zrevrange", KEYS.name, 0, 0, "withscores")[2])
  if math.abs(moment + left - top) > 1000 then top = nil end
end
local open, patience = free or top ~= nil, was ~= "" and string.match(ARGV.terms or "", "^%d+")
if was ~= "" then redis.call("pexpire", KEYS.queue, 60000) end
local line, mine, untold = queue.tidy(was, KEYS.offers, place, free, open, patience)
local found = place ~= "" and string.find(line, "r" .. place .. " ", 1, true)
local writer, has = line ~= "" and string.find(line, "w", 1, true), top and redis.call("zscore", KEYS.name, ARGV.token)
local ours = has and tonumber(has) >= moment
if open and not ours and (not writer or found and found < writer) then
  local ends = string.format("%d", moment + ARGV.ttl)
  redis.call("zadd", KEYS.name, ends, ARGV.token)
  local set = top and top >= tonumber(ends) or redis.pcall("pexpireat", KEYS.name, ends)
  if type(set) == "table" then
    redis.pcall("zrem", KEYS.name, ARGV.token)
    return set
  end
  if top then redis.pcall("zremrangebyscore", KEYS.name, "-inf", string.format("(%d", moment)) end
  if found then
    line = string.sub(line, 1, found - 2) .. string.sub(line, string.find(line, ";", found, true) + 1)
    if found == 2 and string.find(line, "^1r%x+%.%d+ *;") then
      local mark = queue.tell_readers(line, 1, "1r", untold, moment)
      line = string.gsub(line, ";", (type(mark) == "string" and mark or string.format("%d", moment + patience)) .. ";", 1)
    end
  end
  queue.keep(redis.pcall, KEYS.queue, line, was)
  local told = GUARDED and ends - ARGV.ttl or 0
  return "1 " .. (KEYS.queue and queue.count(#line) or -1) .. " 0 " .. told .. " " .. ARGV.token
end

local stands
line, stands = queue.stand(line, mine, "r", place, nil)
queue.keep(redis.call, KEYS.queue, line, was)
if stands == 1 then kept.ask(both[1], queue.count(#line), "", KEYS.name) end
return {open and not ours and -1 or 0, KEYS.queue and queue.count(#line) or -1, left, stands, ARGV.token,
  string.sub(both[1] or "", 1, 1024)}
