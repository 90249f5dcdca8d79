-- ADMIT: the node's quarantine is over: it may vote again. The question's id names the quarantine that it ends.
--
-- eval: record | record_id record_set record_step record_config record_ttl
--     record_floor record_members record_quorum record_member record_done
-- yes: {1, 0, 0, time:ms, id:text}
-- no: {0, 0, 0, time:ms, id:text}
-- rights: hmget hset hdel info time

local r = redis.call("hmget", KEYS.record, "qrid", "quntil", "qid", "step", "gmax", "pass", "mode")
local server = redis.pcall("info", "server")
local id = type(server) == "string" and string.match(server, "run_id:(%x+)") or "-"
local time = redis.call("time")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local over = r[3] == ARGV.record_id and r[1] == id and (tonumber(r[2]) or math.huge) <= now
if not over or r[7] == "plain" or r[7] == "removed" or (tonumber(r[4]) or 0) > tonumber(ARGV.record_step) then return {0, 0, 0, now, ARGV.record_id} end
local own = tonumber(string.match(r[5] or "", "^%d+$")) or 0
local most = ARGV.record_floor ~= "" and string.format("%d", math.max(tonumber(ARGV.record_floor), own < 2 ^ 53 and own or 0))
local pass = id .. ":" .. ARGV.record_config
if r[6] ~= pass then
  redis.call("hset", KEYS.record, "version", "1", "mode", "guard", "set", ARGV.record_set, "step", ARGV.record_step, "config", ARGV.record_config,
    "ttl", ARGV.record_ttl, "members", ARGV.record_members, "quorum", ARGV.record_quorum, "node", ARGV.record_member, "pass", pass, "done", ARGV.record_done,
    "floor", "")
  redis.pcall("hdel", KEYS.record, "prev", "prev_config", "prev_members", "prev_quorum", "floor")
end
if most and type(redis.pcall("hset", KEYS.record, "gmax", most, "floor", most)) == "number" then
  redis.pcall("hdel", KEYS.record, "qrid", "quntil", "qid")
end
return {1, 0, 0, now, ARGV.record_id}
