-- A lock of the old SETNX protocol: the key's value is a time (s), which others compare and write. The key beside it has
-- the time that we wrote, when it was claimed (server's ms; 0: it was extended since), and the token.
local setnx = {}

-- Whether the key with the value `is` is ours; from the key beside it the token and the time that we wrote; the TTL, the
-- time now.
-- A time without an expiry was written by GETSET over ours: that is ours for a second after the claim.
function setnx.read(is, key, beside, wanted)
  local side, time = redis.call("get", beside), redis.call("time")
  local left = redis.call("pttl", key)
  local wrote, since, token = string.match(side or "", "^(%d+) (%d+) (.*)$")
  local ends = tonumber(string.match(is or "", "^%d+%.?%d*$"))
  local ours = token == wanted and is == wrote and left >= 0
  if token == wanted and ends and left == -1 then
    local age = time[1] * 1000 + math.floor(time[2] / 1000) - since
    ours = age >= 0 and age <= 1000 and ends > tonumber(time[1]) and ends <= wrote + 1
  end
  return ours, token, left, time, wrote
end

return setnx
