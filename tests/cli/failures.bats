#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Nodes that are dead, hung, replicas, out of memory, or that garble: an answer while a quorum lives, and the reason
# for each that does not.
load helper

setup() { start_cluster 5; }

# Milliseconds that a command took.
timed() { # COMMAND...
	local begin
	begin=$(date +%s%N)
	run --separate-stderr "$@"
	took=$((($(date +%s%N) - begin) / 1000000))
}

is_synced() { # N
	on_node "$1" info replication | grep -q master_link_status:up
}

@test "one and two of five dead: everything works" {
	for node in 2 4; do
		kill_nodes KILL "$node"
		timed rl acquire -n --node-timeout 8s job
		exits 0
		[ "$took" -lt 4000 ]
		token=$output
		rl check job "$token"
		rl extend --node-timeout 500ms job "$token"
		want 0 rl release -v --node-timeout 300ms job "$token"
		says "node 2 unix://" "did not confirm"
	done
	want 0 rl status
	[[ $output == *"3 of 5 nodes up"* ]]
	[ "$(grep -c DOWN <<<"$output")" = 2 ]
}

@test "three of five dead: 69 at once, each node with its reason, no key left" {
	kill_nodes KILL 1 3 5
	timed rl acquire -n --node-timeout 8s job
	exits 69
	[ "$took" -lt 4000 ]
	[ -z "$output" ]
	says "no quorum: 2 of 5 nodes voted, 3 are needed"
	says "; nodes 1, 3, 5: not reachable: Connection refused"
	until_true has_keys 0 "2 4" job
	for verb in extend release check; do
		want 69 rl "$verb" --node-timeout 300ms job token
		says "no quorum: 2 of 5"
	done
	want 69 rl status --json
	json_is 'j["result"] == "NOQUORUM" and j["up"] == 2'
	json_is '[n["up"] for n in j["nodes"]] == [False, True, False, True, False]'
	want 69 rl status job
	[[ $output == "job: unknown: 2 of 5 nodes answered"* ]]
	want 69 rl acquire --json -n job
	json_is 'j["result"] == "NOQUORUM" and j["nodes"][0]["vote"] == "DOWN" and j["nodes"][0]["detail"] != ""'
}

@test "without a quorum acquire waits as long as -w says, and is let in when nodes come back" {
	kill_nodes KILL 1 2 3
	timed rl acquire -w 800ms job
	exits 69
	[ "$took" -ge 400 ]
	[ "$took" -lt 3000 ]
	rl acquire -w 20s job >"$sandbox/token" 3>&- &
	waiter=$!
	"$REDLOCK_BIN" cluster start -q
	await "$waiter" 0
	rl check job "$(cat "$sandbox/token")"
}

@test "without -w and a quorum acquire gives up after 10 seconds" {
	kill_nodes KILL 1 2 3
	timed rl acquire job
	exits 69
	[ "$took" -ge 9000 ]
	[ "$took" -lt 15000 ]
}

@test "two of five hung: no delay and no message, for any command" {
	kill_nodes STOP 1 5
	for command in "acquire -n job" "check job TOKEN" "extend job TOKEN" "run -n -E 0 -q job true" "release job TOKEN" "run job true"; do
		# shellcheck disable=SC2086 # a list
		timed rl ${command/TOKEN/$token} --node-timeout 8s
		exits 0
		[ -z "$stderr" ]
		[ "$took" -lt 4000 ]
		token=${token:-$output}
	done
	token=$(rl acquire -n job)
	want 0 rl release -v --node-timeout 300ms job "$token"
	says "confirmed by 3 of 5 nodes" "node 1 unix://" "did not confirm"
	[[ $stderr != *warning* ]]
	kill_nodes CONT 1 5
	until_true has_keys 0 "$all" job # they find the releases in their sockets
}

@test "a release of which the nodes do not say the same: neither released nor gone, and no quorum is counted" {
	token=$(rl acquire -n job)
	until_true has_keys 5 "$all" job
	on_nodes "1 2" del job
	kill_nodes STOP 3
	run --separate-stderr rl release --node-timeout 300ms job "$token"
	kill_nodes CONT 3
	exits 69
	says "no quorum: 4 of 5 nodes voted, but not 3 alike; node 3"
}

# Milliseconds between two lines of a trace, by the clock of the command itself: how late this shell looks is no matter.
between() { # TEXT TEXT
	echo $(($(traced "$2") - $(traced "$1")))
}

