#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# doctor: each row of its table is true once, on real servers where there are such.
load helper
load doctor_helper

setup() {
	start_cluster 5
	servers=()
}

teardown() {
	end_processes "${servers[@]}"
	kill_nodes CONT 1 2 3 4 5 2>/dev/null || true
	stop_cluster
}

# A server of this machine beside the cluster: NAME.sock in the sandbox. Options of redis-server.
own_server() { # NAME [OPTION...]
	mkdir "$sandbox/$1"
	redis-server --port 0 --save '' --dir "$sandbox/$1" --unixsocket "$sandbox/$1.sock" "${@:2}" >"$sandbox/$1.log" 2>&1 3>&- &
	servers+=($!)
	until_true test -S "$sandbox/$1.sock"
}

odd_server() { # NAME MODE
	/usr/bin/python3 "$BATS_TEST_DIRNAME/hostile.py" serve "$sandbox/$1.sock" "$2" >"$sandbox/$1.log" 3>&- &
	servers+=($!)
	until_true grep -q ready "$sandbox/$1.log"
}

info_says() { # NODE SECTION LINE
	on_node "$1" info "$2" | grep -q "^$3"
}

set_clock() { # FILE NANOSECONDS
	/usr/bin/python3 -c 'import struct, sys; open(sys.argv[1], "r+b").write(struct.pack("q", int(sys.argv[2])))' "$@"
}

shifted_servers() { # NANOSECONDS NAME...
	local name ns=$1
	shift
	for name; do
		head -c 8 /dev/zero >"$sandbox/clock-$name"
		set_clock "$sandbox/clock-$name" "$ns"
		LD_PRELOAD=$REDLOCK_CLOCK FAULTS_CLOCK=$sandbox/clock-$name own_server "$name"
	done
}

user() { # RIGHT...: user u on all nodes
	on_nodes "1 2 3 4 5" acl setuser u reset on '>S3cret' "$@"
}

as_user=(--user u --prefix app:)

@test "every row has its test" {
	sed -nE 's/^ +\{"([a-z-]+)", DOCTOR_.*/\1/p' "$BATS_TEST_DIRNAME/../../tools/redlock/doctor/checks.c" >"$sandbox/rows"
	[ "$(wc -l <"$sandbox/rows")" -gt 30 ]
	while read -r check; do
		grep -qE "finds [^\"]* $check " "$BATS_TEST_DIRNAME"/{doctor,doctor_guard,doctor_sentinels,redis_cluster}.bats || { echo "no test of $check" && exit 1; }
	done <"$sandbox/rows"
}

@test "nothing is wrong: 0, and each node is fine; notes are for who asks" {
	want 0 rl doctor
	[[ $output == "5 nodes, 3 needed: 0 errors, 0 warnings, "*" (-v shows them)"* ]]
	[ "$(grep -c '^  node [1-5] unix://.*: fine, [0-9]* us, \(Redis\|Valkey\) [0-9.]*, started [0-9].* ago$' <<<"$output")" = 5 ]
	[ "$(grep -c '^guard: auto; no record: this set is plain$' <<<"$output")" = 1 ]
	[ "$(wc -l <<<"$output")" = 7 ]
	want 0 rl doctor -v
	[[ $output == *"the set: note: 5 of 5 nodes are on this machine"*"all nodes: note: keeps nothing on disk"* ]]
	[[ $output != *fine* ]]
	doctor 0
	finds 0 this-machine note "5 of 5"
	finds 0 same-list note "every host must use this list of 5 nodes"
	json_is 'j["result"] == "OK" and j["errors"] == j["warnings"] == j["unseen"] == 0 and j["quorum"] == 3'
	json_is 'all(n["vote"] == "YES" and abs(n["clock_offset_us"]) <= n["clock_error_us"] + 1000 and n["keys_seen"] == 0 and 0 <= n["uptime_s"] < 100000 for n in j["nodes"])'
	[ "$(on_node 1 dbsize)" = 0 ]
	want 64 rl doctor job
}

@test "votes, each with what to do; and the set without a quorum" {
	kill_nodes KILL 1
	on_nodes 2 config set maxmemory 1
	doctor 2
	finds 1 vote error "not reachable"
	finds 2 vote error "out of memory"
	lacks 0 quorum
	on_nodes 3 config set min-replicas-to-write 1
	doctor 2
	finds 0 quorum error "2 of 5 nodes would grant one, 3 are needed"
	want 2 rl doctor
	[[ $output == *"node 3 unix://"*": error: too few replicas"*"; connect the node's replicas"* ]]
}

