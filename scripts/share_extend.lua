local guarded, may_turn = false, ARGV[#ARGV] == "1"
-- include share_extend
