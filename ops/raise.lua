-- RAISE: the counters continue from this number, if each key still has the token (src/core/fence.h).
--
-- Asked of nodes that drew a lower number than others. A refusal says which key is lost.
--
-- lost: ask again
-- guard script: names fences record | token number pass
-- guarded yes: {1, number, 0, 0, token:text}
-- guarded no: {0, name, 0, 0, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- guarded uncounted: {-2, 0, 0, 0, token:text}
-- rights: hmget hset get set

local names, number = (#KEYS - 1) / 2, tonumber(ARGV.number)
local set = redis.call("hmget", KEYS.record, "pass", "prev", "gmax")
if ARGV.pass ~= set[1] and ARGV.pass ~= set[2] then return {-1, 0, 0, 0, ARGV.token} end
for i = 1, names do
  if redis.call("get", KEYS[i]) ~= ARGV.token then return {0, i, 0, 0, ARGV.token} end
end
local most = tonumber(string.match(set[3] or "", "^%d+$"))
if not most or most >= 2 ^ 53 then return {-2, 0, 0, 0, ARGV.token} end
if most < number then redis.call("hset", KEYS.record, "gmax", ARGV.number) end
for i = names + 1, 2 * names do
  local was = redis.pcall("get", KEYS[i])
  local count = tonumber(string.match(type(was) == "string" and was or "", "^%d+$")) or 0
  if count < number or count > math.max(most, number) then
    local kept = redis.pcall("set", KEYS[i], ARGV.number, "px", 86400000)
    if kept.err then return kept end
  end
end
return {1, number, 0, 0, ARGV.token}
