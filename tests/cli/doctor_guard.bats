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
