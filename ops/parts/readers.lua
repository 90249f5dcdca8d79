      while mark and kind == "1r" do
        kind, client, slot, behind = string.match(line, "^(..)(%x+)%.(%d+) [^;]*;()", behind)
        local heard = kind == "1r" and redis.pcall("publish", "redlock:wake:" .. client, slot)
        if type(heard) == "table" then mark, kind = now and "0" .. now + 5000 or "", nil end
      end
