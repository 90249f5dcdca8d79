-- SETNX_QUERY: as QUERY, and whether the key is ours (1 or 0), which the node alone can tell.
--
-- effect: looks
-- lost: ask again
-- eval: name setnx | token
-- yes: {type:text, pttl:ms, size, value:text, ours}
-- rights: type get time pttl zcount zrevrangebyscore
local kind = redis.call("type", KEYS[1]).ok
local left = redis.call("pttl", KEYS[1])
if kind ~= "string" then
  local count, text = 0, ""
-- include holders
  return {kind, left, count, text, 0}
end
-- include setnx
return {kind, left, #is, string.sub(is, 1, 1024), ours and 1 or 0}
