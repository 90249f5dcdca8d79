#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What doctor says of the Sentinels of a URL: two real ones, each with a master of its own that it calls jobs.
load helper
load doctor_helper

setup() {
	start_cluster 2
	servers=()
	masters=("$(node_port 1)" "$(node_port 2)")
	ports=()
	start_sentinel 0
	start_sentinel 1
	url="redis+sentinel://127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}/jobs"
}

teardown() {
	end_processes "${servers[@]}"
	stop_cluster
}

start_sentinel() { # N
	ports[$1]=$(free_port)
	printf 'port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor jobs 127.0.0.1 %s 1\n' "${ports[$1]}" "$sandbox" \
		"${masters[$1]}" >"$sandbox/$1.conf"
	redis-server "$sandbox/$1.conf" --sentinel >"$sandbox/$1.log" 2>&1 3>&- &
	servers[$1]=$!
	until_true redis-cli -p "${ports[$1]}" ping
}

sentinel() { # N COMMAND...
	redis-cli -p "${ports[$1]}" "${@:2}"
}

@test "a Sentinel that does not answer, and one that knows no such master" {
	doctor 0 -r "redis+sentinel://127.0.0.1:${ports[0]}/jobs"
	lacks 1 sentinels
	doctor 1 -r "redis+sentinel://127.0.0.1:${ports[0]},127.0.0.1:1/jobs"
	finds 1 sentinels warning "1 of its 2 Sentinels does not name the master 127.0.0.1:${masters[0]}: 127.0.0.1:1 (Connection refused)"
	sentinel 1 sentinel remove jobs
	doctor 1 -r "$url"
	finds 1 sentinels warning "127.0.0.1:${ports[1]} (knows no master of this name)"
}

@test "Sentinels that disagree are told as most of them, and as the first listed, have it" {
	doctor 1 -r "$url"
	finds 1 sentinels warning "1 of its 2 Sentinels does not name the master 127.0.0.1:${masters[0]}: 127.0.0.1:${ports[1]} (names 127.0.0.1:${masters[1]})"
}

@test "the Sentinels' password is used, and is not shown" {
	sentinel 0 acl setuser default '>own-secret'
	doctor 1 -r "$url?sentinel_password=own-secret"
	finds 1 sentinels warning "127.0.0.1:${ports[1]} ("
	[[ $output$stderr != *own-secret* ]]
	sentinel 1 acl setuser default '>own-secret'
	doctor 1 -r "$url?sentinel_password=own-secret"
	finds 1 sentinels warning "127.0.0.1:${ports[1]} (names 127.0.0.1:${masters[1]})"
}

@test "a server that is no Sentinel is told as that, and where the password belongs" {
	want 69 rl acquire -n -r "redis+sentinel://127.0.0.1:${masters[0]}/jobs" job
	says "no Sentinel names the master: the server that answers is not a Sentinel" "the password of the Sentinels (sentinel_password there), and"
}
