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
local names, gone, waits, failed = #KEYS / ARGV[2], 0, false, nil
for i = 1, names do
  local value = redis.pcall("get", KEYS[i])
  if value == ARGV[1] then value = redis.pcall("del", KEYS[i]) else gone = gone + 1 end
  if type(value) == "table" and not string.find(value.err, "WRONGTYPE", 1, true) then failed = value end
end
for i = names + 1, #KEYS do
  local KEYS = {KEYS[i - names], KEYS[i]}
  local was = redis.pcall("get", KEYS[2])
  local line = type(was) == "string" and was or ""
  if line ~= "" and type(redis.pcall("pexpire", KEYS[2], 60000)) == "number" then
    local at, mark, patience = 1, nil, ARGV[4]
    local found = string.find(line, "[wr]" .. ARGV[3] .. " ")
    if found then
      line = string.sub(line, 1, found - 2) .. string.sub(line, (string.find(line, ";", found, true) or #line) + 1)
    end
    local free = redis.pcall("pttl", KEYS[1]) == -2
    local open = free or redis.pcall("type", KEYS[1]).ok == "zset"
    if line ~= "" and ARGV[5] == "" and open then
-- include wake
    end
    if line == "" then
      redis.pcall("del", KEYS[2])
    elseif line ~= was then
      redis.pcall("set", KEYS[2], line, "px", 60000)
    end
  end
  waits = waits or line ~= ""
end
if failed then return failed end
if gone > 0 then return {waits and -1 or 0, ARGV[1]} end
return {waits and 2 or 1, ARGV[1]}
