-- UPGRADE: turns a shared key into an exclusive one, if no other token is in it.
--
-- 0: another token is in the key; -1: our token is not in it.
--
-- A fenced request draws a number; other requests have no key of a counter.
--
-- effect: extends, by script alone
-- lost: ask again; a yes does not count while an older request may arrive
-- script: name | token ttl
-- guard script: name fences record | token ttl pass
-- yes: {1, token:text}
-- no: {-1..0, token:text}
-- guarded yes: {1, number, 0, 0, token:text}
-- guarded no: {-1..0, 0, 0, 0, token:text}
-- guarded quarantine: {-2, 0, 0, 0, token:text}
-- guarded uncounted: {-3, 0, 0, 0, token:text}
-- rights: get set pttl pexpire time zscore zcount incrby hget hmget hset

local guard = require("guard")
local numbers = require("numbers")
local shared = require("shared")

local rest, floor, most = ARGV.token, nil, nil
if GUARDED then
  rest = "0 0 0 " .. ARGV.token
  local set = guard.read(KEYS.record, ARGV.pass)
  if not set then return "-2 " .. rest end
  if #KEYS > 2 then
    local known
    floor, most, known = guard.bounds(set)
    if not known then return "-3 " .. rest end
  end
end
local verdict, is, score, moment, failed = shared.may_upgrade(KEYS.name, ARGV.token)
if failed then return failed end
if verdict < 1 then return verdict .. " " .. rest end
if GUARDED then
  if most then
    local _, refused, digits = numbers.draw(KEYS[2], KEYS.record, floor, most)
    if refused then return refused end
    rest = digits .. " 0 0 " .. ARGV.token
  end
end
shared.upgrade(KEYS.name, ARGV.token, ARGV.ttl, is, score, moment)
return "1 " .. rest
