-- SHARE_QUERY: as QUERY, and whether our token is among the holders (1 or 0).
--
-- effect: looks, by script alone
-- lost: ask again
-- script: name | token
-- yes: {type:text, pttl:ms, size, value:text, ours}
-- rights: type get pttl time zcount zrevrangebyscore zscore
local kind, count, text = redis.call("type", KEYS[1]).ok, 0, ""
local left = redis.call("pttl", KEYS[1])
if kind == "string" then
  local is = redis.call("get", KEYS[1])
  return {kind, left, #is, string.sub(is, 1, 1024), is == ARGV[1] and 1 or 0}
end
-- include holders
local score = kind == "zset" and tonumber(redis.call("zscore", KEYS[1], ARGV[1]) or "")
local clock = redis.call("time")
local ours = score and score >= clock[1] * 1000 + math.floor(clock[2] / 1000)
return {kind, left, count, text, ours and 1 or 0}
