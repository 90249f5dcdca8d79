-- UPGRADE_FENCED: as UPGRADE, with a fencing token.
--
-- effect: extends, by script alone
-- lost: ask again; a yes does not count while an older request may arrive
-- guard script: name fence record | token ttl pass
-- guarded yes: {1, number, 0, 0, token:text}
-- guarded no: {-1..0, 0, 0, 0, token:text}
-- guarded quarantine: {-2, 0, 0, 0, token:text}
-- guarded uncounted: {-3, 0, 0, 0, token:text}
-- rights: get set pttl pexpire time zscore zcount mget hmget hset

local guard = require("guard")
local numbers = require("numbers")
local shared = require("shared")

local set = guard.read(KEYS.record, ARGV.pass)
if not set then return "-2 0 0 0 " .. ARGV.token end
local floor, most, known = guard.bounds(set)
if not known then return "-3 0 0 0 " .. ARGV.token end
local verdict, is, score, moment, failed = shared.may_upgrade(KEYS.name, ARGV.token)
if failed then return failed end
if verdict < 1 then return verdict .. " 0 0 0 " .. ARGV.token end
local number = numbers.draw_all(2, floor, most)
if type(number) == "table" then return number end
shared.upgrade(KEYS.name, ARGV.token, ARGV.ttl, is, score, moment)
return "1 " .. string.format("%d", number) .. " 0 0 " .. ARGV.token
