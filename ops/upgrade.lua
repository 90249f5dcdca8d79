-- UPGRADE: turns a shared key into an exclusive one, if no other token is in it. 0: another is; -1: ours is not.
--
-- effect: extends, by script alone
-- lost: ask again; a yes does not count while an older request may arrive
-- script: name | token ttl
-- guard script: name record | token ttl pass
-- yes: {1, token:text}
-- no: {-1..0, token:text}
-- guarded yes: {1, 0, 0, 0, token:text}
-- guarded no: {-1..0, 0, 0, 0, token:text}
-- guarded quarantine: {-2, 0, 0, 0, token:text}
-- rights: get set pttl pexpire time zscore zcount

local guard = require("guard")
local shared = require("shared")

local rest = ARGV.token
if GUARDED then
  local set = guard.read(KEYS.record, ARGV.pass)
  if not set then return "-2 0 0 0 " .. ARGV.token end
  rest = "0 0 0 " .. ARGV.token
end
local verdict, is, score, moment, failed = shared.may_upgrade(KEYS.name, ARGV.token)
if failed then return failed end
if verdict < 1 then return verdict .. " " .. rest end
shared.upgrade(KEYS.name, ARGV.token, ARGV.ttl, is, score, moment)
return "1 " .. rest
