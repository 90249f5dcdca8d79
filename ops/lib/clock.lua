-- The server's clock, in ms since 1970.
local clock = {}

-- The time now.
function clock.now()
  local time = redis.call("time")
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The time now; nil if this user may not ask. For use after a change, which an error must not hide.
function clock.now_or_nil()
  local time = redis.pcall("time")
  return time[1] and time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The time if the request wants it, else 0.
function clock.told(timed)
  local time = timed ~= "" and redis.call("time")
  return time and time[1] * 1000 + math.floor(time[2] / 1000) or 0
end

-- As told(), in digits, for an answer that is one text.
function clock.told_as_text(timed)
  local now = "0"
  if timed ~= "" then
    local time = redis.call("time")
    now = string.format("%d", time[1] * 1000 + math.floor(time[2] / 1000))
  end
  return now
end

return clock
