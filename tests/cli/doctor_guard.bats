#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# doctor: its advice for a node that has lost the record of a guarded set.
load helper
load doctor_helper

setup() {
	start_cluster 3
}

@test "a node that was a replica and has lost its record: the advice is one that works" {
	rl init -q --fresh
	on_node 2 replicaof 127.0.0.1 1
	on_node 2 replicaof no one
	on_node 2 flushall
	doctor 2 --guard=require
	finds 2 no-record warning "has lost it"
	json_is '"restart it" in next(f for n in j["nodes"] for f in n["findings"] if f["check"] == "no-record")["advice"]'
	want 78 rl init
	kill_nodes KILL 2
	"$REDLOCK_BIN" cluster start -q
	want 0 rl init
	doctor 1 --guard=require
	finds 2 quarantine warning "it votes in"
	lacks 2 no-record
	lacks 2 vote
}

# No record can be read.
unread() {
	doctor 2
	finds 0 record error "could be read on 0 of 3 nodes"
	json_is '"init is no help" in next(f for f in j["findings"] if f["check"] == "record")["advice"]'
	lacks 0 no-guard
}

@test "records that cannot be read are not called missing, and no init is advised" {
	local node
	rl init -q --fresh
	REDLOCK_URLS=$(node_url 1),$(node_url 2),$(node_url 3)
	export REDLOCK_URLS
	want 0 rl run job true # this host remembers the set
	on_nodes "1 2 3" config set requirepass pw
	REDLOCK_AUTH=wrong unread
	for node in 1 2 3; do
		redis-cli -s "$(node_dir "$node")/redis.sock" -a pw --no-auth-warning config set requirepass ''
	done
	kill_nodes KILL 1 2 3
	unread
}

@test "a state directory that cannot be written: its path and the cause" {
	rl init -q --fresh
	REDLOCK_URLS=$(node_url 1),$(node_url 2),$(node_url 3) STATE_DIRECTORY=/dev/null doctor 1
	finds 0 memory warning "/dev/null/redlock: Not a directory"
}
