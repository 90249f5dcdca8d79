-- ADMIT: the node's quarantine is over: it may vote again. The question's id names the quarantine that it ends.
--
-- eval: record | record_id record_set record_step record_config record_ttl
--     record_floor record_members record_quorum record_member
-- yes: {1, 0, 0, time:ms, id:text}
-- no: {0, 0, 0, time:ms, id:text}
-- rights: hmget hset hdel info time
local r = redis.call("hmget", KEYS[1], "qrid", "quntil", "qid", "step", "gmax", "pass", "mode")
local server = redis.pcall("info", "server")
local id = type(server) == "string" and string.match(server, "run_id:(%x+)") or "-"
local time = redis.call("time")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local over = r[3] == ARGV[1] and r[1] == id and (tonumber(r[2]) or math.huge) <= now
if not over or r[7] == "plain" or r[7] == "removed" or (tonumber(r[4]) or 0) > tonumber(ARGV[3]) then return {0, 0, 0, now, ARGV[1]} end
local own = tonumber(string.match(r[5] or "", "^%d+$")) or 0
local most = ARGV[6] ~= "" and string.format("%d", math.max(tonumber(ARGV[6]), own < 2 ^ 53 and own or 0))
local pass = id .. ":" .. ARGV[4]
if r[6] ~= pass then
  redis.call("hset", KEYS[1], "version", "1", "mode", "guard", "set", ARGV[2], "step", ARGV[3], "config", ARGV[4],
    "ttl", ARGV[5], "members", ARGV[7], "quorum", ARGV[8], "node", ARGV[9], "pass", pass, "floor", "")
  redis.pcall("hdel", KEYS[1], "prev", "prev_config", "prev_members", "prev_quorum", "floor")
end
if most and type(redis.pcall("hset", KEYS[1], "gmax", most, "floor", most)) == "number" then
  redis.pcall("hdel", KEYS[1], "qrid", "quntil", "qid")
end
return {1, 0, 0, now, ARGV[1]}
