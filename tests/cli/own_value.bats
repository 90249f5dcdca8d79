#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A caller's own value that is used again, by one process after the other: what the first one left on its way must
# not delete the key of the second.
# shellcheck disable=SC2154,SC2034 # helper.bash and bats share variables
load helper

setup() {
	start_cluster 3
	hold=$sandbox/hold
	for node in 1 2; do
		/usr/bin/python3 "$BATS_TEST_DIRNAME/hold_relay.py" "$sandbox/relay-$node" "$(node_dir "$node")/redis.sock" "$hold" \
			>"$sandbox/relay-$node.out" 3>&- &
		relays[node]=$!
		until_true grep -q ready "$sandbox/relay-$node.out"
	done
	far="unix://$sandbox/relay-1,unix://$sandbox/relay-2,$(node_url 3)"
}

teardown() {
	for relay in "${relays[@]}"; do
		kill "$relay"
	done
	stop_cluster
}

# What was held back arrives; somebody else still does not get the lock.
still_excluded() {
	rm "$hold"
	sleep 0.3
	want 75 rl acquire -n job
	rl check job V
}

@test "the second try has the lock, the requests of the first one come late" {
	touch "$hold"
	want 69 rl acquire -r "$far" --node-timeout 300ms --token V job
	want 0 rl acquire --token V -t 1m job
	still_excluded
}

@test "the value is in use: the second try leaves its key where it is" {
	rl acquire --token V -t 1m job
	touch "$hold"
	want 69 rl acquire -r "$far" --node-timeout 300ms --token V job
	still_excluded
}

@test "the release of a value that may be used again is waited for; of a token of redlock it is not" {
	token=$(rl acquire job)
	kill_nodes STOP 3
	SECONDS=0
	want 0 rl release job "$token"
	[ -z "$stderr" ]
	[ "$SECONDS" -lt 4 ]
	kill_nodes CONT 3
	rl acquire --token V job
	until_true has_value 3 job V
	kill_nodes STOP 3
	rl release job V 2>"$sandbox/err" 3>&- &
	release=$!
	until_true has_keys 0 "1 2" job
	sleep 1
	run ! is_gone "$release"
	kill_nodes CONT 3
	await "$release" 0
	[ ! -s "$sandbox/err" ]
	has_keys 0 "1 2 3" job
}

@test "a node that stays silent: after a while it is said that the value must not be used again" {
	rl acquire --token V job
	until_true has_value 3 job V
	kill_nodes STOP 3
	run --separate-stderr rl release --node-timeout 200ms job V
	kill_nodes CONT 3
	exits 0
	says "do not use the value again"
	says "node 3 unix:"
	[ "$(grep -c warning <<<"$stderr")" = 1 ]
}

@test "nodes that cannot be reached, or that refuse the user, are not waited for, and the value can be used again" {
	on_node 2 config set requirepass secret
	dead=$(node_url 1),$(node_url 3),unix://$sandbox/nobody
	for urls in "$dead" "$(node_url 1),$(node_url 2),$(node_url 3)"; do
		rl acquire -r "$urls" --token V job
		SECONDS=0
		want 0 rl release -r "$urls" job V
		[ -z "$stderr" ]
		[ "$SECONDS" -lt 5 ]
	done
	want 1 rl release -v -r "$dead" job V
	says "which keeps nobody out"
}
