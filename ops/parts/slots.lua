if has[base] and has[base] ~= ARGV[3] then
  local taken = has[1]
  for i = base + 1, #KEYS do taken = taken or has[i] end
  for i = slots, math.min(tonumber(has[base]) or 0, 64) - 1 do
    taken = taken or redis.call("pttl", string.sub(KEYS[base], 1, -2) .. ":" .. i) ~= -2
  end
  if taken then return {-3, 0, 0, 0, ARGV[1]} end
end
