-- RELEASE_ALL: deletes each of the keys that has the token and, with queues, wakes the first waiter of each free name.
--
-- Positive: each key had the token. 2 or -1: somebody waits for one of the names.
--
-- effect: releases, by script alone
-- lost: ask again; harmful when late with a caller's own value
-- queue script release_all: names queues | token 2 place patience quiet
-- script: names | token 1
-- yes: {1..2, token:text}
-- no: {-1..0, token:text}
-- rights: get set del type pttl pexpire time publish

local queue = require("queue")

local names, gone, waits, failed = #KEYS / ARGV[2], 0, false, nil
for i = 1, names do
  local value = redis.pcall("get", KEYS[i])
  if value == ARGV.token then value = redis.pcall("del", KEYS[i]) else gone = gone + 1 end
  if type(value) == "table" and not string.find(value.err, "WRONGTYPE", 1, true) then failed = value end
end
for i = names + 1, #KEYS do
  local name, key = KEYS[i - names], KEYS[i]
  local was = redis.pcall("get", key)
  local line = type(was) == "string" and was or ""
  if line ~= "" and type(redis.pcall("pexpire", key, 60000)) == "number" then
    line = queue.leave(line, nil, ARGV.place)
    local free = redis.pcall("pttl", name) == -2
    -- A shared lock is a sorted set: readers may join it, so the queue is woken although the key exists.
    local open = free or redis.pcall("type", name).ok == "zset"
    if line ~= "" and ARGV.quiet == "" and open then
      line = queue.wake(line, nil, free, ARGV.patience)
    end
    queue.keep(redis.pcall, key, line, was)
  end
  waits = waits or line ~= ""
end
if failed then return failed end
if gone > 0 then return {waits and -1 or 0, ARGV.token} end
return {waits and 2 or 1, ARGV.token}
