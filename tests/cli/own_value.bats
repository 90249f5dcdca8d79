#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A caller's own value that is used again: when the command says that it may be. (What is still on its way when it is:
# integration_own_value.)
load helper

setup() { start_cluster 3; }

@test "the release of a value that may be used again is waited for; of a token of redlock it is not" {
	token=$(rl acquire job)
	kill_nodes STOP 3
	SECONDS=0
	want 0 rl release job "$token"
	[ -z "$stderr" ]
	[ "$SECONDS" -lt 4 ]
	kill_nodes CONT 3
	token=$(rl acquire --compat setnx-safe job)
	kill_nodes STOP 3
	SECONDS=0
	want 0 rl release --compat setnx-safe job "$token"
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

@test "a release that is answered after the node timeout, and waited for, is one" {
	rl acquire --token V job
	until_true has_keys 3 "1 2 3" job
	kill_nodes STOP 2 3
	"$REDLOCK_BIN" release --node-timeout 100ms job V 2>"$sandbox/err" 3>&- &
	release=$!
	sleep 1
	kill_nodes CONT 2 3
	await "$release" 0
	[ ! -s "$sandbox/err" ]
	has_keys 0 "1 2 3" job
	on_nodes "2 3" set job somebody px 60000
	kill_nodes STOP 2 3
	"$REDLOCK_BIN" release --node-timeout 1s job V 2>"$sandbox/err" 3>&- &
	release=$!
	sleep 2
	kill_nodes CONT 2 3
	await "$release" 1
	grep -q "not held by this token: held by 'somebody'" "$sandbox/err"
}

@test "a node that stays silent: after a while it is said that the value must not be used again" {
	rl acquire --token V job
	until_true has_value 3 job V
	kill_nodes STOP 3
	run --separate-stderr rl release --node-timeout 200ms job V
	kill_nodes CONT 3
	exits 0
	says "do not use the value again" "node 3 unix:"
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
