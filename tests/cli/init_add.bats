#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A member that comes (docs/decisions/guard.md#how-records-of-a-guarded-set-are-written), by runs that are disturbed.
load helper
load init_helper

# All that a run writes to the member, or to the new one, waits there until it is killed.
@test "additions, killed anywhere and many at once: the new member votes, and knows the numbers" {
	for ended in noted begun at-once; do
		on_nodes "1 2" flushall
		init 0 1 --max-ttl 1s --fresh
		on_node 1 hset redlock:set gmax 9000000000000
		on_node 1 client pause 60000 write
		"$REDLOCK_BIN" init -q -r "$(urls 1)" --add "$(node_url 2)" --node-timeout 5s 3>&- &
		jobs+=($!)
		until_true is_noted 2
		is_record 1 step 1
		if [ $ended = begun ]; then
			on_node 2 client pause 60000 write
			on_node 1 client unpause
			until_true is_record 1 step 2
		fi
		pids=()
		if [ $ended = at-once ]; then
			for i in 1 2 3 4; do
				"$REDLOCK_BIN" init -q -r "$(urls 1)" --add "$(node_url 2)" 3>&- &
				pids+=($!)
			done
		else
			kill -s KILL "${jobs[-1]}"
			until_true is_gone "${jobs[-1]}"
		fi
		on_nodes "1 2" client unpause
		for pid in "${pids[@]}"; do await "$pid" 0; done
		init 0 1 --add "$(node_url 2)"
		[[ $ended = at-once || $output == *"node 2 $(node_url 2): record written, it votes"* ]]
		[ "$(grep -c "configuration 2.*admitted, fencing known" <<<"$output")" = 2 ]
		[ -z "$(record 2 founding)" ]
		guarded "1 2" -t 1s -n --fence job sh -c '[ "$REDLOCK_FENCE" -gt 9000000000000 ]'
	done
}
