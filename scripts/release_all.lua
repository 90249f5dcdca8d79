local names, gone, waits, failed = #KEYS / ARGV[2], 0, false, nil
for i = 1, names do
  local value = redis.pcall("get", KEYS[i])
  if value == ARGV[1] then value = redis.pcall("del", KEYS[i]) else gone = gone + 1 end
  if type(value) == "table" and not string.find(value.err, "WRONGTYPE", 1, true) then failed = value end
end
for i = names + 1, #KEYS do
  local left = redis.pcall("pttl", KEYS[i])
  waits = waits or type(left) == "number" and left ~= -2
end
if failed then return failed end
if gone > 0 then return {waits and -1 or 0, gone, 0, 0, ARGV[1]} end
return {waits and 2 or 1, 0, 0, 0, ARGV[1]}
