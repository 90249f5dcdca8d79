local rest = "0 0 0 " .. ARGV[1]
-- include pass_last
-- include known
if not known then return "-3 " .. rest end
-- include upgradable
-- include draw_all
local number = draw(2)
if type(number) == "table" then return number end
-- include upgrade
return "1 " .. string.format("%d", number) .. " 0 0 " .. ARGV[1]
