local guarded = false
-- include share
