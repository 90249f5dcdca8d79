#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Shared locks by the command: who is kept out, what is told, what is refused. (Their steps one by one:
# integration_shared.)
load helper

setup_file() {
	start_cluster 3
}

hold() { # NAME OPTION...: until the test says so
	rl run "${@:2}" "$1" -- sh -c "touch '$sandbox/held-$BASHPID'; until [ -e '$sandbox/end' ]; do sleep 0.05; done" 3>&- &
	holders+=($!)
}

shared_by() { # N NAME
	rl status "$2" | grep -q "^$2: shared by $1 holder"
}

waits_at_its_gate() { # NAME
	local found=0
	for node in 1 2 3; do
		found=$((found + $(on_node "$node" exists "{$1}:redlock:queue")))
	done
	[ "$found" = 1 ]
}

@test "several run at once, one that is not shared waits for all of them" {
	holders=()
	hold job --shared
	hold job --shared
	until_true shared_by 2 job
	want 75 rl run -n job -- touch "$sandbox/wrong"
	[[ $stderr == *"busy: shared by 2 holders (owner "*" of 3 nodes"* ]]
	rl run --shared -n job -- touch "$sandbox/right"
	[ -e "$sandbox/right" ]
	rl status --json job | grep -q '"kind":"shared"'
	rl run -w 20s job -- touch "$sandbox/alone" 3>&- &
	alone=$!
	until_true waits_at_its_gate job
	want 75 rl run --shared -n job -- touch "$sandbox/wrong"
	[[ $stderr == *"busy: shared by 2 holders"*"; a client that waits for an exclusive lock goes first"* ]]
	[ ! -e "$sandbox/alone" ]
	touch "$sandbox/end"
	for pid in "${holders[@]}"; do await "$pid" 0; done
	await "$alone" 0
	[ -e "$sandbox/alone" ] && [ ! -e "$sandbox/wrong" ]
	until_true has_keys 0 "1 2 3" job
}

@test "by token: extend, check and release" {
	token=$(rl acquire --shared k)
	other=$(rl acquire --shared k)
	want 75 rl acquire --shared --token "$token" k
	[[ $stderr == *"acquire 'k': busy: held by this token already"* ]]
	rl extend --shared -t 1m k "$token"
	rl check --shared k "$token"
	want 1 rl check k "$token"
	[[ $stderr == *"check 'k': it shares the lock with this token: use --shared"* ]]
	want 1 rl release k "$other"
	[[ $stderr == *"use --shared"* ]]
	want 1 rl check k "${other/|*/}"
	[[ $stderr == *"not held by this token: shared by 2 holders"* ]]
	rl release --shared k "$token"
	want 1 rl release --shared k "$token"
	rl check --shared k "$other"
	rl release --shared k "$other"
	until_true has_keys 0 "1 2 3" k
}

@test "rflock -s, as flock -s; the last of -s and -x counts" {
	rflock="${REDLOCK_BIN%/*}/rflock" file="$sandbox/file"
	export REDLOCK_URLS=local
	"$rflock" -s "$file" "$rflock" -n -s "$file" true
	want 1 "$rflock" -s "$file" "$rflock" -n "$file" true
	want 1 "$rflock" -s "$file" "$rflock" -n -s -x "$file" true
	want 1 "$rflock" -x "$file" "$rflock" -n -s "$file" true
}

# Since Redis 7 such a user has no channels.
@test "a user that may not publish does not overtake a waiter that may" {
	on_nodes "1 2 3" acl setuser mute reset on '>pw' '~*' +@all
	on_nodes "1 2 3" acl setuser full reset on '>pw' '~*' '&*' +@all
	export REDLOCK_AUTH=pw
	readers=()
	for _ in 1 2 3 4; do
		while [ ! -e "$sandbox/no more" ]; do rl run --user mute --shared crowd -- sleep 0.3; done 3>&- &
		readers+=($!)
		sleep 0.07
	done
	for _ in 1 2 3 4; do want 0 rl run --user full -w 20s crowd -- true; done
	touch "$sandbox/no more"
	for pid in "${readers[@]}"; do await "$pid" 0; done
	on_nodes "1 2 3" acl deluser mute full
}

@test "options that exclude --shared are refused with a sentence" {
	want 64 rl run --shared --also b a -- true
	[[ $stderr == *"--shared and --also exclude each other"* ]]
	want 64 rl acquire --shared --compat setnx a
	[[ $stderr == *"--shared and --compat exclude each other"* ]]
	want 64 rl acquire --shared --fence --guard auto a
	[[ $stderr == *"--shared and --fence exclude each other"* ]]
}

@test "a key of another kind is somebody else's, and stays as it is" {
	on_nodes "1 2 3" zadd ranking 7 somebody
	want 75 rl acquire -n --shared ranking
	[[ $stderr == *"a key of type zset, which is not a known lock"* ]]
	[ "$(on_node 1 zcard ranking)" = 1 ]
	for ends in inf $((EPOCHSECONDS * 1000 + 60000)); do # long after the expiry
		on_nodes "1 2 3" del ranking
		on_nodes "1 2 3" zadd ranking "$ends" somebody
		on_nodes "1 2 3" pexpire ranking 20000
		want 75 rl acquire -n --shared ranking
		[[ $stderr == *"a key of type zset, which is not a known lock"* && $stderr != *"goes first"* ]]
		want 0 rl status ranking
		[[ $output == *"a key of type zset, which is not a known lock"* && $output != *"shared by"* ]]
	done
	on_nodes "1 2 3" del ranking
}

@test "without scripts: 76, and the right that is missing" {
	on_nodes "1 2 3" acl setuser some reset on '>pw' '~*' '&*' +@all -eval -evalsha
	REDLOCK_AUTH=pw want 76 rl acquire -n --user some --shared a
	[[ $stderr == *"eval"* ]]
	on_nodes "1 2 3" acl deluser some
}

@test "where nothing could be written, nothing is said to be left" {
	on_nodes "1 2 3" config set min-replicas-to-write 1
	run --separate-stderr rl run -n --shared nr true
	on_nodes "1 2 3" config set min-replicas-to-write 0
	exits 69
	[[ $stderr != *"may keep the key"* ]] || { echo "$stderr" && return 1; }
}

@test "status says that it does not show the tokens of all who share" {
	for i in {1..27}; do rl acquire -t 10m --shared --owner "$i" crowd >/dev/null; done
	until_true shared_by 27 crowd
	want 0 rl status crowd
	[[ $output == *"  --json shows the tokens of 23 holders, not those of the other 4"* ]] # 1024 bytes
	run --separate-stderr rl status --json crowd
	json_is 'all(n["value_len"] == 27 and n["not_shown"] == 4 for n in j["nodes"])'
	for token in {1..26}; do rl acquire -t 10m --shared --token "$token" values >/dev/null; done
	until_true shared_by 26 values
	run --separate-stderr rl status --json values
	json_is 'all(len(n["value"].split()) == 24 and n["not_shown"] == 2 for n in j["nodes"])' \
		'all(n["tokens"] == n["value"].split() for n in j["nodes"])'
}
