#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Where the nodes come from, and all forms of URLs.
load helper

setup_file() {
	start_cluster 3
	unset REDLOCK_URLS
	one=$(node_url 1) two=$(node_url 2) three=$(node_url 3)
	export one two three
}

nodes_seen() {
	grep -c '^  node ' <<<"$output"
}

@test "-r, repeated and as a list" {
	want 0 rl status -r "$one" --url "$two" --url="$three"
	[ "$(nodes_seen)" = 3 ]
	want 0 rl status -r "$one,$two" -r "$three"
	[ "$(nodes_seen)" = 3 ]
	[ -z "$stderr" ]
}

@test "REDLOCK_URLS, with blanks around the commas" {
	REDLOCK_URLS=" $one , $two,$three" run --separate-stderr rl status
	exits 0
	[ "$(nodes_seen)" = 3 ]
	[ -z "$stderr" ]
}

@test "REDIS_URL is one node and says so" {
	REDIS_URL=$one want 0 rl status
	[ "$(nodes_seen)" = 1 ]
	says REDIS_URL
	REDIS_URL=$one want 0 rl acquire -q nodes-1
	[ -z "$stderr" ]
	rl release -r "$one" nodes-1 "$output"
}

@test "the order: option, REDLOCK_URLS, REDIS_URL" {
	REDLOCK_URLS=$one,$two,$three REDIS_URL=$one run --separate-stderr rl status
	[ "$(nodes_seen)" = 3 ]
	REDLOCK_URLS=$one,$two,$three REDIS_URL=$one run --separate-stderr rl status -r "$two"
	[ "$(nodes_seen)" = 1 ]
	REDLOCK_URLS='' REDIS_URL=$one run --separate-stderr rl status
	[ "$(nodes_seen)" = 1 ]
}

@test "redis:// and valkey://, by port, by name, with a database" {
	port=$(node_port 1)
	for url in "redis://127.0.0.1:$port" "valkey://127.0.0.1:$port" "redis://localhost:$port/0" "$one?db=0"; do
		token=$(rl acquire -r "$url" nodes-2)
		until_true has_value 1 nodes-2 "$token"
		rl release -r "$url" nodes-2 "$token"
	done
	token=$(rl acquire -r "redis://127.0.0.1:$port/5" nodes-2)
	until_true has_keys 0 1 nodes-2
	[ "$(on_node 1 -n 5 get nodes-2)" = "$token" ]
	want 0 rl check -r "$one?db=5" nodes-2 "$token"
	rl release -r "$one?db=5" nodes-2 "$token"
	[ "$(on_node 1 -n 5 exists nodes-2)" = 0 ]
}

@test "one server by two addresses has no two votes" {
	again=redis://127.0.0.1:$(node_port 1)
	want 78 rl acquire -n -r "$one,$again" nodes-3
	[ -z "$output" ]
	says "node 1 $one and node 2 $again are the same server"
	until_true has_keys 0 "1 2 3" nodes-3
}

@test "a database that does not exist is refused by the server" {
	want 76 rl check -r "$one?db=99" nodes-4 token
	says "node 1"
	[[ $stderr == *"DB index"* ]]
}

@test "a host name that does not resolve is a node without an answer" {
	want 69 rl check -r redis://no-such-host.invalid nodes-7 token
	says "no-such-host.invalid"
	want 0 rl acquire -r "redis://no-such-host.invalid,$one,$two" nodes-7
	on_nodes "1 2" del nodes-7
}

@test "a whole cluster as a node: run, doctor, ls and init" {
	local port pid bus
	port=$(free_port) bus=$(free_port)
	mkdir "$sandbox/whole"
	redis-server --cluster-enabled yes --port "$port" --cluster-port "$bus" --bind 127.0.0.1 --save '' --dir "$sandbox/whole" \
		>"$sandbox/whole.log" 2>&1 3>&- &
	pid=$!
	until_true redis-cli -p "$port" cluster addslotsrange 0 16383
	until_true eval "redis-cli -p $port cluster info | grep -q cluster_state:ok"
	REDLOCK_URLS=redis+cluster://127.0.0.1:$port/
	export REDLOCK_URLS
	want 0 rl run job -- redis-cli -p "$port" get job
	want 0 rl doctor -v
	[[ $output == *"is a cluster, of 1 master (:$port: up, 16384 slots"* ]]
	want 78 rl ls
	says "whose keys are on many servers"
	want 78 rl init
	says "a cluster cannot be a node of a guarded set"
	end_processes "$pid"
}
