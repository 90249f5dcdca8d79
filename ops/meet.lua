-- MEET: asks a node who it is, and whether it may vote. It begins the quarantine of a process that may have forgotten.
-- `left` is the rest of the quarantine. An admitted node tells with it for how long a lock may still be there that a client
-- took before it saw the record (field `unseen`): until then no quarantine ends.
--
-- The record of a guarded set is a hash without expiry on each node, redlock:set (docs/decisions/guard.md). The verdict
-- is an enum rl_set_verdict; flags say what differs; words are the process's run_id and fields of the record.
--
-- eval: record | record_id record_members record_quorum record_ttl
-- yes: {0..2147483647, left:ms, time:ms, flags, id:text, words:text}
-- rights: hmget hset info time

local r = redis.call("hmget", KEYS.record, "version", "mode", "set", "config", "prev_config", "step", "ttl", "pass", "prev",
  "floor", "gmax", "node", "qrid", "quntil", "qid", "members", "quorum", "prev_members", "prev_quorum", "unseen", "done")
local time = redis.call("time")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not (r[1] or r[2] or r[13]) and ARGV.record_ttl == "" then -- a plain set: a quarter of the time of what follows
  return {0, 0, now, 0, ARGV.record_id, string.rep("- ", 11) .. "-"}
end
local server, links = redis.pcall("info", "server"), redis.pcall("info", "replication")
local id = type(server) == "string" and string.match(server, "run_id:(%x+)") or "-"
links = type(links) == "string" and links or ""
local flags = 0
local function flag(bit, is)
  if is then flags = flags + bit end
end
flag(1, r[16] == ARGV.record_members)
flag(2, r[17] == ARGV.record_quorum)
flag(4, r[18] == ARGV.record_members)
flag(8, r[19] == ARGV.record_quorum)
flag(16, not string.find(links, "role:master", 1, true) or not string.find(links, "connected_slaves:0", 1, true))
flag(32, string.find(links, "master_replid2:0*[1-9a-f]"))
flag(64, id == "-")
flag(128, r[4] and r[4] ~= "" and r[21] == r[4])
local admitted = r[8] and string.match(r[8], "^([^:]*):") or ""
local verdict, left, told = 1, 0, r[15]
local unseen = math.max((tonumber(r[20]) or 0) - now, 0)
local function answer()
  local words = {id, r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], told, r[12]}
  for i = 1, 12 do words[i] = words[i] and words[i] ~= "" and words[i] or "-" end
  return {verdict, left, now, flags, ARGV.record_id, table.concat(words, " ")}
end
if r[2] == "plain" or r[2] == "removed" or r[1] and r[1] ~= "1" then
  verdict = r[2] == "plain" and 2 or r[2] == "removed" and 6 or 5
  return answer()
end
if r[1] and (admitted == id or admitted == "-" or id == "-" and admitted ~= "") then
  left = unseen
  return answer()
end
local ttl = math.max(tonumber(r[7]) or 0, tonumber(ARGV.record_ttl) or 0)
if ttl > 0 then ttl = math.max(ttl, math.ceil(unseen * 4 / 5)) end
local begun = r[13] == id and r[15] and tonumber(r[14])
if ttl == 0 then
  left = begun and begun - now or -10000
  verdict, left, told = left > 0 and 3 or left > -10000 and 4 or 0, math.max(left, 0), nil
  return answer()
end
local whole = ttl + math.max(math.ceil(ttl / 4), 1000) + math.ceil(ttl / 100) + 2
left = begun and begun - now or whole + 1
if left > whole then
  left, told = whole, ARGV.record_id
  redis.call("hset", KEYS.record, "qrid", id, "quntil", string.format("%d", now + whole), "qid", told)
end
verdict = left > 0 and 3 or 4
if left > 0 then told = nil else left = 0 end
return answer()
