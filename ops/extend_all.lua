-- EXTEND_ALL: lengthens the life of all keys, if each has the token. A refusal says which one has not, from 1 on.
--
-- effect: extends
-- lost: ask again
-- script: names | token ttl
-- guard script: names record | token ttl pass timed
-- yes: {1, 0, 0, 0, token:text}
-- no: {0, name, 0, 0, token:text}
-- guarded yes: {1, 0, 0, time:ms, token:text}
-- guarded no: {0, name, 0, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- rights: get pttl pexpire

local guard = require("guard")
local keys = require("keys")

local now, last = "0", #KEYS
if GUARDED then
  local set
  set, now = guard.open(KEYS.record, ARGV.pass, ARGV.timed)
  if not set then return "-1 0 0 0 " .. ARGV.token end
  last = #KEYS - 1
end

local lost = keys.find_lost(1, last, ARGV.token)
if lost > 0 then return string.format("0 %d 0 ", lost) .. now .. " " .. ARGV.token end
local failed = keys.lengthen_all(1, last, ARGV.ttl)
if failed then return failed end
return "1 0 0 " .. now .. " " .. ARGV.token
