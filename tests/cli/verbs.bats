#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# acquire, extend, release, check on five servers that are well. Locks have long TTLs: each command is a process, and a
# busy machine may take a minute for a test.
load helper

setup_file() { start_cluster 5; }

@test "acquire prints the token alone, check and release take it" {
	want 0 rl acquire -t 5m verbs-1
	[[ $output =~ ^[0-9a-f]{40}\|[A-Za-z0-9._:@/+-]+$ ]]
	[ -z "$stderr" ]
	token=$output
	until_true has_value 1 verbs-1 "$token"
	want 0 rl check verbs-1 "$token"
	[ -z "$output$stderr" ]
	want 1 rl check verbs-1 "${token/|*/}"
	want 0 rl release verbs-1 "$token"
	[ -z "$output$stderr" ]
	until_true has_keys 0 "$all" verbs-1
	want 1 rl check verbs-1 "$token"
	says "not held by this token: nobody holds it"
	want 1 rl release verbs-1 "$token"
}

@test "a busy lock: -n, -w, -E, the waiting time" {
	token=$(rl acquire -t 5m verbs-2)
	want 75 rl acquire -n verbs-2
	[ -z "$output" ]
	says "busy: held by $HOSTNAME:"
	want 75 rl acquire -n -q verbs-2
	[ -z "$output$stderr" ]
	want 9 rl acquire -n -E 9 verbs-2
	[ -z "$output" ]
	want 42 rl acquire -w 0 -E 42 verbs-2
	begin=$(date +%s%N)
	want 75 rl acquire -w 700ms verbs-2
	waited=$((($(date +%s%N) - begin) / 1000000))
	[ "$waited" -ge 500 ] # a last try before the end, none after it
	rl release verbs-2 "$token"
}

@test "a waiter gets the lock when it is released, and when it expires" {
	token=$(rl acquire -t 5m verbs-3)
	rl acquire -w 20s verbs-3 >"$sandbox/waiter" 3>&- &
	waiter=$!
	sleep 0.4
	[ ! -s "$sandbox/waiter" ]
	rl release verbs-3 "$token"
	await "$waiter" 0
	rl release verbs-3 "$(cat "$sandbox/waiter")"

	on_nodes "$all" set verbs-3 somebody px 700
	want 0 rl acquire verbs-3
	rl release verbs-3 "$output"
}

@test "the TTL is the one asked for, and extend never shortens" {
	token=$(rl acquire -t 1m verbs-4)
	until_true lives_longer 3 verbs-4 30000
	[ "$(on_node 3 pttl verbs-4)" -le 60000 ]
	want 0 rl extend verbs-4 "$token" -t 1h
	[ -z "$output$stderr" ]
	until_true lives_longer 3 verbs-4 3500000
	rl extend -t 10s verbs-4 "$token"
	until_true lives_longer 3 verbs-4 3500000
	rl release verbs-4 "$token"
	want 1 rl extend verbs-4 "$token"
	until_true has_keys 0 "$all" verbs-4
}

@test "extend, release and check by another token do nothing" {
	token=$(rl acquire -t 5m verbs-5)
	for verb in extend release check; do
		want 1 rl "$verb" verbs-5 0123456789012345678901234567890123456789
	done
	want 0 rl check verbs-5 "$token"
	until_true has_keys 5 "$all" verbs-5
	rl release verbs-5 "$token"
}

@test "the caller's own token, one try" {
	want 0 rl acquire -t 5m --token 'my own value' verbs-6
	[ "$output" = 'my own value' ]
	until_true has_value 2 verbs-6 'my own value'
	want 75 rl acquire --token other verbs-6
	rl release verbs-6 'my own value'
	until_true has_keys 0 "$all" verbs-6
}

@test "the owner label" {
	token=$(rl acquire --owner web-1:job/7 verbs-7)
	[[ $token == *"|web-1:job/7" ]]
	rl release verbs-7 "$token"
	token=$(rl acquire --owner '' verbs-7)
	[[ $token =~ ^[0-9a-f]{40}$ ]]
	rl release verbs-7 "$token"
}

@test "options may follow the names, and -- ends them" {
	token=$(rl acquire verbs-8 -t 40s -n)
	rl release verbs-8 -v "$token" 2>/dev/null
	token=$(rl acquire -n -- -verbs-8)
	until_true has_keys 5 "$all" -verbs-8
	rl release -- -verbs-8 "$token"
}

