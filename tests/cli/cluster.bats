#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The local cluster: start, stop, status; what survives, what is refused, what is left behind.
load helper

setup() { make_sandbox; }

teardown() {
	chmod -R u+rwX "$sandbox"
	stop_cluster
}

cluster() {
	"$REDLOCK_BIN" cluster "$@"
}

servers() {
	sandbox_pids | wc -l
}

@test "start, status, stop" {
	want 0 cluster start
	[ "$(grep -c '^node [1-5]  pid [0-9]*  unix:///.*/redis.sock  up$' <<<"$output")" = 5 ]
	says "REDLOCK_URLS=local"
	urls=$(sed -n "s/.*library: export REDLOCK_URLS='\(.*\)'$/\1/p" <<<"$stderr")
	[ "$(grep -o 'unix:///[^ ]*' <<<"$output" | paste -sd,)" = "$urls" ]
	[ "$(servers)" = 5 ]
	started=$output
	want 0 cluster status
	[ "$output" = "$started" ]
	want 0 cluster status --json
	json_is 'len(j["nodes"]) == 5 and all(n["up"] and n["pid"] > 0 for n in j["nodes"])'
	want 0 cluster stop
	says "ended 5 servers"
	[ "$(servers)" = 0 ]
	[ -z "$(ls -A "$sandbox")" ]
	want 69 cluster status
	[ -z "$output" ]
	says "redlock cluster start"
}

@test "stop without a cluster is well" {
	want 0 cluster stop
	says "no local cluster"
	[ -z "$(ls -A "$sandbox")" ]
}

@test "start again keeps what runs, and starts what is dead" {
	cluster start -q --nodes 3
	one=$(node_pid 1) two=$(node_pid 2)
	want 0 cluster start
	[ "$(node_pid 1) $(node_pid 2)" = "$one $two" ]
	kill_nodes KILL 2
	want 0 cluster status
	[ "$(grep -c ' up$' <<<"$output")" = 2 ]
	[ "$(grep -c '^node 2  pid 0 .* down$' <<<"$output")" = 1 ]
	want 0 cluster start --nodes 3
	[ "$(grep -c ' up$' <<<"$output")" = 3 ]
	[ "$(node_pid 1)" = "$one" ]
	[ "$(node_pid 2)" != "$two" ]
	[ "$(servers)" = 3 ]
}

@test "another number of nodes is refused" {
	cluster start -q --nodes 3
	want 78 cluster start --nodes 5
	says "cluster stop"
	[ "$(servers)" = 3 ]
}

