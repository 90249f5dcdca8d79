#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# status: what each node has, and what it means; every kind of key that others leave under a name.
load helper

setup_file() { start_cluster 5; }

setup() {
	on_nodes "1 2 3 4 5" flushall
}

show() { # FIRST LINE, then status output must begin with it
	want 0 rl status job
	if [[ $output != "$1"* ]]; then
		echo "$output"
		return 1
	fi
}

status_is() { # EXPRESSION of what is told of the job
	run --separate-stderr rl status --json job
	json_is "$1"
}

busy_for_all() {
	want 75 rl acquire -n job
}

@test "free" {
	show "job: free"
	[ "$(grep -c ': no key$' <<<"$output")" = 5 ]
	status_is 'j["state"] == "free" and j["kind"] == "none" and j["token"] is None and j["held_on"] == 0'
	json_is 'all(n["type"] == "none" and n["pttl_ms"] == -2 for n in j["nodes"])'
}

@test "held, by whom, on how many nodes, how long" {
	token=$(rl acquire -t 1000s --owner db1:42 job)
	until_true has_keys 5 "$all" job
	show "job: held by ${token%|*}|db1:42 (owner db1:42) on 5 of 5 nodes"
	[ "$(grep -c 'string: .*expires in \(9[0-9][0-9]\.[0-9]\|1000\.0\) s$' <<<"$output")" = 5 ]
	on_node 2 del job
	show "job: held by ${token%|*}|db1:42 (owner db1:42) on 4 of 5 nodes"
	status_is 'j["state"] == "held" and j["owner"] == "db1:42" and j["kind"] == "token" and j["held_on"] == 4'
	json_is 'j["token"].endswith("|db1:42") and not j["blocks_for_ever"]'
	json_is 'all(900000 < n["pttl_ms"] <= 1000000 for n in j["nodes"] if n["node"] != 2)'
}

@test "clients that wait are counted, on the node that has the most of them" {
	status_is 'j["waiting"] == 0'
	token=$(rl acquire -t 1m job)
	for who in 1 2; do
		"$REDLOCK_BIN" acquire -w 60s job 3>&- >/dev/null &
		waiters[who]=$!
	done
	until_true waits 2
	show "job: held by $token"
	[[ $output == *$'\n  clients that wait: 2\n'* ]]
	kill "${waiters[@]}"
	await "${waiters[1]}" 143
	await "${waiters[2]}" 143
	until_true waits 0
	show "job: held by $token"
	[[ $output != *"clients that wait"* ]]
	on_node 1 rpush '{job}:redlock:queue' foreign # no queue
	status_is 'j["waiting"] == 0 and j["state"] == "held"'
	on_nodes "$all" acl setuser default -strlen
	status_is 'j["waiting"] is None'
	on_nodes "$all" acl setuser default +strlen
}

waits() { # COUNT
	rl status --json job | grep -q "\"waiting\":$1,"
}

@test "split between two" {
	on_nodes "1 2" set job alice px 60000
	on_nodes "3 4" set job bob px 60000
	show "job: split: 2 different holders"
	busy_for_all
	status_is 'j["state"] == "split" and j["token"] is None'
}

@test "a leftover on a minority blocks nobody" {
	on_nodes "1 2" set job alice px 60000
	show "job: held by nobody: a leftover of 'alice' of another client on 2 of 5 nodes, which blocks nobody"
	want 0 rl acquire -n job
}

@test "a Redisson hash is a holder" {
	field=6f0829ed-bfd3-4e6f-bba3-6f3d66cd176c:45
	on_nodes "1 2 3 4 5" hset job "$field" 2
	on_nodes "1 2 3 4 5" pexpire job 60000
	busy_for_all
	show "job: held by Redisson client:thread $field, hold count 2 on 5 of 5 nodes"
	status_is 'j["kind"] == "redisson" and j["nodes"][0]["type"] == "hash" and j["state"] == "held"'
	want 1 rl release job sometoken
	[ "$(on_node 1 hget job "$field")" = 2 ]
	want 1 rl extend job sometoken
	want 1 rl check job sometoken
}

