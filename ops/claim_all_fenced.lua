-- CLAIM_ALL_FENCED: as CLAIM_ALL, with a fencing token that is the next number for each of the names.
--
-- effect: claims
-- lost: leaves a key; undo by release_all; harmful when late
-- waits as: enter_all
-- guard script: names fences record | token ttl pass timed
-- guarded yes: {1, number, 0, time:ms, token:text}
-- guarded no: {0, name, pttl:ms, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- guarded uncounted: {-2, 0, 0, time:ms, token:text}
-- rights: hmget hset mget pttl set del time
-- include admitted

local clock = require("clock")
local guard = require("guard")
local keys = require("keys")
local numbers = require("numbers")

local set = guard.read(KEYS.record, ARGV.pass)
if not set then return {-1, 0, 0, 0, ARGV.token} end
local now = clock.told(ARGV.timed)
local names = (#KEYS - 1) / 2
local floor, most, known = guard.bounds(set)
if not known then return {-2, 0, 0, now, ARGV.token} end
local held, left = keys.find_held(1, names)
if held > 0 then return {0, held, left, now, ARGV.token} end
local failed = keys.make(1, names, ARGV.token, ARGV.ttl)
if failed then return failed end
local number = numbers.draw_all(names + 1, floor, most)
if type(number) == "number" then return {1, number, 0, now, ARGV.token} end
for i = 1, names do redis.pcall("del", KEYS[i]) end
return number