traced() { # TEXT: when, on the clock of /proc/uptime
	grep -m 1 -F "$1" "$sandbox/trace" | sed 's/.*trace: \[\([0-9]*\)\..*/\1/'
}

until_traced() { # TEXT
	until_true grep -qsF "$1" "$sandbox/trace"
}

# A release that may have to be asked again in another form is waited for, but no node that hangs costs as much as this.
@test "without scripts: two of five hung cost half as long again, and a slow node is released after a longer command" {
	on_nodes "$all" acl setuser default -@scripting
	token=$(rl acquire -n job)
	until_true has_keys 5 "$all" job
	kill_nodes STOP 1 2 3 4 5
	rl release --trace --node-timeout 8s job "$token" 2>"$sandbox/trace" 3>&- &
	until_traced "send leave"
	sleep 0.7
	kill_nodes CONT 1 2 3
	await $! 0
	kill_nodes CONT 4 5
	run ! grep -v trace: "$sandbox/trace"
	took=$(between "send leave" "done release")
	[ "$(between "send leave" cancel)" -lt $((took * 3)) ] # 5 times as long with a few rounds
	until_true has_keys 0 "1 2 3" job
	on_nodes "4 5" del job
	for try in 1 2 3; do # another one only if this shell was late
		rl run --trace --node-timeout 8s job -- sh -c "until [ -e '$sandbox/go-$try' ]; do sleep 0.02; done" \
			2>"$sandbox/trace" 3>&- &
		until_true has_keys 5 "$all" job
		sleep 3
		kill_nodes STOP 1 2 3 4 5
		touch "$sandbox/go-$try"
		until_traced "send release"
		sleep 0.5
		kill_nodes CONT 1 2 3 4
		until_traced "done release"
		took=$(between "send release" "done release")
		sleep $((took * 7 / 10))e-3 # longer than where scripts are allowed, shorter than half of the command
		kill_nodes CONT 5
		late=$(($(sed 's/\.\([0-9]*\).*/\10/' /proc/uptime) - $(traced "done release")))
		await $! 0
		[ "$late" -gt 1200 ] || break
		on_nodes 5 del job
	done
	until_true has_keys 0 "$all" job
}

is_busy_client() { # N
	on_node "$1" client list | grep -q name=busy
}

# The server reads the SET, then a script of another user keeps it from writing the answer. The run ends meanwhile, and
# its Unix socket is closed: what the server has not read by then, it never reads.
@test "a server that is busy between the SET and its answer, while the run ends, gets the release" {
	on_nodes "$all" set job other px 60000
	"$REDLOCK_BIN" run -w 60s --node-timeout 8s job -- sh -c \
		"echo \"eval 'for i = 1, 2e7 do end' 0\" >$sandbox/busy; sleep 0.5; kill -s CONT $(node_pid 5) $(node_pid 4)" 3>&- &
	waiter=$!
	until_true has_waiter job
	sleep 3 # a run that is short does not wait for a server that hangs
	victim=5
	[ "$(on_node 5 exists '{job}:redlock:queue')" = 0 ] || victim=4
	mkfifo "$sandbox/busy"
	redis-cli -s "$(node_dir "$victim")/redis.sock" <"$sandbox/busy" >/dev/null 3>&- &
	exec 6>"$sandbox/busy"
	echo "client setname busy" >&6
	until_true is_busy_client "$victim"
	on_node "$victim" del job
	kill_nodes STOP "$victim"
	for node in $all; do
		[ "$node" = "$victim" ] || on_node "$node" del job
	done
	await "$waiter" 0
	exec 6>&-
	until_true has_keys 0 "$all" job
}

# The slower nodes are waited for as long again as the quorum took, but that is the caller's time.
@test "a quorum that comes late: what is left of the validity is not waited away" {
	rl acquire -q --token V held >"$sandbox/token"
	for command in "acquire -n job" "extend held V"; do
		kill_nodes STOP 1 2 3
		# shellcheck disable=SC2086 # a list
		rl ${command} --trace --json -t 4s --node-timeout 3900ms >"$sandbox/out" 2>"$sandbox/trace" 3>&- &
		until_traced "send ${command%% *}"
		sleep 2.3
		kill_nodes CONT 3
		await $!
		kill_nodes CONT 1 2
		exits 0
		output=$(<"$sandbox/out")
		took=$(between "send ${command%% *}" "done ${command%% *}")
		json_is "(4000 - $took) / 2 < j['validity_ms'] < 1700"
	done
}

