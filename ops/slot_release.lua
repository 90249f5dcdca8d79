-- SLOT_RELEASE: deletes each slot that has the token, but the one that is kept, and wakes a waiter.
--
-- It is one slot, unless answers were lost or votes split.
--
-- effect: releases
-- lost: ask again; harmful when late with a caller's own value
-- script: name queue offers slots | token place patience quiet kept
-- yes: 1..2
-- no: -1..0
-- rights: set del mget pttl pexpire time publish hdel
local token, count, has = ARGV[1], 0, redis.call("mget", KEYS[2], KEYS[1], unpack(KEYS, 4))
if ARGV[5] ~= "" then has[ARGV[5] + 2] = "" end
for i = 2, #KEYS - 1 do
  if has[i] == token then
    count = count + 1
    if count > 1 then redis.pcall("del", KEYS[i == 2 and 1 or i + 1]) else redis.call("del", KEYS[i == 2 and 1 or i + 1]) end
  end
end
local all = has[1] or ""
if all == "" then return count == 0 and 0 or 1 end
if type(redis.pcall("pexpire", KEYS[2], 60000)) ~= "number" then return count == 0 and 0 or 2 end
local other = false
for i = 3, #KEYS - 1 do other = other or not has[i] or has[i] == token end
local found = string.find(all, "w" .. ARGV[2] .. " ", 1, true)
if found then
  all = string.sub(all, 1, found - 2) .. string.sub(all, (string.find(all, ";", found, true) or #all) + 1)
end
local named = has[2] == token or not has[2] and redis.pcall("pttl", KEYS[1]) == -2
if all ~= "" and ARGV[4] == "" and (named or other) then
  local whole, free, open, place, patience = has[2] == token or not other, true, true, "", ARGV[3]
-- include beside
-- include tidy
  all = beside .. line
end
if all == "" then
  redis.pcall("del", KEYS[2])
elseif all ~= has[1] then
  redis.pcall("set", KEYS[2], all, "px", 60000)
end
if count == 0 then return all == "" and 0 or -1 end
return all == "" and 1 or 2
