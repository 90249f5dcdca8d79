local guarded = true
-- include pass_last
-- include share
