-- EXTEND: lengthens the life of a key that has the token. A key that is gone is not made again.
--
-- effect: extends
-- lost: ask again
-- script: name | token ttl
-- guard script: name record | token ttl pass timed
-- native: WATCH
-- yes: 1
-- no: 0
-- guarded yes: {1, 0, 0, time:ms, token:text}
-- guarded no: {0, 0, 0, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- rights: get pttl pexpire
-- plain rights: watch multi exec getrange pttl pexpire

local clock = require("clock")
local guard = require("guard")
local keys = require("keys")

if GUARDED then
  local admitted = guard.admits(KEYS.record, ARGV.pass)
  if not admitted then return "-1 0 0 0 " .. ARGV.token end
  local now = clock.told_as_text(ARGV.timed)
  if redis.call("get", KEYS.name) ~= ARGV.token then return "0 0 0 " .. now .. " " .. ARGV.token end
  keys.lengthen(KEYS.name, ARGV.ttl)
  return "1 0 0 " .. now .. " " .. ARGV.token
else
  if redis.call("get", KEYS.name) ~= ARGV.token then return 0 end
  keys.lengthen(KEYS.name, ARGV.ttl)
  return 1
end
