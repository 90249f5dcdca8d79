    local stands = told and not (now and (told <= now or told > now + 60000))
    if stands and not unsure then break end
    local heard = (unsure or not told) and redis.pcall("publish", "redlock:wake:" .. client, turn and slot or "4294967295")
    if type(heard) == "table" then
      mark = not told and now and string.format("0%d", now + 5000)
      if stands or not told then break end
    elseif heard and heard ~= 0 then
      mark = turn and now and now + patience or unsure and ""
-- include readers
      break
    end
