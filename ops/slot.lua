-- SLOT: takes a free slot of k, each of which is an exclusive name. The first slot's key is the name itself.
--
-- Another number of slots than the caller's is no "no". There is no form without scripts: the script sees in one step
-- which slots are taken.
--
-- effect: claims
-- lost: leaves a key; undo by slot_release; harmful when late
-- waits as: slot_enter
-- script: name count slots | token ttl most first
-- yes: {1, 0, slot, 0, token:text}
-- no: {0, 0, 0, 0, token:text}
-- slots: {-3, 0, 0, 0, token:text}
-- rights: get mget pttl set
local base, slots, first = 2, tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.pcall("get", KEYS[2]) == ARGV[3] then
  local key = KEYS[first == 0 and 1 or base + first]
  if redis.call("set", key, ARGV[1], "nx", "px", ARGV[2]) then return "1 0 " .. first .. " 0 " .. ARGV[1] end
end
local has = redis.call("mget", unpack(KEYS))
-- include slots
for i = first, first + slots - 1 do
  local slot = i % slots
  local at = slot == 0 and 1 or base + slot
  if not has[at] and redis.call("set", KEYS[at], ARGV[1], "nx", "px", ARGV[2]) then
    if has[base] ~= ARGV[3] then redis.pcall("set", KEYS[base], ARGV[3], "px", 86400000) end
    return "1 0 " .. slot .. " 0 " .. ARGV[1]
  end
end
return {0, 0, 0, 0, ARGV[1]}
