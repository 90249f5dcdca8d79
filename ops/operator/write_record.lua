-- Writes fields of the record of one node, for `redlock init`, if the record and the server are those that it has read.
-- KEYS: the record.
-- ARGV: until when, by the node's clock, the write may come; the run id and the fields read below, as they were read; the
-- step of the configuration; then pairs of field and value. An empty value deletes the field, `@` at the beginning of one
-- stands for the run id, the end of a quarantine is a number of milliseconds from now.
-- Answer: 1, or 0 if nothing was written; the node's time; the second argument again.

local r = redis.call("hmget", KEYS[1], "version", "mode", "set", "config", "step", "pass", "prev", "qid", "founding", "done", "floor", "gmax")
local server = redis.pcall("info", "server")
local id = type(server) == "string" and string.match(server, "run_id:(%x+)") or "-"
local time = redis.call("time")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local seen, new, gone = {id}, {}, {}
for i = 1, 10 do seen[i + 1] = r[i] or "" end

-- The number of a step; 0 for none, or for text that is no number.
local function step(text)
  return text and #text <= 15 and tonumber(string.match(text, "^%d+$")) or 0
end

-- The configuration of a set never goes back to an earlier one.
local lower = #(r[4] or "") == 16 and step(r[5]) > step(ARGV[3])
for i = 4, #ARGV, 2 do
  if ARGV[i] == "set" and ARGV[i + 1] ~= r[3] then lower = false end
end
if now > tonumber(ARGV[1]) or table.concat(seen, " ") ~= ARGV[2] or lower then return {0, now, ARGV[2]} end

-- A fencing counter; nil for other text. A counter never falls, whatever the caller has read.
local function counter(text)
  local number = tonumber(string.match(text or "", "^%d+$"))
  return number and number < 2 ^ 53 and number
end
local least = {floor = counter(r[11]) or 0, gmax = counter(r[12]) or 0}

for i = 4, #ARGV, 2 do
  local field, value = ARGV[i], string.gsub(ARGV[i + 1], "^@", id)
  if least[field] and value ~= "" then value = string.format("%d", math.max(least[field], counter(value))) end
  if (field == "quntil" or field == "unseen") and value ~= "" then value = string.format("%d", now + tonumber(value)) end
  if value == "" then
    gone[#gone + 1] = field
  end
  if value ~= "" or field == "floor" or field == "founding" then
    new[#new + 1] = field
    new[#new + 1] = value
  end
end
if #new > 0 then redis.call("hset", KEYS[1], unpack(new)) end
if #gone > 0 then (#new > 0 and redis.pcall or redis.call)("hdel", KEYS[1], unpack(gone)) end
return {1, now, ARGV[2]}
