#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Many at once on one resource: one at a time, and every one of them gets its turn.
load run_helper

# Reads, waits a moment for others to do the same, and writes. Inside, the lock's file is this run's alone.
cat_and_count='set -e
	mkdir inside
	read -r n <counter
	echo $((n + 1)) >counter
	rmdir inside'

@test "200 runs at once: the counter that they share is exact" {
	echo 0 >counter
	pids=()
	for ((i = 0; i < 200; i++)); do
		env "$mark" setsid "$REDLOCK_BIN" run --node-timeout 2s "$job" -c "$cat_and_count" >>out 2>&1 3>&- &
		pids+=($!)
	done
	failed=0
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=$((failed + 1))
	done
	cat out
	[ "$failed" -eq 0 ]
	# Said after 5 s: the last ones wait longer than that on a slow machine.
	[ "$(grep -cvE "^redlock: (waiting for|acquired) '" out)" = 0 ]
	[ "$(<counter)" -eq 200 ]
	nothing_left
}

busy_are() { # N
	[ "$(grep -c 75 codes)" -eq "$1" ]
}

@test "of eight that do not wait exactly one runs, each time" {
	for round in {1..10}; do
		rm -f answered ran
		: >codes
		pids=()
		for ((i = 0; i < 8; i++)); do
			(
				code=0
				env "$mark" setsid "$REDLOCK_BIN" run -n --node-timeout 2s "$job" \
					-c 'echo x >>ran; until [ -e answered ]; do sleep 0.02; done' 2>/dev/null 3>&- || code=$?
				echo "$code" >>codes
			) 3>&- &
			pids+=($!)
		done
		until_true busy_are 7
		touch answered
		wait "${pids[@]}"
		[ "$(grep -c '^0$' codes)" -eq 1 ]
		[ "$(<ran)" = x ]
	done
	until_true nobody_left
}
