-- CLAIM_ALL: makes all keys of several names with the token, or none. A refusal says which name is held, from 1 on.
--
-- A SET of one name after the other would hold some while others are refused: so there is no form without scripts.
-- A fenced request draws a number that is the next one for each of the names; other requests have no keys of counters.
--
-- effect: claims
-- lost: leaves a key; undo by release_all; harmful when late
-- waits as: enter_all
-- script: names | token ttl
-- guard script: names fences record | token ttl pass timed fenced
-- yes: {1, 0, 0, 0, token:text}
-- no: {0, name, pttl:ms, 0, token:text}
-- guarded yes: {1, number, 0, time:ms, token:text}
-- guarded no: {0, name, pttl:ms, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- guarded uncounted: {-2, 0, 0, time:ms, token:text}
-- rights: hget hmget hset mget pttl set del time

local guard = require("guard")
local keys = require("keys")
local numbers = require("numbers")

local now, names, number, floor, most = "0", #KEYS, 0, nil, nil
if GUARDED then
  local set
  set, now = guard.open(KEYS.record, ARGV.pass, ARGV.timed)
  if not set then return "-1 0 0 0 " .. ARGV.token end
  names = #KEYS - 1
  if ARGV.fenced ~= "" then
    local known
    floor, most, known = guard.bounds(set)
    names = names / 2
    if not known then return "-2 0 0 " .. now .. " " .. ARGV.token end
  end
end

local held, left = keys.find_held(1, names)
if held > 0 then return string.format("0 %d %d ", held, left) .. now .. " " .. ARGV.token end
local failed = keys.make(1, names, ARGV.token, ARGV.ttl)
if failed then return failed end
if GUARDED then
  if most then
    number = numbers.draw_all(names + 1, floor, most)
    if type(number) == "table" then
      for i = 1, names do redis.pcall("del", KEYS[i]) end
      return number
    end
  end
end
return string.format("1 %d 0 ", number) .. now .. " " .. ARGV.token
