-- UPGRADE: turns a shared key into an exclusive one, if no other token is in it. 0: another is; -1: ours is not.
--
-- effect: extends, by script alone
-- lost: ask again; a yes does not count while an older request may arrive
-- script: name | token ttl
-- guard script guarded_upgrade: name record | token ttl pass
-- yes: {1, token:text}
-- no: {-1..0, token:text}
-- guarded yes: {1, 0, 0, 0, token:text}
-- guarded no: {-1..0, 0, 0, 0, token:text}
-- guarded quarantine: {-2, 0, 0, 0, token:text}
-- rights: get set pttl pexpire time zscore zcount
local rest = ARGV[1]
-- include upgradable
-- include upgrade
return "1 " .. rest
