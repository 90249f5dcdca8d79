-- The queue of a name is a string: an entry for each waiter, in order of arrival, each ended by `;`.
--
--     1w0123456789abcdef.7      1795342681857;
--
-- Version, kind (w: wants the lock alone, r: shares it), place: the client, whose channel is redlock:wake:0123456789abcdef,
-- and its slot, which is the message; if the waiter was notified, until when (this server's time) it goes first, or with
-- a 0 before it, until when it is tried to be notified. Without that an entry has 31 bytes, and only the first one has
-- it: so places are counted by dividing. Entries of other versions and kinds begin so as well: such an entry is dropped
-- when it is the first one, and its client notified.
local clock = require("clock")

local queue = {}

-- How many waiters have so many bytes of a line: their entries are of one length, but for the first one's mark.
function queue.count(size)
  return math.floor(size / 31)
end

-- The entry at this position: version and kind, client, slot, mark, and where the next one begins. Nothing: no entry.
function queue.entry(line, at)
  return string.match(line, "^(..)(%x+)%.(%d+) ([^;]*);()", at)
end

-- Readers that follow one that was notified share the lock with it: notifies each of them, from `at` on. Returns the mark of
-- the first entry, which a reader that could not be notified makes a short one.
function queue.tell_readers(line, at, kind, mark, now)
  while mark and kind == "1r" do
    local client, slot
    kind, client, slot, at = string.match(line, "^(..)(%x+)%.(%d+) [^;]*;()", at)
    local heard = kind == "1r" and redis.pcall("publish", "redlock:wake:" .. client, slot)
    if type(heard) == "table" then mark, kind = now and "0" .. now + 5000 or "", nil end
  end
  return mark
end

-- Notifies the first waiter that it is its turn, or asks it whether it is still there. `told`: until when it goes first,
-- `unsure`: it may not have been notified. Returns whether this one is waited for, and the new
-- mark of its entry; if not, the waiter is gone and the next one comes first.
function queue.tell(line, kind, client, slot, behind, told, unsure, turn, now, patience)
  local stands = told and not (now and (told <= now or told > now + 60000))
  local done, mark = stands and not unsure, nil
  if not done then
    local heard = (unsure or not told) and redis.pcall("publish", "redlock:wake:" .. client, turn and slot or "4294967295")
    if type(heard) == "table" then
      mark = not told and now and string.format("0%d", now + 5000)
      done = stands or not told
    elseif heard and heard ~= 0 then
      mark = turn and now and now + patience or unsure and ""
      mark = queue.tell_readers(line, behind, kind, mark, now)
      done = true
    end
  end
  return done, mark
end

-- Drops the first `at - 1` bytes, and marks the entry that is the first one then.
function queue.cut(line, at, mark)
  if at > 1 then line = string.sub(line, at) end
  if mark then line = string.gsub(line, "^([^;]* )[^ ;]*;", "%1" .. mark .. ";") end
  return line
end

-- Drops waiters that are gone from the front, for a waiter with this place that asks. `free`: there is no key, `open`:
-- readers may have it. Returns the queue, whether that waiter is the first one, and whether it was not notified.
function queue.tidy(line, offers, place, free, open, patience)
  local at, mine, untold, now, mark = 1, false, true, nil, nil
  while at <= #line do
    local kind, client, slot, till, behind = queue.entry(line, at)
    if kind == "1w" or kind == "1r" then
      local turn, told, unsure = free or open and kind == "1r", tonumber(till), string.find(till, "^ *0")
      mine, untold = client .. "." .. slot == place, unsure or not told
      if mine or not (told or open) then break end
      if not now then
        now = clock.now()
      end
      local done
      done, mark = queue.tell(line, kind, client, slot, behind, told, unsure, turn, now, patience)
      if done then break end
    elseif client then
      redis.pcall("publish", "redlock:wake:" .. client, slot)
    end
    if client then redis.pcall("hdel", offers, client .. "." .. slot) end
    at = behind or (string.find(line, ";", at, true) or #line) + 1
  end
  line = queue.cut(line, at, mark)
  return line, mine, untold
end

-- Notifies the first waiter after a release. `free`: there is no key, else readers have it. Returns the queue.
function queue.wake(line, offers, free, patience)
  local at, mark = 1, nil
  local now = clock.now_or_nil()
  while at <= #line do
    local kind, client, slot, till, behind = queue.entry(line, at)
    if kind == "1w" or kind == "1r" then
      local turn, told, unsure = free or kind == "1r", tonumber(till), string.find(till, "^ *0")
      local done
      done, mark = queue.tell(line, kind, client, slot, behind, told, unsure, turn, now, patience)
      if done then break end
    elseif client then
      redis.pcall("publish", "redlock:wake:" .. client, slot)
    end
    if client and offers then redis.pcall("hdel", offers, client .. "." .. slot) end
    at = behind or (string.find(line, ";", at, true) or #line) + 1
  end
  line = queue.cut(line, at, mark)
  return line
end

-- Removes the entry whose kind is at `found`.
function queue.remove(line, found)
  return string.sub(line, 1, found - 2) .. string.sub(line, (string.find(line, ";", found, true) or #line) + 1)
end

-- Removes the entry of a waiter that leaves, of either kind, and its offer.
function queue.leave(line, offers, place)
  local found = string.find(line, "[wr]" .. place .. " ")
  if found then
    if offers then redis.pcall("hdel", offers, place) end
    line = queue.remove(line, found)
  end
  return line
end

-- Removes the first entry and its offer: its waiter has the lock.
function queue.serve(line, offers, place)
  redis.pcall("hdel", offers, place)
  return string.sub(line, string.find(line, ";", 1, true) + 1)
end

-- Appends an entry, or keeps the one that is there; `polls`: it goes first for so long. Returns the queue and the place
-- in it, 1: the first; 0: the request is not for a place.
function queue.stand(line, mine, kind, place, polls)
  local found = mine and 2 or place ~= "" and string.find(line, kind .. place .. " ", 1, true)
  local stands = place ~= "" and queue.count(found or #line) + 1 or 0
  if place ~= "" then
    local mark, ends = "", found and string.find(line, ";", found, true)
    if polls then
      local now = clock.now()
      mark = string.format("%d", now + polls)
    end
    local entry = string.format("1%s%-27s %s;", kind, place, mark)
    line = ends and string.sub(line, 1, found - 2) .. entry .. string.sub(line, ends + 1) or line .. entry
  end
  return line, stands
end

-- Writes a queue that has changed. `call`: redis.call, or redis.pcall after a change that an error must not hide.
function queue.keep(call, key, line, was)
  if line == "" and was ~= "" then
    call("del", key)
  elseif line ~= was then
    call("set", key, line, "px", 60000)
  end
end

return queue
