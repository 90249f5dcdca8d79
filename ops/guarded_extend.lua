local pass = redis.call("hget", KEYS[2], "pass")
-- include passes
if redis.call("get", KEYS[1]) ~= ARGV[1] then return "0 0 0 " .. now .. " " .. ARGV[1] end
local left = redis.call("pttl", KEYS[1])
if left >= 0 and left < tonumber(ARGV[2]) then redis.call("pexpire", KEYS[1], ARGV[2]) end
return "1 0 0 " .. now .. " " .. ARGV[1]
