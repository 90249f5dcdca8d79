-- Writes fields of one node's record for `redlock init`, unless the record or the server process has changed since init
-- read them.
-- KEYS: the record.
-- ARGV: 1: the latest time, by the node's clock, at which the write is allowed; 2: the run id and the compared fields, as
-- init read them; 3: the names of these fields; 4: the step of the configuration; from 5 on: pairs of field and value. An
-- empty value deletes the field. `@` at the beginning of a value stands for the run id. `quntil` and `unseen` are given in
-- milliseconds from now.
-- Answer: 1, or 0 if nothing was written; the node's time; the second argument again.

local quoted = {}
for field in string.gmatch(ARGV[3], "%S+") do quoted[#quoted + 1] = field end
local texts = redis.call("hmget", KEYS[1], "floor", "gmax", unpack(quoted))
local server = redis.pcall("info", "server")
local id = type(server) == "string" and string.match(server, "run_id:(%x+)") or "-"
local time = redis.call("time")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record, seen, new, gone = {}, {id}, {}, {}
for i, field in ipairs(quoted) do
  record[field] = texts[i + 2] or ""
  seen[i + 1] = record[field]
end

-- The number of a step; 0 for none, or for text that is no number.
local function step(text)
  return text and #text <= 15 and tonumber(string.match(text, "^%d+$")) or 0
end

-- A set never returns to an earlier configuration. A damaged record, or one of another set, may be replaced.
local lower = #record.config == 16 and step(record.step) > step(ARGV[4])
for i = 5, #ARGV, 2 do
  if ARGV[i] == "set" and ARGV[i + 1] ~= record.set then lower = false end
end
if now > tonumber(ARGV[1]) or table.concat(seen, " ") ~= ARGV[2] or lower then return {0, now, ARGV[2]} end

-- A fencing counter; nil for other text. A counter never falls, whatever the caller has read.
local function counter(text)
  local number = tonumber(string.match(text or "", "^%d+$"))
  return number and number < 2 ^ 53 and number
end
local least = {floor = counter(texts[1]) or 0, gmax = counter(texts[2]) or 0}

for i = 5, #ARGV, 2 do
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
