-- RELEASE: deletes the key if it has the token. With a queue, it also says whether somebody waits.
--
-- Where the node has a queue for the name, LEAVE follows an answer of 2 or -1 and wakes the first waiter.
--
-- effect: releases
-- lost: ask again; harmful when late with a caller's own value
-- then: leave
-- queue script vacate: name queue | token
-- native: DELEX name IFEQ token
-- native: DELIFEQ name token
-- script: name | token
-- native: WATCH
-- yes: 1..2
-- no: -1..0
-- rights: get del
-- plain rights: watch multi exec getrange del

if redis.call("get", KEYS.name) == ARGV.token then return redis.call("del", KEYS.name) else return 0 end
