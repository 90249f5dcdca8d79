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
local rest = "0 0 0 " .. ARGV[1]
-- include pass_last
-- include known
if not known then return "-3 " .. rest end
-- include upgradable
-- include draw_all
local number = draw(2)
if type(number) == "table" then return number end
-- include upgrade
return "1 " .. string.format("%d", number) .. " 0 0 " .. ARGV[1]
