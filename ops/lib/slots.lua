-- The slots of a name are exclusive keys: the first one is the name itself, then KEYS[base + 1] and so on; KEYS[base] is
-- the key that says how many there are.
local slots = {}

-- Whether holders go by another number of slots than ours: some slot is taken, and the key says another number.
function slots.differ(has, base, most)
  local taken = false
  if has[base] and has[base] ~= most then
    taken = has[1]
    for i = base + 1, #KEYS do taken = taken or has[i] end
    for i = tonumber(most), math.min(tonumber(has[base]) or 0, 64) - 1 do
      taken = taken or redis.call("pttl", string.sub(KEYS[base], 1, -2) .. ":" .. i) ~= -2
    end
  end
  return taken
end

-- Splits the queue: the waiters that want the name alone, who are first in line only if the first slot is free, and the
-- line from the first waiter for any slot on. `whole`: only the first slot is free, so all are in one line.
function slots.split(all, whole)
  local from = whole and 1 or string.find(all, "1w%x+%.0%d+ ") or #all + 1
  return string.sub(all, 1, from - 1), string.sub(all, from)
end

return slots
