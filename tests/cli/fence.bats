#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --fence: a number that only rises, for the command and for programs; -n and nodes in quarantine.
load helper

setup_file() {
	start_cluster 3
	make_guarded 5000 1000
}

# As `redlock init` does it.
make_guarded() { # MAX_TTL_MS FLOOR
	local node members=""
	for node in 1 2 3; do
		members+="unix:$(node_dir "$node")/redis.sock/0 "
	done
	for node in 1 2 3; do
		on_node "$node" hset redlock:set version 1 mode guard set 00112233445566aa step 1 \
			config 8899aabbccddeeff ttl "$1" quorum 2 members "${members% }" floor "$2" gmax "$2" \
			node "unix:$(node_dir "$node")/redis.sock/0" \
			pass "$(on_node "$node" info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p'):8899aabbccddeeff"
	done
}

# As if the nodes had been restarted and had forgotten everything.
forget() { # "N..."
	on_nodes "$1" hset redlock:set pass gone:8899aabbccddeeff
}

rl_fenced() { # VERB ...
	rl "$1" --guard=require --fence -t 5s "${@:2}"
}

@test "with a user, whose rights are asked for, nothing is said" {
	on_nodes "1 2 3" acl setuser fencer on '>pw' '~*' '&*' +@all
	want 0 env REDLOCK_AUTH=pw "$REDLOCK_BIN" run --node-timeout 2s --user fencer --guard=require --fence -t 5s asked -- true
	[ -z "$stderr" ]
}

@test "the command sees the number, and each run has a higher one" {
	want 0 rl_fenced run job -c 'echo "$REDLOCK_FENCE"'
	first=$output
	[ "$first" -gt 1000 ]
	want 0 rl_fenced run job -c 'echo "$REDLOCK_FENCE"'
	[ "$output" -gt "$first" ]
	export REDLOCK_FENCE=$first # of an outer run: it is not that of this lock
	want 0 rl run --guard=require -t 5s other -c 'echo "${REDLOCK_FENCE-none}"'
	[ "$output" = none ]
	want 0 rl_fenced run --report-fd 3 job true 3>"$sandbox/report"
	output=$(cat "$sandbox/report") json_is "j['fence'] > $first"
}

@test "several names have one number, above those of each" {
	want 0 rl_fenced run other -c 'echo "$REDLOCK_FENCE"'
	want 0 rl_fenced run other -c 'echo "$REDLOCK_FENCE"'
	first=$output
	want 0 rl_fenced run --also other job -c 'echo "$REDLOCK_FENCE"'
	[ "$output" -gt "$first" ]
	first=$output
	for name in other job; do
		want 0 rl_fenced run "$name" -c 'echo "$REDLOCK_FENCE"'
		[ "$output" -gt "$first" ]
	done
}

@test "shared locks of a guarded set have no number" {
	want 0 rl acquire --guard=require -t 5s --shared job4
	first=$output
	want 0 rl acquire --guard=require -t 5s --shared job4
	second=$output
	want 75 rl_fenced run -n job4 true
	says "shared by 2 holders"
	want 64 rl_fenced acquire --shared job4
	says "--shared and --fence exclude each other"
	rl release --shared job4 "$first"
	rl release --shared job4 "$second"
	want 0 rl_fenced run job4 true
}

@test "acquire prints it after the token, --json has it" {
	want 0 rl_fenced acquire job
	read -r token number <<<"$output"
	[[ $number =~ ^[0-9]+$ ]]
	both=$output
	for verb in check extend release; do
		want 1 rl "$verb" job "$both"
		says 'a number follows the token: give the token alone, ${T%% *} in a shell'
	done
	rl release job "${both%% *}"
	[ "${both%% *}" = "$token" ]
	want 0 rl_fenced acquire --json job
	json_is "j['fence'] > $number"
	rl release job "$(json_is "print(j['token'])" | head -n 1)"
	want 0 rl acquire -t 5s --guard=require --json plain
	json_is "j['fence'] is None"
}

all_know() { # NUMBER: the counters of job2
	local node
	for node in 1 2 3; do
		[ "$(on_node $node get '{job2}:redlock:fence')" = "$1" ] || return
	done
}

@test "status tells the last number" {
	want 0 rl status job2
	[[ $output != *number* ]]
	want 0 rl_fenced acquire -v --node-timeout 1500ms job2 # -v: it waits for the last node
	read -r token number <<<"$output"
	until_true all_know "$number"
	want 0 rl status job2
	[[ $output == *"the last fencing number: $number"* ]]
	on_node 1 set '{job2}:redlock:fence' 999999999
	want 0 rl status --json job2
	json_is "j['fence'] == $number and [n['fence'] for n in j['nodes']] == [999999999, $number, $number]"
	rl release job2 "$token"
	want 0 rl status --json job3
	json_is "j['fence'] is None and j['nodes'][0]['fence'] is None"
}

@test "without counters there is no lock, and a sentence that says why" {
	want 64 rl acquire --guard=off --fence job
	says "--fence needs a guarded node set"
	want 64 rl_fenced acquire --token mine job
	says "--fence and --token exclude each other"
	on_nodes "1 2" hdel redlock:set floor
	want 69 rl_fenced run -n job -c 'echo ran'
	[ -z "$output" ]
	on_nodes "1 2" hset redlock:set floor 2000
}

@test "a quarantine is waited for, also with -n, unless -w is shorter" {
	forget "1 2"
	want 69 rl run --guard=require -t 5s -w 200ms job -c 'echo ran'
	[ -z "$output" ]
	begin=$(date +%s%N)
	want 0 rl run --guard=require -t 5s -n job -c 'echo ran'
	waited=$((($(date +%s%N) - begin) / 1000000))
	[ "$waited" -ge 3000 ]
	[ "$output" = ran ]
	says "until then, nodes that may have forgotten locks do not vote (--guard); it goes on by itself then, also with -n"
	[ "$(grep redlock <<<"$stderr" | grep -cv ' degraded: ')" -eq 1 ]
	want 69 rl_fenced run -n job true # a majority has forgotten its counters
	says "no fencing numbers"
}

@test "one node that has forgotten has its counters again from the others" {
	make_guarded 2000 3000
	want 0 rl run --guard=require --fence -t 2s --node-timeout 500ms job -c 'echo "$REDLOCK_FENCE"'
	first=$output
	forget 2
	until_true is_counting 2
	kill_nodes STOP 1
	want 0 rl run --guard=require --fence -t 2s --node-timeout 500ms -w 10s job -c 'echo "$REDLOCK_FENCE"'
	kill_nodes CONT 1
	[ "$output" -gt "$first" ]
}

is_counting() { # N: it was admitted with counters; each run meets it
	rl run --guard=require --fence -t 2s --node-timeout 500ms job true
	[ -n "$(on_node "$1" hget redlock:set floor)" ] && ! on_node "$1" hget redlock:set pass | grep -q gone
}