@test "the number of an old SETNX client is a holder, without expiry" {
	until=$(($(date +%s) + 600))
	on_nodes "1 2 3 4 5" setnx job "$until.25"
	busy_for_all
	show "job: held by a lock of the old SETNX protocol, $until.25: expires at "
	[[ $output == *"warning: on 5 nodes no expiry: it blocks until somebody deletes it, with \`redlock break NAME\`"* ]]
	on_nodes "1 2 3 4 5" set job 1000000000
	busy_for_all
	show "job: held by a lock of the old SETNX protocol, 1000000000: expired at 2001-09-09 01:46:40 UTC"
	status_is 'j["kind"] == "setnx-time" and j["blocks_for_ever"] and j["nodes"][0]["pttl_ms"] == -1'
}

@test "a number that is no time, and other clients' values" {
	on_nodes "1 2 3 4 5" set job 12345 px 60000
	show "job: held by '12345' of another client on 5 of 5 nodes"
	on_nodes "1 2 3 4 5" set job 99999999999999999999 px 60000
	show "job: held by '99999999999999999999' of another client on 5"
	on_nodes "1 2 3 4 5" set job 'b64/value==' px 60000
	show "job: held by 'b64/value==' of another client on 5"
	[[ $output != *warning* ]]
}

@test "keys of other types" {
	on_nodes "1 2 3 4 5" rpush job a b
	busy_for_all
	show "job: held by a key of type list, which is not a known lock on 5 of 5 nodes"
	on_nodes "1 2 3 4 5" del job
	on_nodes "1 2 3 4 5" zadd job 1 a
	busy_for_all
	show "job: held by a key of type zset"
	want 1 rl release job token
	until_true has_keys 5 "$all" job
}

@test "large and binary values" {
	value=$(printf '%02000d' 7)
	on_nodes "1 2 3 4 5" set job "$value" px 60000
	status_is 'j["nodes"][0]["value_len"] == 2000 and len(j["nodes"][0]["value"]) == 1024'
	on_nodes "1 2 3 4 5" set job $'\x80\xff' px 60000
	show "job: held by '\\x80\\xff' of another client"
	status_is 'j["nodes"][0]["value_hex"] == "80ff"'
	on_nodes "1 2 3 4 5" set job '' px 60000
	show "job: held by '' of another client"
}

@test "the nodes themselves" {
	want 0 rl status
	[[ $output == "quorum reachable: 5 of 5 nodes up, 3 are needed"* ]]
	[ "$(grep -c '^  node [1-5] unix://.*: up, [0-9]* us, run_id [0-9a-f]\{40\}$' <<<"$output")" = 5 ]
	run --separate-stderr rl status --json
	json_is 'j["verb"] == "status" and j["result"] == "OK" and j["up"] == 5 and j["quorum"] == 3'
	json_is 'len({n["run_id"] for n in j["nodes"]}) == 5 and all(n["connected"] for n in j["nodes"])'
	[ "$(on_node 1 dbsize)" = 0 ]
}

@test "the nodes, for a user who may lock but not look" {
	on_nodes "1 2 3 4 5" acl setuser tight on nopass '~job:*' '+set' '+eval' '+evalsha' '+get' '+del'
	want 0 rl status --prefix job: --user tight --password-file <(echo x)
	[[ $output == *"5 of 5 nodes up"* ]]
	[[ $output == *"run_id unknown"* ]]
	want 76 rl status --user tight --password-file <(echo x)
	says "give the --prefix that its names have"
}

# As a health check sees the servers: what would not take a lock is not up. Nothing is written.
health() { # CODE FIRST-LINE [OPTION...]
	want "$1" rl status "${@:3}"
	[[ $output == "quorum $2, 3 are needed"* ]] || { echo "$output" && return 1; }
	[ "$(on_node 5 dbsize)" = 0 ]
}

refuses() { # NODE REASON
	grep "^  node $1 .*: REFUSES, .*$2" <<<"$output"
}

