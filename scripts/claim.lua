local pass = redis.call("hget", KEYS[2], "pass")
-- include passes
if redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then return "1 0 0 " .. now .. " " .. ARGV[1] end
return "0 0 " .. string.format("%d", redis.call("pttl", KEYS[1])) .. " " .. now .. " " .. ARGV[1]
