#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A Redis Cluster as a node, as the command shows it: three masters with a third of the slots each, and a replica of
# the first. The votes are tested by integration_cluster.
load helper
load doctor_helper

server() { # N COMMAND...
	redis-cli -s "$sandbox/$1.sock" "${@:2}"
}

start_server() { # N
	mkdir -p "$sandbox/$1"
	redis-server --port "${ports[$1]}" --bind 127.0.0.1 --unixsocket "$sandbox/$1.sock" --dir "$sandbox/$1" --save "" \
		--cluster-enabled yes --cluster-port "$(free_port)" --cluster-node-timeout 1000 \
		--cluster-require-full-coverage no --repl-diskless-sync-delay 0 >"$sandbox/$1.log" 2>&1 3>&- &
	pids[$1]=$!
	until_true test -S "$sandbox/$1.sock"
}

agrees() { # N: the server sees four, and its state is ok
	server "$1" cluster info | grep -q cluster_known_nodes:4 && server "$1" cluster info | grep -q cluster_state:ok
}

is_replica() {
	server 3 cluster replicate "$(server 0 cluster myid)" >/dev/null
	server 0 info replication | grep -q state=online
}

setup_file() {
	make_sandbox
	local n
	pids=()
	ports=("$(free_port)" "$(free_port)" "$(free_port)" "$(free_port)")
	for n in 0 1 2 3; do
		start_server $n
		server 0 cluster meet 127.0.0.1 "${ports[n]}" "$(server $n config get cluster-port | tail -n 1)"
	done
	server 0 cluster addslotsrange 0 5460
	server 1 cluster addslotsrange 5461 10922
	server 2 cluster addslotsrange 10923 16383
	for n in 0 1 2 3; do
		until_true agrees $n
	done
	until_true is_replica
	export seeds="127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}" all_ports="${ports[*]}" all_pids="${pids[*]}"
	export REDLOCK_URLS="redis+cluster://$seeds/"
}

setup() {
	read -ra ports <<<"$all_ports"
	read -ra pids <<<"$all_pids"
}

# A test that failed while a server was stopped must not hold up the next one.
teardown() {
	kill -s CONT "${pids[@]}"
}

teardown_file() {
	read -ra pids <<<"$all_pids"
	end_processes "${pids[@]}"
	rm -rf "$sandbox"
}

@test "names that a cluster cannot have are refused, with how to write them" {
	want 64 rl run --also beta alpha true
	says "in different hash slots" "as {job}:a and {job}:b"
	want 64 rl run 'a}b' true
	says "a name with } needs a hash tag, as {job}"
	want 0 rl run --also '{job}:a' '{job}:b' true
	want 0 rl run '{a}b}' true
}

@test "the guard and what needs it are refused, and status says that a cluster has none" {
	want 64 rl acquire --fence job
	says "a guarded set cannot have a cluster as a node"
	want 0 rl status
	[[ $output == *"a node is a Redis Cluster, which has no record: this set is plain"* ]]
	want 0 rl status --json
	json_is 'j["guard"]["applies"] == "plain"'
}

@test "status and doctor tell of each master: slots, replicas, version, persistence, and what is wrong" {
	want 0 rl status
	[ "$(grep -c "^    server 127.0.0.1:[0-9]*: up, 546[012] slots, [01] replicas\?$" <<<"$output")" = 3 ]
	[[ $output == *"server 127.0.0.1:${ports[0]}: up, 5461 slots, 1 replica"* ]]
	want 0 rl status --json
	json_is 'sorted(s["slots"] for s in j["nodes"][0]["servers"]) == [5461, 5461, 5462]' 'all(s["up"] for s in j["nodes"][0]["servers"])'
	server 1 config set maxmemory 100mb
	server 1 config set maxmemory-policy allkeys-lru
	doctor 2
	finds 1 eviction error "127.0.0.1:${ports[1]}: may evict locks"
	finds 1 whole-cluster note "of 3 masters ("
	json_is 'all("redlock init" not in f["advice"] for f in j["findings"])'
	finds 1 whole-cluster note "127.0.0.1:${ports[0]}: up, 5461 slots, 1 replica, "
	finds 1 persistence note "each master: keeps nothing on disk"
	server 1 config set maxmemory 0
	doctor 0
}