is_stopped() { # PID
	grep -qs '^State:	T' "/proc/$1/status"
}

# The process is stopped while it waits for the slower nodes. If the test misses that moment, it tries again.
@test "stopped until the validity is over: not granted" {
	for try in 1 2 3 4 5; do
		kill_nodes STOP 1 2 3
		"$REDLOCK_BIN" acquire --trace --json -n -t 8s --node-timeout 7900ms "job-$try" \
			>"$sandbox/out" 2>"$sandbox/trace" 3>&- &
		pid=$!
		until_traced "send acquire"
		sleep 2
		kill_nodes CONT 3
		until_traced "done acquire"
		kill -s STOP "$pid" 2>/dev/null && until_true is_stopped "$pid" && break
		wait "$pid"
		kill_nodes CONT 1 2
	done
	sleep 6.2
	kill -s CONT "$pid"
	await "$pid"
	kill_nodes CONT 1 2
	output=$(<"$sandbox/out")
	json_is 'j["result"] != "OK" and j["token"] is None and j["validity_ms"] == 0'
	exits 79
}

@test "three of five hung: 69 after the node timeout, and what was got is given back" {
	kill_nodes STOP 1 2 3
	timed rl acquire -n --node-timeout 300ms job
	exits 69
	[ "$took" -ge 250 ]
	[ "$took" -lt 2500 ]
	says "no answer in time" "may keep the key"
	until_true has_keys 0 "4 5" job
	want 69 rl release job abc # waits for an answer until the client ends the connection
	says "nodes 1, 2, 3: no answer in time: no answer for 5 seconds" "hint: check the nodes that hang"
	[[ $stderr != *"end the connection"* ]]
	kill_nodes CONT 1 2 3
}

@test "four nodes, two of them somebody else's: busy, nothing left" {
	four=$(node_url 1),$(node_url 2),$(node_url 3),$(node_url 4)
	on_nodes "1 2" set even somebody px 60000
	for wait in -n "-w 700ms"; do
		# shellcheck disable=SC2086 # an option and its value
		want 75 timeout 10 "$REDLOCK_BIN" acquire -r "$four" $wait even
		until_true has_keys 0 "3 4" even
		has_keys 2 "1 2" even
	done
}

@test "replicas refuse: 76, but not while a quorum of masters answers" {
	port=$(node_port 1)
	on_nodes 1 config set repl-diskless-sync-delay 0
	on_nodes "2 3" replicaof 127.0.0.1 "$port"
	until_true is_synced 2
	until_true is_synced 3
	want 0 rl acquire -n job
	rl release -q job "$output"
	on_nodes "4" replicaof 127.0.0.1 "$port"
	until_true is_synced 4
	want 76 rl acquire -n job
	says "read-only replica" "hint: "
	until_true has_keys 0 "$all" job
}

@test "a node that was not waited for is told as that, not as one without an answer" {
	on_nodes "1 2 3" config set maxmemory 1
	kill_nodes STOP 4 5
	for verb in "acquire -n job" "run -n job true"; do
		# shellcheck disable=SC2086 # words
		want 69 rl $verb
		says "nodes 4, 5: not waited for, as its vote could not have made a quorum"
		[[ $stderr != *"no answer yet"* ]]
	done
}

@test "out of memory is one missing vote each, with its reason" {
	on_nodes "1 2" config set maxmemory 1
	want 0 rl acquire -n -v job
	rl release job "$output"
	on_nodes "3" config set maxmemory 1
	want 69 rl acquire -n job
	says "out of memory"
	until_true has_keys 0 "$all" job
}

@test "each cause has its hint, and MISCONF its text with the cause" {
	place=$(on_node 1 config get dir | tail -n 1)
	rm -f "$place/dump.rdb"
	mkdir "$place/dump.rdb"
	on_node 1 config set save "3600 1000"
	on_node 1 bgsave
	cannot_save() { on_node 1 info persistence | grep -q rdb_last_bgsave_status:err; }
	until_true cannot_save
	kill_nodes KILL 2 3
	want 69 rl run -n job true
	says "snapshots, but it's currently unable to persist to disk" "hint: start the nodes that are down (their logs say why" \
		"hint: make room for the node's files, or mend its persistence: its log says why"
	on_node 1 config set save ""
}

