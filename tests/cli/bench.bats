#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bench: the shape of its results, and that it leaves nothing on the servers. Not how fast: that depends on the machine.
load helper

setup_file() { start_cluster 3; }

is_locked() {
	on_node 1 info commandstats | grep -q cmdstat_set
}

no_key_left() {
	[ "$(on_node 1 dbsize) $(on_node 2 dbsize) $(on_node 3 dbsize)" = "0 0 0" ]
}

schema='set(j) == {"mode", "nodes", "concurrency", "pairs", "pairs_per_s", "acquire_us", "release_us", "pair_us"}
	and all(set(j[k]) == {"p50", "p99", "p999"} for k in ("acquire_us", "release_us", "pair_us"))
	and all(0 < j[k]["p50"] <= j[k]["p99"] <= j[k]["p999"] for k in ("acquire_us", "release_us", "pair_us"))
	and j["pair_us"]["p50"] >= j["acquire_us"]["p50"] and j["pairs_per_s"] > 0 and j["nodes"] == 3'
schema=${schema//$'\n'/ }

@test "--json, one at a time" {
	want 0 rl bench --json --pairs 200
	json_is "$schema" 'j["mode"] == "blocking" and j["concurrency"] == 1 and j["pairs"] == 200'
	until_true no_key_left
}

@test "--json, many in flight" {
	want 0 rl bench --json --pairs 3000 --concurrency 64
	json_is "$schema" 'j["mode"] == "event-loop" and j["concurrency"] == 64 and j["pairs"] == 3000'
	until_true no_key_left
}

@test "--no-wait, in both ways" {
	want 0 rl bench --json --pairs 500 --no-wait
	json_is 'j["mode"] == "blocking-no-wait" and j["pairs"] == 500'
	want 0 rl bench --json --pairs 2000 --no-wait --concurrency 16
	json_is 'j["mode"] == "event-loop-no-wait" and j["pairs"] == 2000'
	until_true no_key_left
}

@test "--duration, as text" {
	begin=$(date +%s%N)
	run --separate-stderr rl bench --duration 500ms
	took=$((($(date +%s%N) - begin) / 1000000))
	exits 0
	[ "$took" -ge 500 ]
	[ -z "$stderr" ]
	[[ $output == *"3 nodes"* ]]
	for word in acquire release pair p50 p99.9 "per second"; do
		[[ $output == *"$word"* ]]
	done
}

@test "Ctrl-C: what was measured is shown, nothing is left" {
	for more in "" "--concurrency 32"; do
		# shellcheck disable=SC2086 # words
		env --default-signal=INT "$REDLOCK_BIN" bench --json --duration 1m $more >"$sandbox/out" 3>&- &
		bench=$!
		until_true is_locked
		sleep 0.5
		kill -s INT "$bench"
		await "$bench"
		output=$(cat "$sandbox/out")
		exits 130
		json_is 'j["pairs"] > 0'
		until_true no_key_left
		on_node 1 config resetstat
	done
}

@test "no quorum ends it with the reason" {
	want 69 rl bench --node-timeout 100ms --pairs 10 -r unix:///nowhere/a,unix:///nowhere/b
	says "no quorum: 0 of 2"
	want 69 rl bench --node-timeout 100ms --pairs 10 --concurrency 8 -r unix:///nowhere/a
}
