#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Two lists of nodes that share a node: two clients hold one lock, and each of the commands that look says so.
# Clients of one list that contend are no rivals.
load helper

setup() {
	start_cluster 5
	one=$(urls 1 2 3)
	other=$(urls 3 4 5)
}

urls() { # N...
	local node list=
	for node; do
		list+=,$(node_url "$node")
	done
	echo "${list#,}"
}

# Holds the lock until `end_holders`.
hold() { # NAME-OF-OUTPUT LIST OPTION...
	"$REDLOCK_BIN" run -r "$2" --node-timeout 900ms "${@:3}" job -- sh -c "until [ -e $sandbox/end ]; do sleep 0.05; done" \
		2>"$sandbox/said.$1" 3>&- &
	holders+=($!)
}

end_holders() {
	touch "$sandbox/end"
	for holder in "${holders[@]}"; do
		await "$holder" 0
	done
}

says_in() { # FILE TEXT
	grep -qF -- "$2" "$1"
}

@test "two lists, two holders: ls, status, doctor and run -v say so" {
	hold other "$other" -t 9s
	until_true has_keys 3 "3 4 5" job
	hold one "$one" -t 6s -v
	until_true has_keys 2 "1 2" job
	want 0 rl ls -r "$one"
	[[ $output == *" rival"* ]]
	want 0 rl ls -r "$one" --odd --json
	json_is 'j["odd"] == ["rival"] and j["state"] == "held" and j["votes"] == 2'
	want 0 rl status -r "$one" job
	[[ $output == *"warning: node 3: the key of "*"another list of nodes"*"redlock config show"* ]]
	want 0 rl status -r "$one" --json job
	json_is 'j["rival_on"] == [3] and j["state"] == "held"'
	want 1 rl doctor -r "$one" --json
	json_is 'any(f["check"] == "rival" and "node 3" in f["text"] for f in j["findings"])'
	patience=60 until_true says_in "$sandbox/said.one" "on node 3 the key of "
	says_in "$sandbox/said.one" "compare the list"
	end_holders
}

@test "a run says so without -v where the other client renews its key" {
	hold other "$other" -t 4s --renew 1s
	until_true has_keys 3 "3 4 5" job
	hold one "$one" -t 9s --renew 2500ms
	patience=60 until_true says_in "$sandbox/said.one" "two holders of 'job': on node 3 the key of "
	end_holders
	[ "$(grep -c "two holders" "$sandbox/said.one")" = 1 ]
}

@test "a key below a quorum that somebody renews is reported as a rival, a leftover is not" {
	hold other "$other" -t 4s --renew 1s
	until_true has_keys 3 "3 4 5" job
	"$REDLOCK_BIN" ls -r "$one" --follow --every 300ms --json >"$sandbox/follow" 3>&- &
	watcher=$!
	patience=50 until_true says_in "$sandbox/follow" '"odd":["below-quorum","rival"]'
	kill "$watcher"
	await "$watcher"
	end_holders
	on_node 3 set job "$(printf '%040d' 7)|killed:1" px 600000
	want 0 rl ls -r "$one" --json
	json_is 'j["odd"] == ["below-quorum"]'
	want 0 rl status -r "$one" job
	[[ $output == *"warning: node 3: the key of killed:1 stays there: it was killed"*"the other nodes have forgotten its lock"* ]]
}

# With and without places in a queue, and votes that split: their keys come and go.
@test "clients of one list that contend are no rivals" {
	for i in 1 2 3 4; do
		while [ ! -e "$sandbox/end" ]; do
			"$REDLOCK_BIN" run -r "$one" --node-timeout 2s -w 60s job -- sleep 0.05 2>>"$sandbox/said" || true
		done 3>&- &
		holders+=($!)
		while [ ! -e "$sandbox/end" ]; do
			"$REDLOCK_BIN" run -r "$one" --node-timeout 2s -n job -- sleep 0.02 2>>"$sandbox/said" || true
		done 3>&- &
		holders+=($!)
	done
	hold one "$one" -t 6s -w 60s
	for i in {1..6}; do
		want 0 rl ls -r "$one" --json job
		[[ $output != *rival* ]] || { echo "$output" && return 1; }
		want 0 rl status -r "$one" job
		[[ $output != *warning* ]] || { echo "$output" && return 1; }
	done
	end_holders
	run grep -E "two holders|another list" "$sandbox"/said*
	[ "$status" = 1 ]
}
