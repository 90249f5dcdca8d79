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
-- guard script guarded_enter: name queue offers record fence | token ttl place terms pass fenced timed
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
local both = redis.call("mget", KEYS[1], KEYS[2])
if both[1] == ARGV[1] then
  local life = redis.call("pttl", KEYS[1])
  if life >= 0 and life < tonumber(ARGV[2]) then redis.call("pexpire", KEYS[1], ARGV[2]) end
  return {1, math.floor(#(both[2] or "") / 31), 0, 0, ARGV[1], ""}
end
if both[2] then redis.call("pexpire", KEYS[2], 60000) end
local left = redis.call("pttl", KEYS[1])
local free, was, place, kind = left == -2, both[2] or "", ARGV[3], "w"
local open = free or not both[1] and redis.pcall("type", KEYS[1]).ok == "zset"
local patience, offered = string.match(ARGV[4], "^(%d+) (%d+)$")
local polls = offered == "1" and 2000
-- include tidy
if free and (mine or line == "") and redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then
-- include served
  local next, offer = string.match(line, "^1w(%x+%.%d+)"), ""
  local told = next and redis.pcall("hget", KEYS[3], next)
  local since, terms, ttl = string.match(type(told) == "string" and told or "", "^(%d+) (%d+ (%d+) .+)$")
  if since then
    local time = redis.call("time")
    local age = time[1] * 1000 + math.floor(time[2] / 1000) - since
    local least = math.max(age * 8, math.min(ARGV[2], 8000))
    if age >= 0 and age <= 2000 and least <= tonumber(ttl) then offer = next .. " " .. terms end
  end
  return {1, math.floor(#line / 31), 0, 0, ARGV[1], offer}
end
-- include stand
if place ~= "" and offered ~= "0" and not polls then
  local time = redis.call("time")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.pcall("hset", KEYS[3], place, table.concat({string.format("%d", now), offered, ARGV[2], ARGV[1]}, " "))
  if redis.pcall("pexpire", KEYS[3], 60000) ~= 1 then redis.pcall("del", KEYS[3]) end
end
return {0, math.floor(#line / 31), left, stands, ARGV[1], string.sub(both[1] or "", 1, 1024)}
