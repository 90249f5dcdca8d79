#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# doctor: warnings that the operator accepts.
load helper
load doctor_helper

setup() {
	start_cluster 2
}

teardown() {
	stop_cluster
}

has_replica() {
	on_node 1 info replication | grep -q '^connected_slaves:1'
}

@test "warnings that the operator accepts are shown and do not count; errors cannot be accepted" {
	local url
	url=$(node_url 1)
	on_nodes 2 replicaof 127.0.0.1 "$(node_port 1)"
	until_true has_replica
	want 1 rl doctor -r "$url"
	[[ $output == *": warning: "*" [replicas]"* ]]
	want 0 rl doctor -r "$url" --accept tls,replicas
	[[ $output == *"0 warnings (and 1 accepted), "*": accepted: has 1 replica: "* ]]
	doctor 0 -r "$url" --accept tls --accept replicas
	finds 1 replicas accepted "1 replica:"
	json_is 'j["accepted"] == 1 and j["warnings"] == j["errors"] == 0'
	printf 'accept = even, replicas  # a mirror for reports\n' >"$sandbox/conf"
	want 0 rl doctor --config "$sandbox/conf" -r "$url"
	want 1 rl doctor --config "$sandbox/conf" -r "$url" --accept tls
	want 0 rl config show --config "$sandbox/conf"
	[[ $output == *"accept             = even, replicas  "*"# $sandbox/conf:1"* ]]
	want 2 rl doctor -r "$url" -r "$(node_url 2)" --accept even,replicas
	want 64 rl doctor --accept replcas
	says "--accept replcas: doctor has no such check, did you mean \`replicas\`?"
	want 64 rl doctor --accept tls,vote
	says "--accept vote: this check finds errors, and only warnings can be accepted"
	echo 'accept = quorum' >"$sandbox/conf"
	want 78 rl doctor --config "$sandbox/conf"
	says "$sandbox/conf:1: accept: quorum: this check finds errors"
	want 0 rl run --config "$sandbox/conf" -r "$url" job true
}
