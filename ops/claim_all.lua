-- CLAIM_ALL: makes all keys of several names with the token, or none. A refusal says which name is held, from 1 on.
--
-- A SET of one name after the other would hold some while others are refused: so there is no form without scripts.
--
-- effect: claims
-- lost: leaves a key; undo by release_all; harmful when late
-- waits as: enter_all
-- script: names | token ttl
-- guard script: names record | token ttl pass timed
-- yes: {1, 0, 0, 0, token:text}
-- no: {0, name, pttl:ms, 0, token:text}
-- guarded yes: {1, 0, 0, time:ms, token:text}
-- guarded no: {0, name, pttl:ms, time:ms, token:text}
-- guarded quarantine: {-1, 0, 0, 0, token:text}
-- rights: pttl set del

local clock = require("clock")
local guard = require("guard")
local keys = require("keys")

local now, last = 0, #KEYS
if GUARDED then
  local set = guard.read(KEYS.record, ARGV.pass)
  if not set then return {-1, 0, 0, 0, ARGV.token} end
  now = clock.told(ARGV.timed)
  last = #KEYS - 1
end

local held, left = keys.find_held(1, last)
if held > 0 then return {0, held, left, now, ARGV.token} end
local failed = keys.make(1, last, ARGV.token, ARGV.ttl)
if failed then return failed end
return {1, 0, 0, now, ARGV.token}
