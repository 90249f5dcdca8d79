-- CLAIM_ALL: makes all keys of several names with the token, or none. A refusal says which name is held, from 1 on.
--
-- A SET of one name after the other would hold some while others are refused: so there is no form without scripts.
--
-- effect: claims
-- lost: leaves a key; undo by release_all; harmful when late
-- waits as: enter_all
-- script: names | token ttl
-- guard script guarded_claim_all: names record | token ttl pass timed
-- yes: {1, 0, 0, 0, token:text}
-- no: {0, name, pttl:ms, 0, token:text}
-- guarded yes: {1, 0, 0, time:ms, token:text}
-- guarded no: {0, name, pttl:ms, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- rights: pttl set del
local names, now = #KEYS, 0
-- include take
return {1, 0, 0, now, ARGV[1]}
