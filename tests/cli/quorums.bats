#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `quorums` in the configuration: each command asks the node set that has its name, also while a set is added.
load helper

setup_file() { start_cluster 9; }

setup() {
	unset REDLOCK_URLS REDLOCK_CLUSTER
	conf=$BATS_TEST_TMPDIR/redlock.conf
	write_config "a b c"
	export REDLOCK_CONFIG=$conf
}

write_config() { # QUORUMS [JOINING]
	local set first=1
	{
		echo "cluster = prod"
		for set in a b c; do
			echo "[cluster $set]"
			printf 'url = %s\n' "$(node_url $((first)))" "$(node_url $((first + 1)))" "$(node_url $((first + 2)))"
			first=$((first + 3))
		done
		echo "[cluster prod]"
		echo "quorums = $1"
		[ -z "${2-}" ] || echo "joining = $2"
	} >"$conf"
}

nodes_of() { # SET
	case $1 in
	a) echo "1 2 3" ;;
	b) echo "4 5 6" ;;
	c) echo "7 8 9" ;;
	esac
}

# The set that has the lock's key, by looking at all nodes.
home_of() { # NAME
	local set found=
	for set in a b c; do
		[ "$(on_node "$(nodes_of "$set" | cut -d' ' -f2)" exists "$1")" = 0 ] || found+=$set
	done
	echo "$found"
}

# The name is held under another configuration. Votes of two sets are split then, which may end as no quorum.
kept_out() { # NAME
	run rl acquire -w 100ms "$1"
	[ "$status" -eq 75 ] || exits 69
}

# one is in a, two in b, and four in c once that is there, before in b.