@test "-v shows every node's vote and the validity on stderr" {
	want 0 rl acquire -v -t 1000s verbs-9
	token=$output
	[[ $token =~ ^[0-9a-f]{40} ]]
	[ "$(grep -c '^redlock: node [1-5] unix://' <<<"$stderr")" = 5 ]
	says "valid for 98"
	run --separate-stderr rl extend -v -t 1000s verbs-9 "$token"
	says "valid for 98"
	want 0 rl release -v verbs-9 "$token"
	says "confirmed by 5 of 5 nodes"
}

@test "--trace shows transitions without name and token" {
	want 0 rl acquire --trace verbs-10-secret-name
	says "trace:"
	[[ $stderr != *verbs-10* ]]
	[[ $stderr != *"${output/|*/}"* ]]
	rl release verbs-10-secret-name "$output"
}

@test "the holder is named instead, in one line and in JSON" {
	token=$(rl acquire -t 5m --owner web-1:42 verbs-15)
	until_true has_keys 5 "$all" verbs-15
	held="held by web-1:42 on (at least [34]|5) of 5 nodes," # the slowest are not waited for
	named() { # CODE TEXT COMMAND...: all that stderr says
		want "$1" "${@:3}"
		[[ $stderr =~ ^redlock:\ $2\ its\ key\ expires\ in\ [0-9]+\.[0-9]\ s$ && $stderr != *" or "* ]] ||
			{ echo "$stderr" && return 1; }
	}
	named 75 "acquire 'verbs-15': busy: $held" rl acquire -n verbs-15
	named 75 "acquire 'verbs-15': busy: $held for [0-9]+.[0-9] s at least," rl acquire -w 500ms verbs-15
	named 75 "run 'verbs-15': busy: $held" rl run -n verbs-15 -- true
	named 75 "run 'verbs-15': busy: $held for [0-9]+.[0-9] s at least," rl run -w 1s verbs-15 -- true
	for verb in check extend release; do
		named 1 "$verb 'verbs-15': not held by this token: $held" rl "$verb" verbs-15 wrong
		run --separate-stderr rl "$verb" --json verbs-15 wrong
		json_is 'j["result"] == "GONE" and j["holder"]["state"] == "held" and j["holder"]["owner"] == "web-1:42"'
		json_is 'j["holder"]["held_on"] >= 3 and 30000 < j["holder"]["pttl_ms"] <= 300000 and j.get("confirmed", 0) == 0'
		run --separate-stderr rl "$verb" -v verbs-15 wrong
		[ "$(grep -c ': no: somebody else has the key (' <<<"$stderr")" -ge 3 ]
	done
	run --separate-stderr rl acquire -n --json verbs-15
	json_is 'j["holder"]["who"] == "web-1:42" and j["holder"]["kind"] == "token" and not j["holder"]["blocks_for_ever"]'
	rl run -w 1s --report-fd 3 verbs-15 -- true 3>"$sandbox/report" 2>/dev/null || true
	output=$(<"$sandbox/report")
	json_is 'j["result"] == "BUSY" and j["holder"]["owner"] == "web-1:42" and 0 < j["holder"]["held_for_ms"] < 30000'
	run --separate-stderr rl run -n -E 0 verbs-15 -- true
	[ -z "$stderr" ]
	on_nodes "1 2 3" del verbs-15
	run --separate-stderr rl check verbs-15 "$token"
	[[ $stderr =~ "nobody holds it"|"it is on "[12]" of the "[345]" nodes that answered, 3 are needed" ]]
	run --separate-stderr rl release --json verbs-15 "$token"
	json_is 'j["result"] == "GONE" and j["confirmed"] == sum(n["vote"] == "YES" for n in j["nodes"])'
	json_is 'j["confirmed"] <= 2 and j["holder"]["state"] == "free"' # three decide, the slowest are not waited for
}