@test "a master that hangs is named, with how many slots have no vote" {
	kill -s STOP "${pids[2]}"
	run --separate-stderr rl status --json
	json_is '[s["address"] for s in j["nodes"][0]["servers"] if not s["up"]] == ["127.0.0.1:'"${ports[2]}"'"]'
	run --separate-stderr rl doctor --json
	[ "$status" = 2 ]
	finds 1 shards error "5461 of 16384 slots have no master that answers: 127.0.0.1:${ports[2]} (no answer in time)"
	kill -s CONT "${pids[2]}"
	until_true agrees 0
	until_true agrees 2
	doctor 0
}

@test "masters that the user may not list" {
	server 0 acl setuser default -cluster
	server 1 acl setuser default -cluster
	doctor 0
	finds 1 whole-cluster note "whose masters cannot be listed (NOPERM"
	want 0 rl status
	[[ $output == *"its servers cannot be listed: NOPERM"* ]]
	server 0 acl setuser default +cluster
	server 1 acl setuser default +cluster
}

# The names are in slots of all three masters; the command's first question goes to one of them alone.
@test "the last run of a job is known, whichever master has the name" {
	local n
	for n in 1 2 3 4 5 6; do
		want 0 rl run --once-per 1h "job$n" echo ran
		[ "$output" = ran ]
		want 0 rl run --once-per 1h "job$n" echo ran
		[ "$output" = "" ]
		want 0 rl last "job$n"
		[[ $output == "began "*", exit code 0 after "* ]]
	done
}

@test "status shows all slots of a name, and break ends them, whichever master has it" {
	local n
	for n in 1 2 3 4; do
		want 0 rl acquire --slots 2 "pool$n"
		want 0 rl acquire --slots 2 "pool$n"
		want 0 rl status "pool$n"
		[[ $output == *"2 slots: slot 0 is the name itself"*"slot 1: held by "* ]]
		[[ $output =~ "slot 1: held by "([^ ]+) ]]
		want 0 rl break --yes --holder "${BASH_REMATCH[1]}" "pool$n"
		want 0 rl acquire -n --slots 2 "pool$n"
	done
}

# The key is at the new server already, while the former one still has the slot.
@test "the last run of a job whose slot moves, and several names in such a slot" {
	local slot from to
	slot=$(server 0 cluster keyslot moving)
	for from in 0 1 2; do
		[[ $(server "$from" get moving) == *MOVED* ]] || break
	done
	to=$(((from + 1) % 3))
	want 0 rl run --once-per 1h moving true
	server "$to" cluster setslot "$slot" importing "$(server "$from" cluster myid)"
	server "$from" cluster setslot "$slot" migrating "$(server "$to" cluster myid)"
	server "$from" migrate 127.0.0.1 "${ports[to]}" '{moving}:redlock:last' 0 5000
	server "$from" set '{moving}:here' theirs
	want 69 rl run -n --also '{moving}:here' '{moving}:there' true
	says "no server of the cluster serves the name's slot at present: TRYAGAIN" "or the slot has moved (TRYAGAIN)"
	server "$from" del '{moving}:here'
	want 0 rl last moving
	[[ $output == "began "* ]]
	want 0 rl run --once-per 1h moving echo ran
	[ "$output" = "" ]
	server "$from" cluster setslot "$slot" stable
	server "$to" cluster setslot "$slot" stable
}

# The last test, as it breaks the cluster: slots of names between 10923 and 16383 have no server.
@test "a slot without a server is a vote of its own" {
	local n
	for n in 0 1 2 3; do
		server $n cluster delslotsrange 10923 16383 || :
	done
	want 69 rl acquire -n foo
	says "no server of the cluster serves the name's slot" "wait until a replica takes over"
	want 0 rl run bar true
}