@test "acquire, check, extend, status, break and release ask the set that has the name" {
	for name in one=a two=b four=c; do
		home=${name#*=} name=${name%=*}
		token=$(rl acquire -n "$name")
		[ "$(home_of "$name")" = "$home" ]
		want 75 rl acquire -n "$name"
		want 0 rl check "$name" "$token"
		want 0 rl extend "$name" "$token"
		want 0 rl status --json "$name"
		json_is 'j["state"] == "held" and len(j["nodes"]) == 3'
		want 0 rl release "$name" "$token"
		until_true has_keys 0 "$(nodes_of "$home")" "$name"
	done
	rl acquire -q -n four >/dev/null
	want 0 rl break --yes four
	want 0 rl status four
	[[ $output == "four: free"* ]]
}

@test "run holds the lock at its set, and what it runs asks the sets of other names" {
	want 0 rl run -n one -- bash -c '"$REDLOCK_BIN" acquire -q -n four'
	[ "$(home_of four)" = c ]
	want 0 rl break --yes four
	want 0 rl run -n --also '{t}:b' '{t}:a' -- true
}

@test "names of different tags are refused together, and so are options that sets exclude" {
	want 64 rl run -n --also bob alice -- true
	says "the names may be in different node sets: use a hash tag, as {job}:a and {job}:b"
	want 64 rl acquire -n --quorum 2 job
	says "--quorum: each node set"
	want 64 rl acquire -n --fence job
	says "fencing tokens need one node set"
	want 0 rl acquire -n --quorum 2 -r "$(node_url 1)" -r "$(node_url 2)" job
	want 0 rl break --yes -r "$(node_url 1)" -r "$(node_url 2)" job
}

@test "commands that are about no name say how to choose a set" {
	for verb in status ls doctor "bench --pairs 1"; do
		# shellcheck disable=SC2086 # a verb and its option
		want 78 rl $verb
		says "names are spread over the node sets a b c, and this is not about one name: give one set: -C a"
	done
	want 0 rl status -C b
	want 0 rl ls -C b
}

@test "config show has the sets" {
	write_config "a b" c
	want 0 rl config show
	[[ $output == *"quorums            = a b"* && $output == *"joining            = c"* ]]
}

@test "while a set joins, a name that moves is locked on both, and neighbouring steps exclude each other" {
	name=four
	write_config "a b"
	token=$(rl acquire -n "$name")
	[ "$(home_of "$name")" = b ]
	write_config "a b" c
	kept_out "$name" # held by a client of the first step
	write_config "a b"
	want 0 rl release "$name" "$token"
	write_config "a b" c
	token=$(rl acquire -n "$name")
	[ "$(home_of "$name")" = bc ]
	want 0 rl check "$name" "$token"
	want 0 rl extend "$name" "$token"
	for step in "a b" "a b c"; do
		write_config "$step"
		kept_out "$name"
	done
	write_config "a b" c
	want 0 rl release "$name" "$token"
	write_config "a b c"
	token=$(rl acquire -n "$name")
	write_config "a b" c
	kept_out "$name"
	# The control: the first step and the last one have no node in common.
	write_config "a b"
	want 0 rl acquire -n "$name"
}

@test "a configuration of sets that is wrong is refused with its line" {
	refused() { # TEXT
		want 78 rl acquire -n job
		says "$1"
	}
	write_config "a b d"
	refused "$conf:15: no section [cluster d]"
	write_config "a b a"
	refused "$conf:15: quorums: [cluster a] is listed twice"
	write_config "a b" "a"
	refused "$conf:16: joining: [cluster a] is listed twice"
	write_config "a" "b c"
	refused "$conf:16: joining: one node set joins at a time"
	write_config "a b" && echo "quorum = 2" >>"$conf"
	refused "$conf:16: quorum: belongs in the sections"
	write_config "a b" && echo "url = redis://127.0.0.1" >>"$conf"
	refused "$conf:16: url: each node set of"
	write_config "a b" && printf '[cluster a]\nprefix = x\n' >>"$conf"
	refused "$conf:17: prefix: \`quorums\` names this section"
	write_config "a b" && printf '[cluster d]\n' >>"$conf" && sed -i 's/quorums = .*/quorums = a d/' "$conf"
	refused "$conf:15: [cluster d] has no url"
	write_config "a b" c && sed -i '/quorums/d' "$conf"
	refused "$conf:15: joining: stands beside"
	write_config "a b" c && echo "guard = require" >>"$conf"
	want 64 rl acquire -n job
	says "a set cannot join guarded node sets"
}

@test "rflock asks the set that has the path" {
	want 0 "$(dirname "$REDLOCK_BIN")/rflock" -n "$BATS_TEST_TMPDIR/file" true
}

@test "a name of another set than the chosen one is told" {
	want 0 rl status -C a one
	[ -z "$stderr" ]
	want 0 rl status -C b one
	says "'one' belongs to node set a: clients of all sets do not look at [cluster b]"
	want 0 rl run -n -C b one true
	says "'one' belongs to node set a"
	want 0 rl status -C prod two
	[ -z "$stderr" ]
	want 0 rl status -C a -r "$(node_url 4)" one
	[ -z "$stderr" ]
	write_config "a b" c
	for set in b c; do
		want 0 rl status -C $set four
		[ -z "$stderr" ]
	done
	want 0 rl status -C c two
	says "belongs to node set b"
	want 0 rl status -C a four
	says "'four' belongs to"
}

@test "a set that is to join guarded sets: the names that move are refused, with the reason" {
	on_nodes "1 2 3 4 5 6 7 8 9" flushall
	rl init -q -C b --fresh --max-ttl 10s
	write_config "a b" c
	want 76 rl run -n -t 10s four true
	says "a set cannot join guarded node sets"
	want 76 rl acquire --json -n -t 10s four
	json_is '"take `joining` away" in j["hint"]'
	want 0 rl run -n -t 10s two true
	rl init -q -C b --plain
	want 0 rl run -n -t 10s four true
}

@test "options beside quorums are also those of each of its sets" {
	printf 'prefix = app:\nttl = 20s\n' >>"$conf"
	rl acquire -q -n one >/dev/null
	home=$(home_of app:one)
	want 0 rl status -C "$home" one
	[[ $output == *"one: held by "* ]]
	want 0 rl ls -C "$home"
	[[ $output == *$'\n'"one "* ]]
	want 0 "$REDLOCK_BIN" config show -C a
	[[ $output == *"prefix"*"= app:"* && $output == *"ttl"*"= 20s"* && $output != *quorums* ]]
	write_config "a b" c
	echo 'prefix = app:' >>"$conf"
	want 0 "$REDLOCK_BIN" config show -C c
	[[ $output == *"= app:"* ]]
	printf '[cluster rest]\nquorums = b c\nprefix = rest:\n' >>"$conf" # which of the two is meant?
	want 0 "$REDLOCK_BIN" config show -C b
	[[ $output != *"= app:"* && $output != *"= rest:"* ]]
	want 0 "$REDLOCK_BIN" config show -C a
	[[ $output == *"= app:"* ]]
	want 0 rl break --yes one
}