@test "two of five hang: within 3 s, and the rest is looked at" {
	kill_nodes STOP 2 4
	on_nodes 5 config set notify-keyspace-events KEA
	SECONDS=0
	want 2 "$REDLOCK_BIN" doctor --json
	[ "$SECONDS" -le 3 ]
	finds 2 vote error "no answer in time"
	finds 4 vote error "no answer in time"
	finds 5 keyspace-events note AKE
	lacks 1 vote
}

@test "31 nodes" {
	"$REDLOCK_BIN" cluster stop -q
	"$REDLOCK_BIN" cluster start -q --nodes 31
	SECONDS=0
	doctor 0
	[ "$SECONDS" -le 20 ] # a node timeout for each would be a minute
	json_is 'len(j["nodes"]) == 31'
}

@test "one server by two addresses; listed twice by one address it is refused, as everywhere" {
	doctor 2 -r "$(node_url 1)" -r "redis://127.0.0.1:$(node_port 1)" -r "$(node_url 2)"
	finds 1 same-server error "the same server as node 2 redis://127.0.0.1"
	finds 2 same-server error "the same server as node 1 unix://"
	lacks 3 same-server
	want 78 rl doctor -r "$(node_url 1)" -r "$(node_url 1)?db=1"
}

@test "a replica, its master, and what it is afterwards" {
	on_nodes 2 replicaof 127.0.0.1 "$(node_port 1)"
	until_true info_says 1 replication connected_slaves:1
	doctor 2
	finds 1 replicas warning "1 replica:"
	doctor 1 -r "$(node_url 1)?replicas=1"
	finds 1 worth note "a crash forgets it; 1 replica, of which it waits for 1: a replica that takes over may be one"
	finds 1 worth note "did not acknowledge it; it gives no fencing token"
	doctor 2 -r "$(node_url 3)?replicas=1"
	finds 1 few-replicas error "0 of the 1 replicas are connected"
	doctor 2
	finds 2 replica error "of 127.0.0.1:"
	finds 2 vote error "read-only replica"
	on_nodes 2 replicaof no one
	doctor 1
	finds 2 was-replica warning "took over"
}

@test "another client keeps its key beside the holder's, by another list of nodes maybe" {
	on_nodes "1 2 3" set job "$(printf '%040d' 1)|one:1" px 600000
	on_nodes 4 set job "$(printf '%040d' 2)|other:2" px 600000
	doctor 1
	finds 0 rival warning "of \\'job\\' on node 4"
	on_nodes "1 2 3" del job
	doctor 0
	lacks 0 rival
}

@test "a list with another node than the guarded set has" {
	three=(-r "$(node_url 1)" -r "$(node_url 2)")
	want 0 rl init "${three[@]}" -r "$(node_url 3)" --fresh
	doctor 2 "${three[@]}" -r "$(node_url 4)"
	finds 0 members error "redlock init --replace $(node_url 3) $(node_url 4) (with --dead"
}

@test "a node of a cluster" {
	own_server one --cluster-enabled yes --port "$(free_port)" --bind 127.0.0.1 --cluster-port "$(free_port)"
	doctor 2 -r "unix://$sandbox/one.sock"
	finds 1 cluster error "cannot vote on every name"
	finds 0 one-node note "one node"
}

cluster_is_up() { redis-cli -s "$1" cluster info | grep -q cluster_state:ok; }

@test "a whole cluster, the right that it alone needs, and a server that is no member" {
	port=$(free_port)
	own_server one --cluster-enabled yes --port "$port" --bind 127.0.0.1 --cluster-port "$(free_port)"
	redis-cli -s "$sandbox/one.sock" cluster addslotsrange 0 16383
	until_true cluster_is_up "$sandbox/one.sock"
	doctor 0 -r "redis+cluster://127.0.0.1:$port/"
	finds 1 whole-cluster note "is a cluster, of 1 master (:$port: up, 16384 slots, 0 replicas, "
	lacks 1 rights
	redis-cli -s "$sandbox/one.sock" acl setuser default -asking
	doctor 2 -r "redis+cluster://127.0.0.1:$port/"
	finds 1 rights error "+asking"
	own_server two --port "$((port = $(free_port)))" --bind 127.0.0.1
	doctor 2 -r "redis+cluster://127.0.0.1:$port/"
	finds 1 vote error "127.0.0.1:$port is not a member of a Redis Cluster"
}

