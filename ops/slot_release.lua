-- SLOT_RELEASE: deletes the key of each slot that has the token, except slot `kept`, and wakes a waiter.
--
-- Usually one slot has the token; several do after lost answers or split votes. 2 and 1: a slot was deleted, and somebody
-- waits or nobody does; -1 and 0: the same when no slot had the token.
--
-- effect: releases, by script alone
-- lost: ask again; harmful when late with a caller's own value
-- script: name queue offers slots | token place patience quiet kept
-- yes: 1..2
-- no: -1..0
-- rights: set del mget pttl pexpire time publish hdel

local queue = require("queue")
local slots = require("slots")

local token, count, has = ARGV.token, 0, redis.call("mget", KEYS.queue, KEYS.name, unpack(KEYS, 4))
if ARGV.kept ~= "" then has[ARGV.kept + 2] = "" end
for i = 2, #KEYS - 1 do
  if has[i] == token then
    count = count + 1
    if count > 1 then redis.pcall("del", KEYS[i == 2 and 1 or i + 1]) else redis.call("del", KEYS[i == 2 and 1 or i + 1]) end
  end
end
local all = has[1] or ""
if all == "" then return count == 0 and 0 or 1 end
if type(redis.pcall("pexpire", KEYS.queue, 60000)) ~= "number" then return count == 0 and 0 or 2 end

local other_is_free = false
for i = 3, #KEYS - 1 do other_is_free = other_is_free or not has[i] or has[i] == token end
local found = string.find(all, "w" .. ARGV.place .. " ", 1, true)
if found then
  all = queue.remove(all, found)
end
local named = has[2] == token or not has[2] and redis.pcall("pttl", KEYS.name) == -2
if all ~= "" and ARGV.quiet == "" and (named or other_is_free) then
  local whole, nobody = has[2] == token or not other_is_free, ""
  local beside, line = slots.split(all, whole)
  line = queue.tidy(line, KEYS.offers, nobody, true, true, ARGV.patience)
  all = beside .. line
end
queue.keep(redis.pcall, KEYS.queue, all, has[1])
if count == 0 then return all == "" and 0 or -1 end
return all == "" and 1 or 2
