-- SETNX_RELEASE: deletes the key if it is ours, and the one beside it.
--
-- effect: releases
-- lost: ask again; harmful when late with a caller's own value
-- eval: name setnx | token
-- yes: {1, token:text}
-- no: {0, token:text}
-- rights: get time pttl del
-- include setnx

local setnx = require("setnx")

local is = redis.call("get", KEYS.name)
local ours, token = setnx.read(is, KEYS.name, KEYS.setnx, ARGV.token)
if ours then redis.call("del", KEYS.name) end
if token == ARGV.token then redis.pcall("del", KEYS.setnx) end
return {ours and 1 or 0, ARGV.token}