@test "eviction: by policy, and when it has happened" {
	on_nodes 1 config set maxmemory 100mb
	doctor 0
	for policy in volatile-ttl allkeys-lru; do
		on_nodes 1 config set maxmemory-policy $policy
		doctor 2
		finds 1 eviction error $policy
	done
	on_nodes 1 config set maxmemory 4mb
	on_nodes 1 eval "for i = 1, 80 do redis.call('set', 'k' .. i, string.rep('x', 100000), 'px', 60000) end" 0
	on_nodes 1 config set maxmemory 0
	doctor 1
	finds 1 evicted warning "has evicted "
}

@test "persistence on disk" {
	keeps() { # CODE LEVEL TEXT
		doctor "$1"
		finds 1 persistence "$2" "$3"
	}
	keeps 0 note "nothing on disk"
	on_nodes 1 config set save "3600 1"
	keeps 0 note "snapshots only"
	on_nodes 1 config set appendonly yes
	until_true info_says 1 persistence aof_rewrite_in_progress:0
	keeps 0 note "up to two seconds"
	on_nodes 1 config set appendfsync no
	keeps 0 note "half a minute"
	on_nodes 1 config set appendfsync always
	doctor 0
	lacks 1 persistence
	on_nodes 1 config set no-appendfsync-on-rewrite yes
	keeps 1 warning "but no-appendfsync-on-rewrite yes"
	# Without CONFIG the log is seen, and how often it is synced is not.
	user '~app:*' '~{app:*' '~redlock:set' '&redlock:wake:*' +@all '-config'
	REDLOCK_AUTH=S3cret doctor 0 "${as_user[@]}"
	lacks 1 persistence
	finds 2 persistence note "no append-only file"
}

@test "files that cannot be written" {
	mkdir "$(node_dir 1)/dump.rdb" "$(node_dir 1)/dump.rdb/x"
	on_nodes 1 config set save "3600 1"
	on_node 1 bgsave
	until_true info_says 1 persistence rdb_last_bgsave_status:err
	doctor 2
	finds 1 write-error warning "rdb_last_bgsave_status is err"
	finds 1 vote error "cannot persist"
	rm -r "$(node_dir 1)/dump.rdb"
}