@test "the servers outlive the shell that started them, and keep no pipe open" {
	# With its output left open, this command would not end.
	started=$(setsid bash -c 'exec 7>"$sandbox/open"; "$REDLOCK_BIN" cluster start --nodes 3' 2>/dev/null)
	[ "$(wc -l <<<"$started")" = 3 ]
	want 0 rl acquire -r local -n job
	for node in 1 2 3; do
		pid=$(node_pid "$node")
		# A session of its own, and nothing of the caller's open.
		[ "$(ps -o sid= -p "$pid" | tr -d ' ')" = "$pid" ]
		for fd in 0 1 2; do
			[ "$(readlink "/proc/$pid/fd/$fd")" = /dev/null ]
		done
		run readlink /proc/"$pid"/fd/*
		[[ $output != *"$sandbox/open"* ]]
	done
}

@test "hung servers are seen, and ended" {
	cluster start -q --nodes 3
	kill_nodes STOP 1 2
	want 69 cluster status
	[ "$(grep -c 'not answering$' <<<"$output")" = 2 ]
	want 0 cluster stop
	says "ended 3 servers"
	[ "$(servers)" = 0 ]
}

@test "servers that hang or refuse are told by status, and start does not call them well" {
	cluster start -q --nodes 3
	on_nodes "1 2" config set requirepass secret
	want 69 cluster status
	[ "$(grep -c 'redis.sock  refuses: NOAUTH Authentication required.$' <<<"$output")" = 2 ]
	want 69 cluster status --json
	json_is '[(n["up"], n.get("refusal", "")[:6]) for n in j["nodes"]] == [(False, "NOAUTH")] * 2 + [(True, "")]'
	on_node 1 -a secret --no-auth-warning config set requirepass ''
	kill_nodes STOP 3
	want 69 cluster start
	says "node 2: process $(node_pid 2) was kept: refuses: NOAUTH" "node 3: process $(node_pid 3) was kept: not answering"
	[[ $stderr != *"node 1: "* ]]
	kill_nodes CONT 3
}

@test "stop ends nothing else, whatever the pid file says" {
	cluster start -q --nodes 3
	kill_nodes KILL 2
	sleep 100 3>&- &
	bystander=$!
	echo "$bystander" >"$(node_dir 2)/redis.pid"
	cluster stop -q
	kill -0 "$bystander"
	kill "$bystander"
	[ "$(servers)" = 0 ]
}

@test "a server whose pid file or socket is gone is still ended" {
	cluster start -q --nodes 3
	rm "$(node_dir 1)/redis.pid" "$(node_dir 2)/redis.sock"
	cluster stop -q
	[ "$(servers)" = 0 ]
	[ -z "$(ls -A "$sandbox")" ]
}

@test "starts and stops at the same time do not mix" {
	for _ in 1 2 3 4; do
		cluster start -q --nodes 3 3>&- &
	done
	wait
	[ "$(servers)" = 3 ]
	want 0 cluster status
	[ "$(grep -c ' up$' <<<"$output")" = 3 ]
	for _ in 1 2 3 4 5; do
		cluster stop -q 3>&- &
		cluster start -q --nodes 3 3>&- &
	done
	wait
	cluster stop -q
	[ "$(servers)" = 0 ]
	[ -z "$(ls -A "$sandbox")" ]
}

@test "a directory that others can touch, or a symlink, is refused" {
	mkdir -m 755 "$sandbox/redlock"
	want 78 cluster start
	says "open to other users"
	want 78 rl status -r local
	rmdir "$sandbox/redlock"
	mkdir -m 700 "$sandbox/elsewhere"
	ln -s elsewhere "$sandbox/redlock"
	want 78 cluster start
	says "not a directory"
	[ "$(servers)" = 0 ]
	rm "$sandbox/redlock"
}

@test "without XDG_RUNTIME_DIR: a directory of the user in TMPDIR" {
	unset XDG_RUNTIME_DIR
	export TMPDIR=$sandbox
	cluster start -q --nodes 1
	[ "$(stat -c %a "$sandbox/redlock-$(id -u)")" = 700 ]
	rl status -r local
	cluster stop -q
	[ -z "$(ls -A "$sandbox")" ]
	export XDG_RUNTIME_DIR=$sandbox
}

@test "odd characters in the directory's name" {
	mkdir "$sandbox/a b,%c?\"#@:é"
	export XDG_RUNTIME_DIR="$sandbox/a b,%c?\"#@:é"
	cluster start -q --nodes 3
	token=$(rl acquire -r local job)
	rl release -r local job "$token"
	cluster stop -q
	[ -z "$(ls -A "$XDG_RUNTIME_DIR")" ]
	export XDG_RUNTIME_DIR=$sandbox
}

@test "a directory whose name is too long for sockets is refused" {
	long=$sandbox/$(printf '%090d' 0)
	mkdir "$long"
	XDG_RUNTIME_DIR=$long want 78 cluster start
	says "too long"
}

@test "without redis-server: how to install it, and nothing left" {
	want 78 env PATH=/nowhere "$REDLOCK_BIN" cluster start
	says "apt-get install redis-server"
	[ -z "$(ls -A "$sandbox")" ]
}

@test "a server that does not start says why, and nothing is left" {
	mkdir "$sandbox/bin"
	printf '#!/bin/sh\necho "broken on purpose" >redis.log\nexit 1\n' >"$sandbox/bin/redis-server"
	chmod +x "$sandbox/bin/redis-server"
	want 125 env PATH="$sandbox/bin:$PATH" "$REDLOCK_BIN" cluster start --nodes 3
	says "broken on purpose"
	[ ! -e "$sandbox/redlock" ]
	[ "$(servers)" = 0 ]
}

@test "an interrupted start leaves nothing" {
	mkdir "$sandbox/bin"
	printf '#!/bin/sh\necho started >"%s/started"\nexec sleep 100\n' "$sandbox" >"$sandbox/bin/redis-server"
	chmod +x "$sandbox/bin/redis-server"
	PATH=$sandbox/bin:$PATH "$REDLOCK_BIN" cluster start --nodes 2 3>&- &
	starter=$!
	until_true test -e "$sandbox/started"
	kill -s TERM "$starter"
	await "$starter" 143
	[ ! -e "$sandbox/redlock" ]
	[ "$(servers)" = 0 ]
}

# Without room for one more file, or for one more byte.
@test "a full disk is an error, also where the nodes are guarded and only the note of it is missing" {
	unshare -m true 2>/dev/null || skip "no mount namespace can be made here (unshare -m)"
	want 0 unshare -m bash -c '
		mount -t tmpfs -o mode=0700,size=1m,nr_inodes=100 full "$XDG_RUNTIME_DIR" && cd / || exit
		ends() { # CODE COMMAND...
			"${@:2}" >&2
			code=$?
			[ "$code" = "$1" ] || echo "$code, not $1: ${*:2}"
		}
		fill() { while : >"$XDG_RUNTIME_DIR/$((number += 1))"; do :; done 2>/dev/null; }
		export REDLOCK_URLS=local
		ends 0 "$0" cluster start --nodes 3
		fill
		ends 78 "$0" init -q
		rm "$XDG_RUNTIME_DIR/1"
		ends 0 "$0" init -q
		ends 0 "$0" acquire -n -t 1s job
		ends 0 "$0" cluster stop
		dd if=/dev/zero of="$XDG_RUNTIME_DIR/2" bs=4k 2>/dev/null
		ends 78 "$0" cluster start --nodes 3' "$REDLOCK_BIN"
	[ -z "$output" ]
	says "/redlock/cluster/guard: No space left on device: the nodes have their records, but \`-r local\` does not know" \
		"/redlock/cluster/nodes: No space left on device"
}
