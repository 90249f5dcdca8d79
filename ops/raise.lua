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
local names, number = (#KEYS - 1) / 2, tonumber(ARGV[2])
local set = redis.call("hmget", KEYS[#KEYS], "pass", "prev", "gmax")
if ARGV[3] ~= set[1] and ARGV[3] ~= set[2] then return {-1, 0, 0, 0, ARGV[1]} end
for i = 1, names do
  if redis.call("get", KEYS[i]) ~= ARGV[1] then return {0, i, 0, 0, ARGV[1]} end
end
local most = tonumber(string.match(set[3] or "", "^%d+$"))
if not most or most >= 2 ^ 53 then return {-2, 0, 0, 0, ARGV[1]} end
if most < number then redis.call("hset", KEYS[#KEYS], "gmax", ARGV[2]) end
for i = names + 1, 2 * names do
  local was = redis.pcall("get", KEYS[i])
  local count = tonumber(string.match(type(was) == "string" and was or "", "^%d+$")) or 0
  if count < number or count > math.max(most, number) then
    local kept = redis.pcall("set", KEYS[i], ARGV[2], "px", 86400000)
    if kept.err then return kept end
  end
end
return {1, number, 0, 0, ARGV[1]}
