-- A client may keep a lock after its release, until a waiter asks for it (docs/decisions/sticky.md). Its tokens begin with
-- the client's digits and `5c`. By chance, other tokens do so too: their clients take no notice.
local kept = {}

-- Asks the client of this value for the lock, on behalf of the first waiter, whose offer this is ("": none). The message
-- is that of a hand-over (hand.lua), with a number that no place has.
function kept.ask(value, waiting, offer, name)
  local client = value and #value <= 169 and #name <= 1024 and string.match(value, "^(%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x)5c[^;]*$")
  if client then
    redis.pcall("publish", "redlock:wake:" .. client, table.concat({"4294967295", 0, value, waiting, offer, name}, ";"))
  end
end

return kept