@test "a user without the right to SET is 76, without the right to log in 77" {
	on_nodes "1 2 3 4 5" acl setuser reader on '>pw' '~*' +info +client +get +select
	urls=""
	for node in 1 2 3 4 5; do
		urls+=",unix://reader:pw@$(node_dir "$node")/redis.sock"
	done
	REDLOCK_URLS=${urls#,} want 76 rl acquire -n job
	says "may not run the command"
	on_nodes "1 2 3 4 5" acl setuser reader off
	REDLOCK_URLS=${urls#,} want 77 rl acquire job
}

@test "a server that is no Redis is a missing vote" {
	for answer in "HTTP/1.1 400 Bad Request" "<!DOCTYPE HTML>"; do
		is_no_redis "$answer"
	done
}

is_no_redis() { # WHAT IT SAYS
	rm -f "$sandbox/http"*
	/usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(8)
print("ready", flush=True)
open_ones = []  # a close with unread bytes would be seen before the answer
while True:
    c, _ = s.accept()
    try:
        c.sendall(sys.argv[2].encode() + b"\r\n\r\n")
    except OSError:
        pass  # redlock has gone already
    open_ones.append(c)
' "$sandbox/http.sock" "$1" >"$sandbox/http" 3>&- &
	server=$!
	until_true grep -q ready "$sandbox/http"
	want 0 rl acquire -n -v -r "unix://$sandbox/http.sock,$(node_url 1),$(node_url 2)" job
	on_nodes "1 2" del job
	run --separate-stderr rl acquire -n -r "unix://$sandbox/http.sock" job
	end_processes "$server"
	exits 78
	says "another kind of service: speaks HTTP" "hint: correct the host, port or scheme"
	[[ $stderr != *"keep the key"* ]]
}

@test "a Sentinel is no node: the message says so, and no key may be kept" {
	port=$(free_port)
	printf 'port %s\nbind 127.0.0.1\ndir %s\n' "$port" "$sandbox" >"$sandbox/sentinel.conf"
	redis-server "$sandbox/sentinel.conf" --sentinel >"$sandbox/log" 2>&1 3>&- &
	server=$!
	until_true redis-cli -p "$port" ping
	export REDLOCK_URLS=redis://127.0.0.1:$port
	for command in "acquire -n job" "run -n job true" "check job token" "release job token" status; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr rl $command
		[ "$status" = 78 ] || break
		says "another kind of service: a Sentinel that holds no keys: give the address of its master"
		[[ $stderr != *"keep the key"* && $stderr != *"unknown command"* ]]
	done
	want 2 rl doctor
	[[ $output == *"0 warnings"* && $output != *unseen* ]]
	want 78 rl acquire -n -r "$REDLOCK_URLS/1" job
	says "one without databases such as a Sentinel: give the address of its master"
	end_processes "$server"
	export REDLOCK_URLS=local
	exits 78
}

@test "a server in protected mode is named, with what to set" {
	own_network='ip link set lo up && ip addr add 192.0.2.1/32 dev lo'
	unshare -rn sh -c "$own_network" || skip "no network namespaces"
	local verb
	for verb in "doctor --json" status init; do
		run --separate-stderr unshare -rn bash -c "$own_network
			cd '$sandbox'; redis-server --bind 192.0.2.1 --port 7001 --save '' >log 2>&1 3>&- & pid=\$!
			until (: </dev/tcp/192.0.2.1/7001) 2>/dev/null; do sleep 0.02; done
			'$REDLOCK_BIN' $verb --node-timeout 2s -r redis://192.0.2.1:7001; code=\$?
			kill \$pid; wait; exit \$code"
		if [ "$verb" = "doctor --json" ]; then
			exits 2
			json_is "'is in protected mode' in j['nodes'][0]['findings'][0]['text']" \
				"'protected-mode no' in j['nodes'][0]['findings'][0]['advice']"
		else
			exits 77
			says "the server is in protected mode" "hint: set a password on the server (requirepass, or an ACL user)" "protected-mode no"
		fi
	done
	want 0 "$REDLOCK_BIN" help troubleshooting DENIED
	[[ $output == *"AUTH (77): the server is in protected mode"* ]]
}
