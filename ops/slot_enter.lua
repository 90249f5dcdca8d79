-- SLOT_ENTER: as SLOT, for a waiter in the queue of the name.
--
-- A refusal reports the TTL of the slot that ends first, our place, and the first bytes of that slot's value.
--
-- effect: claims
-- lost: leaves a key; undo by slot_release; harmful when late
-- script: name queue offers count slots | token ttl rule_slots first place patience
-- guard script: name queue offers count slots record | token ttl rule_slots first place patience pass timed
-- yes: {1, waiting, slot, 0, token:text, offer:text}
-- no: {0, waiting, pttl:ms, place, token:text, value:text}
-- slots: {-3, 0, 0, 0, token:text}
-- guarded yes: {1, waiting, slot, time:ms, token:text, offer:text}
-- guarded no: {0, waiting, pttl:ms, place, token:text, value:text}
-- guarded slots: {-3, 0, 0, 0, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- rights: set del mget pttl pexpire time publish hget hset hdel hlen subscribe unsubscribe

local clock = require("clock")
local guard = require("guard")
local queue = require("queue")
local slots = require("slots")

local moment = 0
if GUARDED then
  local admitted = guard.admits(KEYS.record, ARGV.pass)
  if not admitted then return "-1 0 0 0 " .. ARGV.token end
  moment = clock.told(ARGV.timed)
end
local base, has = 4, redis.call("mget", unpack(KEYS))
local most, first = tonumber(ARGV.rule_slots), tonumber(ARGV.first)
local differ = slots.differ(has, base, ARGV.rule_slots)
if differ then return {-3, 0, 0, 0, ARGV.token} end
if has[2] then redis.call("pexpire", KEYS.queue, 60000) end

-- The free slots in the order to try, and the taken one that ends first.
local all, place, spare, left, holder = has[2] or "", ARGV.place, {}, -1, ""
for i = first, first + most - 1 do
  local at = i % most == 0 and 1 or base + i % most
  local life = redis.call("pttl", KEYS[at])
  if life == -2 then
    spare[#spare + 1] = i % most
  elseif life >= 0 and (left < 0 or life < left) then
    left, holder = life, has[at] or ""
  end
end
local free, whole = #spare > 0, #spare == 1 and spare[1] == 0
local beside, line = slots.split(all, whole)
local mine
line, mine = queue.tidy(line, KEYS.offers, place, free, free, ARGV.patience)
local slot = beside ~= "" and spare[1] == 0 and spare[2] or spare[1]
local at = slot == 0 and 1 or base + (slot or 0)
if free and (mine or line == "") and redis.call("set", KEYS[at], ARGV.token, "nx", "px", ARGV.ttl) then
  if has[base] ~= ARGV.rule_slots then redis.pcall("set", KEYS[base], ARGV.rule_slots, "px", 86400000) end
  if mine then line = string.sub(line, string.find(line, ";", 1, true) + 1) end
  all = beside .. line
  if #spare > 1 then -- the next one in line may have another slot
    local only, nobody = #spare == 2 and spare[1] + spare[2] == slot, ""
    beside, line = slots.split(all, only)
    line = queue.tidy(line, KEYS.offers, nobody, free, free, ARGV.patience)
    all = beside .. line
  end
  queue.keep(redis.pcall, KEYS.queue, all, has[2] or "")
  return {1, queue.count(#all), slot, moment, ARGV.token, ""}
end

local stands = 0
if place ~= "" then
  local found = string.find(line, "w" .. place .. " ", 1, true)
  stands = queue.count(found or #line) + 1
  if found then
    line = string.sub(line, 1, found) .. string.gsub(string.sub(line, found + 1), "^([^;]* )%d+;", "%1;")
  else
    line = line .. string.format("1w%-27s ;", place)
  end
end
all = beside .. line
queue.keep(redis.call, KEYS.queue, all, has[2] or "")
return {0, queue.count(#all), left, stands, ARGV.token, string.sub(holder, 1, 1024)}
