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

@test "a new member that is gone for good before the change is finished: what is said leads out" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	init 0 "1 2 3" --add "$(node_url 4)"
	kill_nodes KILL 4
	init 78 "1 2 3 4" --remove "$(node_url 4)" --dead
	says "first run: redlock init --finish"
	init 69 "1 2 3 4" --finish
	says "if it is gone for good, when an empty server has its address"
	guarded "1 2 3" -t 1s -n job true
	"$REDLOCK_BIN" cluster start -q --nodes 5 # node 4 is empty
	init 0 "1 2 3 4" --finish
	kill_nodes KILL 4
	init 0 "1 2 3 4" --remove "$(node_url 4)" --dead
	init 0 "1 2 3" --remove "$(node_url 4)" --finish --dead
	guarded "1 2 3" -t 1s -n --fence job true
}

# shellcheck disable=SC2086 # a verb and a name
@test "status, ls and break say when a list is no longer that of the set" {
	init 0 1 --max-ttl 2s --fresh
	init 0 1 --add "$(node_url 2)"
	"$REDLOCK_BIN" acquire -q --node-timeout 400ms -t 2s -r "$(urls 1)" job >/dev/null
	for verb in "status job" "ls job" "status --json job"; do
		want 0 rl $verb -r "$(urls 1)" # both lists are accepted
		[ -z "$stderr" ]
	done
	init 0 "1 2" --finish
	"$REDLOCK_BIN" acquire -q --node-timeout 400ms -t 2s -r "$(urls 1 2)" job >/dev/null
	for verb in "status job" "ls job" "status --json job"; do
		want 0 rl $verb -r "$(urls 1)"
		says "not the list of nodes of their guarded set" "give this host these nodes: $(urls 1 2)"
		want 0 rl $verb -r "$(urls 1 2)"
		[ -z "$stderr" ]
	done
	want 0 rl break --yes job -r "$(urls 1)"
	says "not the list of nodes of their guarded set"
}
