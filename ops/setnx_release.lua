-- SETNX_RELEASE: deletes the key if it is ours, and the one beside it.
--
-- effect: releases
-- lost: ask again; harmful when late with a caller's own value
-- eval: name setnx | token
-- yes: {1, token:text}
-- no: {0, token:text}
-- rights: get time pttl del
-- include setnx
if ours then redis.call("del", KEYS[1]) end
if token == ARGV[1] then redis.pcall("del", KEYS[2]) end
return {ours and 1 or 0, ARGV[1]}
