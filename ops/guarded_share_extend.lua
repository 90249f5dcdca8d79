local guarded, may_turn = true, ARGV[4] == "1"
-- include pass_last
-- include share_extend
