-- A shared lock is a sorted set: the tokens, each with the time (server's ms) at which it ends; the key ends with the last.
local clock = require("clock")
local keys = require("keys")

local shared = {}

-- How many share the key, and the first of their tokens; 0 and "": it is no shared lock.
function shared.holders(key, kind, left)
  local count, text = 0, ""
  if kind == "zset" and left >= 0 then
    local now = clock.now_or_nil()
    local moment = now and string.format("%d", now)
    local live = moment and redis.pcall("zcount", key, moment, "+inf")
    local some = moment and redis.pcall("zrevrangebyscore", key, "+inf", moment, "limit", 0, 24)
    local last = moment and redis.pcall("zrevrangebyscore", key, "+inf", moment, "withscores", "limit", 0, 1)[2]
    if type(live) == "number" and last and math.abs(moment + left - last) <= 1000 then count, text = live, string.sub(table.concat(some, " "), 1, 1024) end
  end
  return count, text
end

-- Whether our token may become the only one. Verdict 1, 0: another token is in the key, -1: ours is not; whether the key
-- is a string already, the score of our token, the time, and an error.
function shared.may_upgrade(key, token)
  local score, verdict, moment, failed = redis.pcall("zscore", key, token), 1, 0, nil
  local is = type(score) == "table"
  if is then
    if not string.find(score.err, "WRONGTYPE", 1, true) then
      failed = score
    elseif redis.call("get", key) ~= token then
      verdict = -1
    end
  else
    moment = clock.now()
    if (tonumber(score) or 0) < moment then
      verdict = -1
    elseif redis.call("zcount", key, string.format("%d", moment), "+inf") > 1 then
      verdict = 0
    end
  end
  return verdict, is, score, moment, failed
end

-- Makes the key a string with our token, or lets a string that has it live longer.
function shared.upgrade(key, token, ttl, is, score, moment)
  if is then
    keys.lengthen(key, ttl)
  else
    local longest = math.max(tonumber(ttl), tonumber(score) - moment)
    redis.call("set", key, token, "px", string.format("%d", longest))
  end
end

return shared
