-- SLOT: takes a free slot of k, each of which is an exclusive name. The first slot's key is the name itself.
--
-- Another number of slots than the caller's is no "no". There is no form without scripts: the script sees in one step
-- which slots are taken.
--
-- effect: claims
-- lost: leaves a key; undo by slot_release; harmful when late
-- waits as: slot_enter
-- script: name count slots | token ttl rule_slots first
-- guard script: name count slots record | token ttl rule_slots first pass timed
-- yes: {1, 0, slot, 0, token:text}
-- no: {0, 0, 0, 0, token:text}
-- slots: {-3, 0, 0, 0, token:text}
-- guarded yes: {1, 0, slot, time:ms, token:text}
-- guarded no: {0, 0, 0, 0, token:text}
-- guarded slots: {-3, 0, 0, 0, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- rights: get mget pttl set hget time

local clock = require("clock")
local guard = require("guard")
local slots = require("slots")

local base, most, first, now = 2, tonumber(ARGV.rule_slots), tonumber(ARGV.first), "0"
if GUARDED then
  local admitted = guard.admits(KEYS.record, ARGV.pass)
  if not admitted then return "-1 0 0 0 " .. ARGV.token end
  now = clock.told_as_text(ARGV.timed)
end
if redis.pcall("get", KEYS.count) == ARGV.rule_slots then -- nearly always: one look at the slot that is to be tried first
  local key = KEYS[first == 0 and 1 or base + first]
  if redis.call("set", key, ARGV.token, "nx", "px", ARGV.ttl) then return "1 0 " .. first .. " " .. now .. " " .. ARGV.token end
end
local has = redis.call("mget", unpack(KEYS))
local differ = slots.differ(has, base, ARGV.rule_slots)
if differ then return {-3, 0, 0, 0, ARGV.token} end
for i = first, first + most - 1 do
  local slot = i % most
  local at = slot == 0 and 1 or base + slot
  if not has[at] and redis.call("set", KEYS[at], ARGV.token, "nx", "px", ARGV.ttl) then
    if has[base] ~= ARGV.rule_slots then redis.pcall("set", KEYS[base], ARGV.rule_slots, "px", 86400000) end
    return "1 0 " .. slot .. " " .. now .. " " .. ARGV.token
  end
end
return {0, 0, 0, 0, ARGV.token}
