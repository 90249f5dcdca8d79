local has, ours, other = redis.call("mget", unpack(KEYS)), {}, false
for i = 1, #KEYS do
  if i == 1 or i > 3 then
    if has[i] == ARGV[1] then ours[#ours + 1] = KEYS[i] end
    other = other or i > 3 and (has[i] == ARGV[1] or not has[i])
  end
end
local all, count = has[2] or "", #ours
if count > 0 then redis.call("del", unpack(ours)) end
if all == "" or type(redis.pcall("pexpire", KEYS[2], 60000)) ~= "number" then
  if count == 0 then return 0 end
  return all == "" and 1 or 2
end
local found = string.find(all, "w" .. ARGV[2] .. " ", 1, true)
if found then
  all = string.sub(all, 1, found - 2) .. string.sub(all, (string.find(all, ";", found, true) or #all) + 1)
end
local named = has[1] == ARGV[1] or not has[1] and redis.pcall("pttl", KEYS[1]) == -2
if all ~= "" and ARGV[4] == "" and (named or other) then
  local whole, free, place, patience = has[1] == ARGV[1] or not other, true, "", ARGV[3]
-- include beside
-- include tidy
  all = beside .. line
end
if all == "" then
  redis.pcall("del", KEYS[2])
elseif all ~= has[2] then
  redis.pcall("set", KEYS[2], all, "px", 60000)
end
if count == 0 then return all == "" and 0 or -1 end
return all == "" and 1 or 2
