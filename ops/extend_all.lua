-- EXTEND_ALL: lengthens the life of all keys, if each has the token. A refusal says which one has not, from 1 on.
--
-- effect: extends
-- lost: ask again
-- script: names | token ttl
-- guard script guarded_extend_all: names record | token ttl pass timed
-- yes: {1, 0, 0, 0, token:text}
-- no: {0, name, 0, 0, token:text}
-- guarded yes: {1, 0, 0, time:ms, token:text}
-- guarded no: {0, name, 0, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- rights: get pttl pexpire
local names, now = #KEYS, 0
-- include lengthen
return {1, 0, 0, now, ARGV[1]}
