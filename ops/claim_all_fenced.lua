-- CLAIM_ALL_FENCED: as CLAIM_ALL, with a fencing token that is the next number for each of the names.
--
-- effect: claims
-- lost: leaves a key; undo by release_all; harmful when late
-- waits as: enter_all
-- guard script: names fences record | token ttl pass timed
-- guarded yes: {1, number, 0, time:ms, token:text}
-- guarded no: {0, name, pttl:ms, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- guarded uncounted: {-2, 0, 0, time:ms, token:text}
-- rights: hmget hset mget pttl set del time
-- include admitted
local names = (#KEYS - 1) / 2
-- include known
if not known then return {-2, 0, 0, now, ARGV[1]} end
-- include draw_all
-- include take
local number = draw(names + 1)
if type(number) == "number" then return {1, number, 0, now, ARGV[1]} end
for i = 1, names do redis.pcall("del", KEYS[i]) end
return number
