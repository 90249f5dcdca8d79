-- SLOT_ENTER: as SLOT, for a waiter in the queue of the name.
--
-- A refusal reports the TTL of the slot that ends first, our place, and the first bytes of that slot's value.
--
-- effect: claims
-- lost: leaves a key; undo by slot_release; harmful when late
-- script: name queue offers count slots | token ttl most first place patience
-- yes: {1, waiting, slot, 0, token:text, offer:text}
-- no: {0, waiting, pttl:ms, place, token:text, value:text}
-- slots: {-3, 0, 0, 0, token:text}
-- rights: set del mget pttl pexpire time publish hget hset hdel hlen subscribe unsubscribe
local base, has = 4, redis.call("mget", unpack(KEYS))
local slots, first = tonumber(ARGV[3]), tonumber(ARGV[4])
-- include slots
if has[2] then redis.call("pexpire", KEYS[2], 60000) end
local all, place, patience = has[2] or "", ARGV[5], ARGV[6]
local spare, left, holder = {}, -1, ""
for i = first, first + slots - 1 do
  local at = i % slots == 0 and 1 or base + i % slots
  local life = redis.call("pttl", KEYS[at])
  if life == -2 then
    spare[#spare + 1] = i % slots
  elseif life >= 0 and (left < 0 or life < left) then
    left, holder = life, has[at] or ""
  end
end
local free, whole = #spare > 0, #spare == 1 and spare[1] == 0
local open = free
-- include beside
-- include tidy
local slot = beside ~= "" and spare[1] == 0 and spare[2] or spare[1]
local at = slot == 0 and 1 or base + (slot or 0)
if free and (mine or line == "") and redis.call("set", KEYS[at], ARGV[1], "nx", "px", ARGV[2]) then
  if has[base] ~= ARGV[3] then redis.pcall("set", KEYS[base], ARGV[3], "px", 86400000) end
  if mine then line = string.sub(line, string.find(line, ";", 1, true) + 1) end
  all = beside .. line
  if #spare > 1 then
    local whole, place = #spare == 2 and spare[1] + spare[2] == slot, ""
-- include beside
-- include tidy
    all = beside .. line
  end
  if all == "" and has[2] then
    redis.pcall("del", KEYS[2])
  elseif all ~= (has[2] or "") then
    redis.pcall("set", KEYS[2], all, "px", 60000)
  end
  return {1, math.floor(#all / 31), slot, 0, ARGV[1], ""}
end
local stands = 0
if place ~= "" then
  local found = string.find(line, "w" .. place .. " ", 1, true)
  stands = math.floor((found or #line) / 31) + 1
  if found then
    line = string.sub(line, 1, found) .. string.gsub(string.sub(line, found + 1), "^([^;]* )%d+;", "%1;")
  else
    line = line .. string.format("1w%-27s ;", place)
  end
end
all = beside .. line
if all == "" and has[2] then
  redis.call("del", KEYS[2])
elseif all ~= (has[2] or "") then
  redis.call("set", KEYS[2], all, "px", 60000)
end
return {0, math.floor(#all / 31), left, stands, ARGV[1], string.sub(holder, 1, 1024)}