@test "a clock that is off, ours that is, one that stands, and one that runs" {
	shifted_servers 20000000000 ahead
	shifted_servers -9223372036854775808 still
	doctor 2 -r "unix://$sandbox/ahead.sock" -r "unix://$sandbox/still.sock" -r "$(node_url 1)" -r "$(node_url 2)" -r "$(node_url 3)"
	finds 1 clock-offset warning " s ahead of that of most nodes"
	finds 2 clock-stands error "stands still"
	lacks 3 clock-offset
	lacks 0 own-clock
	json_is '19900000 < j["nodes"][0]["clock_offset_us"] < 20100000'
	set_clock "$sandbox/clock-ahead" -20000000000
	set_clock "$sandbox/clock-still" -20000000000
	doctor 1 -r "unix://$sandbox/ahead.sock" -r "unix://$sandbox/still.sock"
	finds 1 clock-offset warning " s behind that of this machine"
	doctor 1 -r "unix://$sandbox/ahead.sock" -r "unix://$sandbox/still.sock" -r "$(node_url 1)"
	finds 0 own-clock warning " s ahead of that of most nodes, and agrees with that of 1: either the clocks of most nodes are wrong, or these"
	finds 3 clock-offset warning " s ahead of that of most nodes, as is that of this machine"
	set_clock "$sandbox/clock-ahead" 20000000000 # no two nodes agree
	doctor 1 -r "unix://$sandbox/ahead.sock" -r "unix://$sandbox/still.sock" -r "$(node_url 1)"
	finds 1 clock-offset warning " s ahead of that of this machine"
	finds 2 clock-offset warning " s behind that of this machine"
	lacks 3 clock-offset
	finds 0 own-clock warning "not that of 2 of 3 nodes, and most nodes do not agree on the time either"
	/usr/bin/python3 - "$sandbox/clock-ahead" >"$sandbox/runs" 3>&- <<-'END' &
		import struct, sys, time
		begin = time.monotonic_ns()
		with open(sys.argv[1], "r+b", buffering=0) as file:
		    while time.monotonic_ns() - begin < 20e9:
		        file.seek(0)
		        file.write(struct.pack("q", (time.monotonic_ns() - begin) // 10))
		        if time.monotonic_ns() - begin > 1e8:
		            print("runs", flush=True)
		        time.sleep(0.001)
	END
	servers+=($!)
	until_true grep -q runs "$sandbox/runs"
	doctor 2 -r "unix://$sandbox/ahead.sock" -r "$(node_url 1)" -r "$(node_url 2)"
	finds 1 clock-rate error "too fast or too slow, or was set meanwhile: it gained "
	lacks 2 clock-rate
}

@test "slow, and too old" {
	odd_server slow slow
	odd_server old old
	doctor 1 -r "unix://$sandbox/slow.sock" -r "unix://$sandbox/old.sock" -r "$(node_url 1)" --node-timeout 1s
	finds 1 latency warning "of a node timeout of 1000 ms"
	lacks 2 latency
	finds 2 version warning "Redis 5.0.3 is older than any server that redlock is for"
}

@test "a managed service or a fork, by what INFO tells" {
	urls=() names=(ElastiCache MemoryDB Upstash Dragonfly Garnet KeyDB)
	for name in "${names[@]}"; do
		odd_server "$name" "$name"
		urls+=(-r "unix://$sandbox/$name.sock")
	done
	doctor 1 "${urls[@]}" -r "$(node_url 1)"
	for i in "${!names[@]}"; do finds $((i + 1)) service note "${names[i]}, on which redlock was not tried"; done
	lacks 7 service
}

@test "a known defect of a version is a note" {
	if on_node 1 info server | grep -qE '^redis_version:7\.0\.' && ! on_node 1 info server | grep -q ^valkey_version; then
		doctor 0
		finds 1 version note "answers twice to a client that CLIENT UNBLOCK wakes"
	fi
}

# The rules of `help acl`: one per line, without the user.
rules() {
	"$REDLOCK_BIN" help acl | sed -n 's/^  ACL SETUSER redlock //p' | tr '\n' ' ' | sed 's/ *reset/\nreset/g' | sed '1d; s/>PASSWORD/>S3cret/; s/PREFIX/app:/g'
}

lists() { # NODE RIGHT: it is among those that the user lacks
	json_is "[f for f in j['nodes'][$1 - 1]['findings'] if f['check'] in ('rights', 'record', 'unseen') and '$2' in f['advice'].replace(';', ' ').replace(',', ' ').split()]"
}

@test "the rules of help acl suffice, and each right that is lacking is named" {
	export REDLOCK_AUTH=S3cret
	while IFS= read -r rule; do
		read -ra words <<<"$rule"
		user "${words[@]:3}"
		doctor 0 "${as_user[@]}"
		finds 1 unseen unseen "CONFIG GET is not permitted or fails: NOPERM"
		finds 1 unseen unseen "SCAN is not permitted"
		for ((at = 3; at < ${#words[@]}; at += 5)); do
			for node in $all; do
				on_nodes "$node" acl setuser u reset on '>S3cret' "${words[@]:3:at + node - 4}" "${words[@]:at + node}"
			done
			for _ in 1 2 3 4 5; do # a busy machine may take longer than the second that a question has
				run --separate-stderr rl doctor --json "${as_user[@]}"
				[[ $output == *'"check":"silent"'* ]] || break
			done
			for node in $all; do
				word=${words[at + node - 1]-+select}
				[[ "$word" =~ ^\+(select|asking|wait)$ ]] || lists "$node" "$word"
			done
		done
	done < <(rules)
}

@test "how bad it is that a right is lacking" {
	export REDLOCK_AUTH=S3cret
	read -ra words <<<"$(rules | head -n 1)"
	user "${words[@]:3}"
	on_nodes 1 acl setuser u -get
	on_nodes 2 acl setuser u -eval
	on_nodes 3 acl setuser u -info '-client|kill'
	on_nodes 4 acl setuser u -time
	on_nodes 5 acl setuser u -type
	doctor 2 "${as_user[@]}"
	finds 1 rights error "rights that locks need: +get"
	finds 2 rights error "neither scripts nor transactions"
	finds 3 rights warning "lacks +client|kill +info: after a broken connection"
	finds 3 unseen unseen "INFO is not permitted"
	finds 4 rights note "lacks +time: waiters have no queue"
	finds 4 unseen unseen "TIME is not permitted"
	finds 5 rights note "lacks +type: "
	lists 1 +get
	on_nodes 4 acl setuser u +time resetchannels
	doctor 2 "${as_user[@]}"
	finds 4 rights warning "lacks &redlock:wake:*: waiters have no queue, and who wants alone what others share may never have it"
	on_nodes 2 acl setuser u +watch +multi +exec
	doctor 2 "${as_user[@]}"
	finds 2 rights note "may run no scripts"
}

@test "the needs of a guarded set are errors where there is one, or is to be one" {
	export REDLOCK_AUTH=S3cret
	read -ra words <<<"$(rules | head -n 1)"
	user "${words[@]:3}"
	on_nodes 1 acl setuser u -hset
	on_nodes 2 acl setuser u -hdel
	doctor 0 "${as_user[@]}" --guard=auto
	finds 1 rights note "lacks +hset: waiters have no queue"
	doctor 2 "${as_user[@]}" --guard=require
	finds 1 rights error "a guarded set needs: +hset"
	REDLOCK_AUTH='' rl init -q --fresh
	on_nodes 3 acl setuser u -hget
	doctor 2 "${as_user[@]}" --guard=auto
	finds 1 rights error "a guarded set needs: +hset"
	finds 2 rights error "a guarded set needs: +hdel"
	finds 3 rights error "a guarded set needs: +hget"
	lacks 4 rights
	on_nodes 3 acl setuser u +watch +multi +exec -eval # a plain lock needs none
	on_nodes 4 acl setuser u -mget
	doctor 2 "${as_user[@]}" --guard=auto
	finds 3 rights error "a guarded set needs: +eval +hget"
	finds 4 rights error "a guarded set needs: +mget"
}

@test "no password is shown, whatever is wrong" {
	user '~x*' +ping
	for options in "--user u --password-file $sandbox/pw" "-r unix://u:S3cret@$(node_dir 1)/redis.sock" "-r unix://u:wr0ngS3cret@$(node_dir 1)/redis.sock"; do
		echo S3cret >"$sandbox/pw"
		chmod 600 "$sandbox/pw"
		for format in -v --json; do
			# shellcheck disable=SC2086 # a list
			run rl doctor $format $options
			exits 2
			[[ $output != *S3cret* ]]
		done
	done
}

@test "keys without expiry: under the prefix, and without a prefix" {
	on_nodes 1 mset app:a 1 app:b 2 'ap*:c' 3
	on_nodes 1 set app:d x px 60000
	doctor 0
	finds 1 endless note "without expiry, 3 of 4"
	doctor 1 --prefix app:
	finds 1 endless warning "without expiry, 2 of 3, "
	doctor 1 --prefix 'ap*:'
	finds 1 endless warning "without expiry, 1 of 1, "
	lacks 2 endless
	lacks 0 endless-lock
	json_is '[n["keys_seen"] for n in j["nodes"]] == [1, 0, 0, 0, 0]'
	on_nodes 2 eval "for i = 1, 400000 do redis.call('set', 'app:' .. i, i) end" 0
	doctor 1 --prefix app:
	finds 2 sample note "were seen"
	finds 2 endless warning "that were looked at (there was no time for all)"
	lacks 1 sample
}

@test "a lock without expiry on so many nodes that nobody gets it is an error, with and without a prefix" {
	token=0123456789abcdef0123456789abcdef01234567
	on_nodes "1 2" set app:few "$token|a:1"
	doctor 0
	lacks 0 endless-lock
	on_nodes "$all" set app:digest "$token"
	doctor 0
	on_nodes "3 4 5" set $'app:job\e' "$token|a:1"
	on_nodes "1 2" set $'app:job\e' "$token|b:1" px 60000
	doctor 2
	finds 0 endless-lock error "(without expiry on 3 of 5 nodes)"
	json_is '"locks that never end: '"'app:job\\\\x1b'"' (" in j["findings"][0]["text"] and "digest" not in str(j["findings"])'
	doctor 2 --prefix app:
	finds 0 endless-lock error "(without expiry on 3 of 5 nodes)"
	finds 0 endless-lock error "(without expiry on 5 of 5 nodes)"
	run --separate-stderr rl doctor --prefix app:
	[[ $output == *"1 error, "*"the set: error: locks that never end: "*"redlock break NAME"* ]]
}

@test "a master of Sentinels keeps its replicas; a name that no Sentinel knows is no name that does not resolve" {
	master=$(node_port 1) port=$(free_port)
	own_server replica --replicaof 127.0.0.1 "$master"
	printf 'port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor jobs 127.0.0.1 %s 1\n' "$port" "$sandbox" "$master" >"$sandbox/sentinel.conf"
	redis-server "$sandbox/sentinel.conf" --sentinel >"$sandbox/sentinel.log" 2>&1 3>&- &
	servers+=($!)
	until_true redis-cli -p "$port" ping
	has_replica() { on_node 1 info replication | grep -q '^connected_slaves:1'; }
	until_true has_replica
	doctor 1 -r "redis+sentinel://127.0.0.1:$port/jobs"
	finds 1 replicas warning "has 1 replica"
	json_is 'all("detach" not in f["advice"] for f in j["nodes"][0]["findings"]) and any("redlock init" in f["advice"] for f in j["nodes"][0]["findings"])'
	want 69 rl acquire --json -n -r "redis+sentinel://127.0.0.1:$port/none" job
	json_is 'j["reason"] == "MASTER" and j["hint"].startswith("check the master")'
	says "not found through its Sentinels: no Sentinel knows a master none"
	[[ $stderr != *resolved* ]]
}

@test "findings from the URLs: TLS, one host, an even number" {
	doctor 2 -r redis://192.0.2.1:1 -r rediss://192.0.2.1:2 -r redis://No-Such-Host.invalid -r redis://no-such-host.INVALID:1 -r "$(node_url 1)" \
		-r "$(node_url 2)" --node-timeout 300ms
	finds 1 tls warning "does not use TLS"
	lacks 2 tls
	finds 3 tls warning "does not use TLS"
	lacks 5 tls
	finds 0 even warning "6 nodes tolerate no more failures than 5"
	finds 0 same-host warning "nodes 1, 2 are on 192.0.2.1; nodes 3, 4 are on "
	finds 0 this-machine note "2 of 6"
	doctor 2 -r "$(node_url 1)" -r redis://192.0.2.1:1 --node-timeout 300ms
	finds 0 even warning "2 nodes tolerate no failure"
}

@test "a note about servers on this machine is a warning about others" {
	own_network='ip link set lo up && ip addr add 192.0.2.1/32 dev lo'
	unshare -rn sh -c "$own_network" || skip "no network namespaces"
	want 1 unshare -rn bash -c "$own_network
		cd '$sandbox'; redis-server --bind 192.0.2.1 --port 7001 --save '' --protected-mode no >log 2>&1 3>&- & pid=\$!
		until (: </dev/tcp/192.0.2.1/7001) 2>/dev/null; do sleep 0.02; done
		'$REDLOCK_BIN' doctor --json --node-timeout 2s -r redis://192.0.2.1:7001; code=\$?
		kill \$pid; wait; exit \$code"
	finds 1 persistence warning "keeps nothing on disk"
	finds 1 tls warning "does not use TLS"
}

@test "the records of a guarded set" {
	doctor 0
	finds 0 no-guard note "is not guarded"
	doctor 2 --guard=require
	finds 0 no-guard error "no lock can be acquired"
	rl init -q --fresh
	doctor 0 --guard=require
	lacks 0 no-guard
	lacks 1 endless
	on_nodes 1 flushall
	on_nodes 2 hset redlock:set pass gone:
	on_nodes 3 hset redlock:set config 00112233445566aa pass gone:
	on_nodes 4 hdel redlock:set floor
	on_nodes 5 hset redlock:set mode removed
	doctor 2 --guard=off
	finds 0 guard-off warning "this client ignores the record of set $(on_node 2 hget redlock:set set)"
	finds 1 no-record warning "has lost it"
	finds 2 quarantine warning "it votes in 75.6 s"
	finds 4 no-counters warning "no fencing numbers"
	lacks 0 no-counters
	finds 5 record error "says that it was removed from the set"
	finds 3 record error "is of another configuration"
	on_nodes 2 hset redlock:set qrid "$(on_node 2 info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')" qid 1 quntil 1
	on_nodes "1 2 3 4 5" hdel redlock:set "done"
	doctor 2 --guard=off
	finds 2 quarantine-over note "the next guarded client admits it"
	finds 0 members-change warning "not finished"
}

@test "a maximum TTL that was edited at one node" {
	rl init -q --fresh --max-ttl 60s
	on_nodes 2 hset redlock:set ttl 600000
	doctor 2 --guard=require
	finds 2 record error "has another maximum TTL than that of another node"
	lacks 1 record
	on_nodes 2 hset redlock:set ttl 60000
	on_nodes 1 hset redlock:set config abc step 2
	doctor 2 --guard=require
	finds 1 record error "is damaged: \`redlock init\` mends it"
	lacks 2 record
	rl init -q
	doctor 0 --guard=require
}

@test "a configured TTL beyond the maximum of the set: its line, and a remedy that works" {
	rl init -q --fresh --max-ttl 2s
	mkdir -p "$XDG_CONFIG_HOME/redlock"
	echo 'ttl = 30s' >"$XDG_CONFIG_HOME/redlock/redlock.conf"
	doctor 2
	finds 0 ttl error "the TTL is 30s ($XDG_CONFIG_HOME/redlock/redlock.conf:1), and the node set permits 2s at most"
	lacks 1 vote
	want 76 rl status
	want 76 rl run -n job touch "$sandbox/entered"
	says "hint: give a shorter --ttl; for a longer maximum, end all locks, then \`redlock init --plain\`"
	want 0 rl init --plain
	want 0 rl init --fresh --max-ttl 30s
	want 0 rl run -n job true
	want 0 rl status
	doctor 0
}

@test "fencing numbers that are damaged, brought by clients, or gone at a majority" {
	rl init -q --fresh
	on_nodes 1 hset redlock:set gmax -5
	on_nodes 2 hset redlock:set floor 9007199254740992 qid 1
	doctor 1 --guard=require
	finds 1 no-counters warning "nobody brings them"
	finds 2 no-counters note "clients bring them"
	lacks 0 no-counters
	want 0 rl status --json
	json_is 'j["nodes"][0]["guard"]["gmax"] is None' 'j["nodes"][1]["guard"]["floor"] is None' 'j["nodes"][2]["guard"]["floor"] > 0'
	on_nodes 3 hdel redlock:set gmax
	doctor 1 --guard=require
	finds 0 no-counters warning "3 of 5 nodes know no fencing numbers"
	finds 2 no-counters warning "nobody brings them"
	want 69 rl acquire -n -t 5s --guard=require --fence job
	says "redlock init --new-epoch"
	want 0 rl acquire -n -t 5s --guard=require job
	want 0 rl init --new-epoch
	doctor 0 --guard=require
	lacks 1 no-counters
	on_nodes "1 4" hset redlock:set gmax 9007199254740990
	doctor 2 --guard=require
	finds 1 no-counters error "has used up its fencing numbers"
	finds 4 no-counters error "has used up its fencing numbers"
	lacks 2 no-counters
}

@test "a node that takes one connection, and no second one" {
	on_nodes 3 config set maxclients 1
	doctor 1
	finds 3 silent warning "max number of clients"
}

@test "a signal ends it at once" {
	kill_nodes STOP 1 2 3
	"$REDLOCK_BIN" doctor --node-timeout 5s >"$sandbox/out" 3>&- &
	pid=$!
	until_executed "$pid"
	sleep 0.3
	kill -s TERM "$pid"
	SECONDS=0
	await "$pid" 143
	[ "$SECONDS" -le 1 ]
	[ ! -s "$sandbox/out" ]
}

@test "without memory: 125, and always with a sentence" {
	if has_asan; then skip "AddressSanitizer needs more address space than any limit"; fi
	local limit silent=0 told=0 code=125
	for ((limit = 3000; limit < 5000 && code > 2; limit += 8)); do # below some limit it is not even loaded, or has no stack
		code=0
		(ulimit -v "$limit" && exec "$REDLOCK_BIN" doctor -r "$(node_url 1)") >"$sandbox/out" 2>"$sandbox/err" || code=$?
		[ "$code" != 125 ] || told=$((told + 1))
		[ "$code" != 125 ] || grep -q "redlock: .*memory" "$sandbox/err" || silent=$((silent + 1))
	done
	echo "$told told, $silent not, ended with $code at $limit"
	[ "$told" -gt 0 ] && [ "$silent" = 0 ] && [ "$code" -le 2 ]
}
