      while mark and kind == "1r" do
        kind, client, slot, behind = string.match(line, "^(..)(%x+)%.(%d+) [^;]*;()", behind)
        if kind == "1r" then redis.pcall("publish", "redlock:wake:" .. client, slot) end
      end
