local set = redis.call("hmget", KEYS[2], "pass", "prev", "gmax")
if ARGV[3] ~= set[1] and ARGV[3] ~= set[2] then return {-1, 0, 0, 0, ARGV[1]} end
if redis.call("get", KEYS[1]) ~= ARGV[1] then return {0, 0, 0, 0, ARGV[1]} end
local number, was = tonumber(ARGV[2]), redis.pcall("get", KEYS[3])
if (tonumber(type(was) == "string" and was) or 0) < number then
  if (tonumber(set[3]) or 0) < number then redis.call("hset", KEYS[2], "gmax", ARGV[2]) end
  local kept = redis.pcall("set", KEYS[3], ARGV[2], "px", 86400000)
  if kept.err then return kept end
end
return {1, number, 0, 0, ARGV[1]}