@test "a server that would not take a lock is not up, whatever it answers to questions" {
	on_nodes 1 config set maxmemory 1
	on_nodes 2 replicaof 127.0.0.1 1
	health 0 "reachable, DEGRADED: 3 of 5 nodes up"
	refuses 1 "OOM command not allowed"
	refuses 2 "read-only replica"
	run --separate-stderr rl status --json
	json_is 'j["result"] == "OK" and j["state"] == "degraded" and j["up"] == 3'
	json_is '[(n["vote"], n["up"]) for n in j["nodes"]][:3] == [("OOM", False), ("READONLY", False), ("YES", True)]'
	want 76 rl status --quorum 4
	on_nodes 3 config set min-replicas-to-write 1
	health 76 "NOT reachable: 2 of 5 nodes up"
	refuses 3 NOREPLICAS
	want 76 rl status --json
	json_is 'j["result"] == "NOQUORUM" and j["state"] == "unreachable"'
	on_nodes 2 replicaof no one
	health 0 "reachable, DEGRADED: 3 of 5 nodes up"
	on_nodes 2 config set maxmemory 1
	health 69 "NOT reachable: 2 of 5 nodes up"
	says "hint: free memory on the nodes that are full"
	on_nodes "1 2" config set maxmemory 0
	on_nodes 3 config set min-replicas-to-write 0
	health 0 "reachable: 5 of 5 nodes up"
}

# At night it makes a difference whether to look for a password, a process or a network.
@test "a node that hangs is silent, one that refuses the password refuses, one that is dead is down" {
	on_nodes 1 config set requirepass secret
	kill_nodes STOP 2
	rl status -r "unix://$sandbox/nobody.sock" -r "$(node_url 1)" -r "$(node_url 2)" --node-timeout 1s \
		>"$sandbox/out" 2>/dev/null && exit 1
	REDLOCK_AUTH=wrong rl status -r "$(node_url 1)" >>"$sandbox/out" 2>/dev/null && exit 1
	# The node hangs while it is connected.
	kill_nodes CONT 2
	want 77 rl status -r "$(node_url 1)" -r "$(node_url 2)" -r "$(node_url 3)" --quorum 3
	[[ $stderr != *"do not say who they are"* ]] # the cause is the password
	on_nodes 2 client pause 60000 write
	rl status -r "$(node_url 2)" --node-timeout 300ms >>"$sandbox/out" 2>/dev/null && exit 1
	redis-cli -s "$(node_dir 1)/redis.sock" -a secret config set requirepass "" 2>/dev/null
	on_nodes 2 client unpause
	cat "$sandbox/out"
	grep "node 1 .*: DOWN, not reachable" "$sandbox/out"
	grep "node 2 .*: REFUSES, refused the user or password" "$sandbox/out"
	grep "node 1 .*: REFUSES, refused the user or password" "$sandbox/out"
	grep "node 3 .*: SILENT, no answer in time" "$sandbox/out"
	grep "node 1 .*: SILENT, no answer in time" "$sandbox/out"
}

@test "a user who could take a lock and not renew or release it is not let pass" {
	for missing in -set "-eval -evalsha -watch"; do
		# shellcheck disable=SC2086 # a list
		on_nodes "1 2 3 4 5" acl setuser part reset on nopass '~*' +@all $missing
		health 76 "NOT reachable: 0 of 5 nodes up" --user part --password-file <(echo x)
		refuses 4 "NOPERM"
		says "redlock help acl"
	done
	on_nodes "1 2 3 4 5" acl setuser part +eval
	health 0 "reachable: 5 of 5 nodes up" --user part --password-file <(echo x)
}

@test "a node's answer about a name is no vote" {
	on_nodes "1 2 3 4" set job somebody px 60000
	status_is '[n["answer"] for n in j["nodes"]] == ["held"] * 4 + ["free"] and not any("vote" in n for n in j["nodes"])'
}

@test "a list on one node, without expiry: what is said of it agrees" {
	on_nodes 1 rpush job a
	show "job: held by nobody: a leftover of a key of type list, which is not a known lock on 1 of 5 nodes, which blocks nobody"
	[[ $output == *"warning: on 1 node no expiry: the key stays there until somebody deletes it"* ]]
	[[ $output != *"it blocks"* ]]
	[ "$(grep -c list <<<"$output")" = 2 ] && [[ $output != *"list: a key of type list"* ]]
	status_is 'j["state"] == "leftover" and not j["blocks_for_ever"]'
	rl release job "$(rl acquire -n job)"
	on_nodes "2 3" rpush job a
	show "job: held by a key of type list, which is not a known lock on 3 of 5 nodes"
	[[ $output == *"warning: on 3 nodes no expiry: it blocks until somebody deletes it"* ]]
}
