#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The same keys, used by others: redis-cli, and python3-redis, both ways. (More of them: integration_interop.)
load helper

setup_file() {
	start_cluster 3
	single=$(node_url 1)
	export single
}

python_lock() { # VERB NAME [TOKEN]
	/usr/bin/python3 "$BATS_TEST_DIRNAME/python_lock.py" "$(node_dir 1)/redis.sock" "$@"
}

@test "redlock extends and releases what redis-cli took" {
	for node in 1 2 3; do
		[ "$(on_node "$node" set interop-3 cli-token nx px 10000)" = OK ]
	done
	rl check interop-3 cli-token
	rl extend -t 1m interop-3 cli-token
	until_true lives_longer 1 interop-3 50000
	rl release interop-3 cli-token
	until_true has_keys 0 "1 2 3" interop-3
}

@test "python3-redis takes, redlock is kept out until it gives back" {
	token=$(python_lock acquire interop-4)
	want 75 rl acquire -n -r "$single" interop-4
	rl check -r "$single" interop-4 "$token"
	[ "$(python_lock release interop-4 "$token")" = released ]
	want 0 rl acquire -n -r "$single" interop-4
	rl release -r "$single" interop-4 "$output"
}

@test "redlock takes, python3-redis is kept out until it gives back" {
	token=$(rl acquire -r "$single" interop-5)
	[ "$(python_lock acquire interop-5)" = busy ]
	rl release -r "$single" interop-5 "$token"
	other=$(python_lock acquire interop-5)
	[ "$other" != busy ]
	rl release -r "$single" interop-5 "$other"
	until_true has_keys 0 1 interop-5
}

@test "each releases by the other's token, and by no other" {
	token=$(rl acquire -r "$single" interop-6)
	[ "$(python_lock release interop-6 wrong)" = "not owned" ]
	[ "$(python_lock release interop-6 "$token")" = released ]
	token=$(python_lock acquire interop-6)
	want 1 rl release -r "$single" interop-6 wrong
	rl extend -r "$single" -t 2m interop-6 "$token"
	rl release -r "$single" interop-6 "$token"
}

@test "a python3-redis lock without expiry is shown as such" {
	python_lock forever interop-7 >/dev/null
	want 0 rl status -r "$single" interop-7
	[[ $output == *"warning: on 1 node no expiry"* ]]
	on_node 1 del interop-7
}