@test "a split vote is called that, an endless key too" {
	on_nodes "1 2" set verbs-16 alice px 60000
	on_nodes "3 4" set verbs-16 bob px 60000
	on_nodes 5 set verbs-16 carol px 600000 # a quorum is free before that
	want 75 rl acquire -n verbs-16
	[[ $stderr =~ "busy: split: "[23]" different holders, none on a quorum" ]]
	[[ $stderr =~ "it resolves by retries, or by TTL in "[1-6][0-9]?\.[0-9]" s"(" at the earliest")?"; if they are dead: \`redlock break NAME\`" ]]
	on_nodes 5 del verbs-16
	on_nodes "1 2 3 4" persist verbs-16
	want 75 rl acquire -n verbs-16
	says "it resolves by retries, and not by TTL, as keys have no expiry; if they are dead: \`redlock break NAME\`"
	on_nodes "1 2" set verbs-16 bob
	run --separate-stderr rl acquire -n verbs-16
	[[ $stderr == *"busy: held by 'bob' of another client on "*[34]" of 5 nodes, its key has no expiry; if its holder is gone: \`redlock break NAME\`"* ]]
	run --separate-stderr rl acquire -n --token bob verbs-16
	says "busy: held by this token already"
	on_nodes "1 2 3 4" del verbs-16
	on_nodes "1 2 3 4" rpush verbs-16 x
	want 75 rl acquire -n verbs-16
	says "its key has no expiry; if nobody needs it: \`redlock break NAME\`"
	on_nodes "1 2 3 4" del verbs-16
}

@test "a key without expiry is no busy lock that -E makes a success of" {
	local option
	on_nodes "$all" set endless foreign
	for option in "-n -E 0 --once-per 20h" "-n -E 5" "-w 100ms -E 0"; do
		# shellcheck disable=SC2086 # several words
		want 75 rl run $option endless -- true
		says "run 'endless': busy: held by 'foreign' of another client on " "its key has no expiry; if its holder is gone: \`redlock break NAME\`"
	done
	want 75 rl run -q -n -E 0 endless -- true
	[ -z "$stderr" ]
	want 75 rl acquire -q -n -E 5 endless
	on_nodes "$all" set endless foreign px 60000
	want 0 rl run -n -E 0 endless -- true
	[ -z "$stderr" ]
	want 5 rl acquire -q -n -E 5 endless
	on_nodes "$all" set endless $(($(date +%s) + 60)) # of the old SETNX protocol: it ends by itself
	want 0 rl run -n -E 0 endless -- true
	[ -z "$stderr" ]
	on_nodes "$all" set endless $(($(date +%s) - 60))
	want 75 rl run -n -E 0 endless -- true
	on_nodes "$all" del endless
}

@test "--json of all verbs, granted and refused" {
	want 0 rl acquire --json -t 200s verbs-11
	json_is 'j["verb"] == "acquire" and j["name"] == "verbs-11" and j["result"] == "OK"'
	json_is 'len(j["token"]) >= 40 and j["ttl_ms"] == 200000 and 0 < j["validity_ms"] < 200000 and j["quorum"] == 3'
	json_is '[n["node"] for n in j["nodes"]] == [1, 2, 3, 4, 5]' 'sum(n["vote"] == "YES" for n in j["nodes"]) >= 3'
	json_is 'all(set(n) == {"node", "url", "vote", "rtt_us", "detail"} for n in j["nodes"])'
	json_is 'all(n["url"].startswith("unix:///") for n in j["nodes"])'
	json_is 'all(n["rtt_us"] > 0 for n in j["nodes"] if n["vote"] == "YES")'
	token=$(/usr/bin/python3 -c 'import json, sys; print(json.loads(sys.argv[1])["token"])' "$output")

	want 75 rl acquire --json -n verbs-11
	json_is 'j["result"] == "BUSY" and j["token"] is None and j["validity_ms"] == 0'
	want 0 rl check --json verbs-11 "$token"
	json_is 'j["verb"] == "check" and j["result"] == "OK"'
	want 0 rl extend --json -t 2000s verbs-11 "$token"
	json_is 'j["verb"] == "extend" and j["result"] == "OK" and j["validity_ms"] > 200000'
	want 0 rl release --json verbs-11 "$token"
	json_is 'j["verb"] == "release" and j["result"] == "OK" and 3 <= j["confirmed"] <= 5'
	want 1 rl release --json verbs-11 "$token"
	json_is 'j["result"] == "GONE" and all(n["vote"] in ("NO", "PENDING") for n in j["nodes"])'
}

@test "output that is lost is told, and a no stays one" {
	for verb in "check --json verbs-13 token" "release --json verbs-13 token"; do
		want 1 bash -c "\"\$REDLOCK_BIN\" $verb >/dev/full"
		says "cannot write the output"
	done
	want 125 bash -c '"$REDLOCK_BIN" status >/dev/full'
	says "cannot write the output"
}

@test "a token that cannot be written is given back" {
	want 125 bash -c '"$REDLOCK_BIN" acquire verbs-12 >/dev/full'
	until_true has_keys 0 "$all" verbs-12
	want 125 bash -c '"$REDLOCK_BIN" acquire verbs-12 <&- >&-'
	until_true has_keys 0 "$all" verbs-12
}
