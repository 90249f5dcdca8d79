local rest = "0 0 0 " .. ARGV[1]
-- include pass_last
-- include upgradable
-- include upgrade
return "1 " .. rest
