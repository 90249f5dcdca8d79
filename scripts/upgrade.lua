local rest = ARGV[1]
-- include upgradable
-- include upgrade
return "1 " .. rest
