#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock-exporter: what it says of nodes and locks, to whom, and what it keeps to itself.
# shellcheck disable=SC2154 # bats and the helpers set them

load helper
load exporter_helper

setup() {
	[ -n "${REDLOCK_EXPORTER-}" ] || skip "redlock-exporter was not built: libmicrohttpd-dev is missing"
	start_cluster 3
	use_cluster_urls 3
}

teardown() {
	stop_exporter
	[ -z "${shifted-}" ] || end_processes "$shifted"
	[ -z "${made_here-}" ] || { export REDLOCK_URLS=local; stop_cluster; }
}

@test "series of nodes and of locks, in the format of Prometheus" {
	"$REDLOCK_BIN" acquire -q -t 300s nightly
	start_exporter --lock nightly --lock nightly --lock free
	get /metrics >"$sandbox/metrics"
	if command -v promtool; then promtool check metrics <"$sandbox/metrics"; fi
	[ "$(grep -c '^redlock_node_up{node="unix://.*"} 1$' "$sandbox/metrics")" = 3 ]
	grep -qx 'redlock_quorum_reachable 1' "$sandbox/metrics"
	grep -qx 'redlock_lock_held{lock="nightly"} 1' "$sandbox/metrics"
	grep -qx 'redlock_lock_votes{lock="nightly"} 3' "$sandbox/metrics"
	grep -qx 'redlock_lock_held{lock="free"} 0' "$sandbox/metrics"
	[ "$(sed -n 's/^redlock_lock_remaining_seconds{lock="nightly"} \([0-9]*\).*/\1/p' "$sandbox/metrics")" -gt 200 ]
}

@test "a hung node is down in a second, and a lost quorum is told" {
	start_exporter --lock job
	freeze_node() { kill -s "$1" "$(cat "$XDG_RUNTIME_DIR/redlock/cluster/node-$2/redis.pid")"; }
	freeze_node STOP 1
	until [ "$(series redlock_nodes_up)" = 2 ]; do sleep 0.1; done
	[ "$(series redlock_quorum_reachable)" = 1 ]
	get /metrics | awk '/^redlock_look_duration_seconds/ { exit !($2 < 1) }'
	freeze_node STOP 2
	until [ "$(series redlock_quorum_reachable)" = 0 ]; do sleep 0.1; done
	[ -z "$(series 'redlock_lock_held{lock="job"}')" ] # nobody knows
	get /healthz | grep -qx ok                              # the exporter works
	get / | grep -q 'no quorum'
	freeze_node CONT 1
	freeze_node CONT 2
	until [ "$(series redlock_nodes_up)" = 3 ]; do sleep 0.1; done
}

@test "a clock that steps in a guarded set: the node has no vote, and the series says why" {
	head -c 8 /dev/zero >"$sandbox/clock"
	LD_PRELOAD=$REDLOCK_CLOCK FAULTS_CLOCK=$sandbox/clock redis-server --port 0 --save '' --dir "$sandbox" \
		--unixsocket "$sandbox/shifted.sock" >"$sandbox/shifted.log" 2>&1 3>&- &
	shifted=$!
	until_true test -S "$sandbox/shifted.sock"
	REDLOCK_URLS=unix://$sandbox/shifted.sock,$(node_url 1),$(node_url 2)
	"$REDLOCK_BIN" init -q --max-ttl 60s --fresh
	start_exporter
	until [ "$(series redlock_nodes_up)" = 3 ]; do sleep 0.1; done
	printf '\0\0\0\0\0\0\001\0' | dd of="$sandbox/clock" conv=notrunc status=none # some days
	until [ "$(series "redlock_node_clock_withdrawn{node=\"unix://$sandbox/shifted.sock\"}")" = 1 ]; do sleep 0.1; done
	[ "$(series redlock_nodes_up)" = 2 ]
	get /metrics | grep -q '^redlock_node_info{.*vote="CLOCK"} 1$'
}

@test "a node that refuses renewals alone is not up" {
	on_node 1 acl setuser default -get
	start_exporter
	until [ "$(series redlock_nodes_up)" = 2 ]; do sleep 0.1; done
	get /metrics | grep -q '^redlock_node_info{.*vote="NOPERM"} 1$'
	on_node 1 acl setuser default +get
	until [ "$(series redlock_nodes_up)" = 3 ]; do sleep 0.1; done
}

@test "waiters and fencing numbers of a guarded set, and a node in quarantine" {
	"$REDLOCK_BIN" init -q --max-ttl 60s --fresh
	token=$("$REDLOCK_BIN" acquire -t 50s --fence job | head -n 1)
	"$REDLOCK_BIN" acquire -w 60s -t 50s job >/dev/null 3>&- &
	waiter=$!
	start_exporter --lock job --every 500ms
	until [ "$(series 'redlock_lock_waiting{lock="job"}')" = 1 ]; do sleep 0.1; done
	[ "$(series 'redlock_lock_fencing_token{lock="job"}')" -ge 1 ]
	[ "$(get /metrics | grep -c '^redlock_node_guarded{.*} 1$')" = 3 ]
	"$REDLOCK_BIN" release -q job "${token%% *}"
	wait "$waiter"
	on_node 3 flushall >/dev/null
	local node=$XDG_RUNTIME_DIR/redlock/cluster/node-3/redis.sock
	until [ "$(series "redlock_node_quarantined{node=\"unix://$node\"}")" = 1 ]; do sleep 0.1; done
	[ "$(series redlock_nodes_up)" = 2 ]
	get / | grep -q quarantine
	[ "$(series redlock_list_known)" = 1 ]
	on_node 2 flushall >/dev/null
	on_node 1 del job >/dev/null
	forgotten() { [ "$(series redlock_list_known)" = 0 ] && get / | grep -q 'unknown: too few nodes answer, or remember'; }
	until_true forgotten
	listed 'any("may have forgotten" in n["why"] for n in j["list"]["not_listed"])'
}

@test "a majority that votes and has lost its fencing numbers is shown until a new epoch" {
	start_exporter
	[ -z "$(series redlock_fencing_possible)" ] # of a plain set there is nothing to say
	"$REDLOCK_BIN" init -q --max-ttl 1s --fresh
	until [ "$(series redlock_fencing_possible)" = 1 ]; do sleep 0.1; done
	on_nodes "1 2" flushall
	"$REDLOCK_BIN" run --guard=require -t 1s job true # waits for the quarantine
	until [ "$(series redlock_fencing_possible)" = 0 ]; do sleep 0.1; done
	[ "$(get /metrics | grep -c '^redlock_node_fencing_known{.*} 0$')" = 2 ]
	[ "$(series redlock_quorum_reachable)" = 1 ]
	"$REDLOCK_BIN" init -q --new-epoch
	until [ "$(series redlock_fencing_possible)" = 1 ]; do sleep 0.1; done
}

@test "hostile names are harmless in metrics, JSON and page" {
	name=$'<b>"\n\e[31m\\\xff{x="1"} 7'
	"$REDLOCK_BIN" acquire -q -t 300s "$name"
	start_exporter --lock "$name"
	for path in /metrics /locks.json /; do
		get "$path" >"$sandbox/out"
		iconv -f utf-8 -t utf-8 "$sandbox/out" >/dev/null
		run -1 grep -q $'\e' "$sandbox/out"
	done
	run -1 grep -q '<b>"' "$sandbox/out" # the page
	[ "$(get /metrics | grep -c '^redlock_lock_held{')" = 1 ]
	if command -v promtool; then get /metrics | promtool check metrics; fi
	get /locks.json | python3 -c 'import json, sys; assert json.load(sys.stdin)["named"][0]["name"].startswith("<b>\"\n\x1b[31m\\")'
	get / | grep -q '&lt;b&gt;&quot;\\x0a\\x1b\[31m\\\\\\xff'
}

# JSON of /locks.json, once all of these Python expressions of `j` are true.
listed() { # EXPRESSION...
	get /locks.json >"$sandbox/json" && python3 - "$sandbox/json" "$@" <<-'END'
		import json, sys
		j = json.load(open(sys.argv[1]))
		sys.exit(not all(eval(text) for text in sys.argv[2:]))
	END
}

@test "all locks, the odd ones first, in JSON, page and totals" {
	rl() { "$REDLOCK_BIN" "$@" >/dev/null; }
	rl acquire -q -t 300s --owner web:1 zulu
	rl acquire -q -t 300s --owner web:2 --slots 3 pool
	rl acquire -q -t 300s --owner web:3 --slots 3 pool
	rl acquire -q -t 300s --shared many
	on_nodes "1 2 3" set cache:1 value
	on_nodes 1 set below 0123456789abcdef0123456789abcdef01234567 px 300000
	on_nodes "1 3" set '{gone}:redlock:queue' '1wabc.1                     ;' px 300000
	"$REDLOCK_BIN" acquire -w 300s zulu >/dev/null 3>&- &
	waiter=$!
	start_exporter --every 200ms
	until_true listed 'j["list"]["waiting"] == 1' 'len(j["locks"]) == 6'
	listed '[(r["name"], r["kind"], r["odd"]) for r in j["locks"]] == [("below", "lock", ["below-quorum"]),
		("gone", "remainder", ["orphan"]), ("many", "shared", []), ("pool", "slot", []), ("pool", "slot", []), ("zulu", "lock", [])]'
	listed 'j["locks"][5]["owner"] == "web:1"' 'j["locks"][5]["votes"] == 3' 'j["list"]["locks"] == 5' 'j["list"]["odd"] == 2' 'j["list"]["complete"]'
	until_true listed 'j["locks"][5]["held_ms"] > 200' # for so long it has been seen
	get /metrics >"$sandbox/metrics"
	if command -v promtool; then promtool check metrics <"$sandbox/metrics"; fi
	for line in 'redlock_locks{kind="slot"} 2' 'redlock_locks{kind="lock"} 2' 'redlock_locks{kind="foreign"} 0' 'redlock_locks_waiting 1' \
		'redlock_odd_locks{why="orphan"} 1' 'redlock_odd_locks{why="split"} 0' 'redlock_list_known 1'; do
		grep -qx "$line" "$sandbox/metrics"
	done
	run -1 grep -q 'zulu\|web:1' "$sandbox/metrics" # no series by lock that nobody has asked for
	get / >"$sandbox/page"
	grep -q '<td>zulu</td><td>lock</td><td>web:1</td>' "$sandbox/page"
	grep -q '<td>many</td><td>shared</td><td>1 holder (owner [^)]*)</td>' "$sandbox/page"
	kill "$waiter"
	wait "$waiter" || true
}

@test "hostile names, labels and values of others are harmless in the list of all locks" {
	name=$'x\e[31m"\\\n\r\t\xff<b>&\xc2\x9b\u202e'
	on_nodes "1 2 3" set "p:$name" "0123456789abcdef0123456789abcdef01234567|"$'\e]0;x\a"<script>alert(1)</script>\xfe' px 300000
	on_nodes "1 2 3" set "p:value" $'secret\e<script>|label\xff' px 300000
	on_nodes "1 2 3" set "{p:$name}:redlock:fence" $'7<script>\e\xff' px 300000
	on_nodes "1 2 3" set "{p:$name}:redlock:slots" $'-1<script>' px 300000
	on_nodes "1 2" zadd "p:set" 1 $'\e<script>secret'
	printf 'url = %s\nprefix = p:\n' "$REDLOCK_URLS" >"$sandbox/redlock.conf"
	start_exporter --config "$sandbox/redlock.conf" --every 200ms
	until_true listed 'len(j["locks"]) == 3'
	for path in /metrics /locks.json /; do
		get "$path" >"$sandbox/out"
		iconv -f utf-8 -t utf-8 "$sandbox/out" >/dev/null
		run -1 grep -q $'\e\|\a\|\r\|\xc2\x9b\|\u202e' "$sandbox/out"
		run -1 grep -q 'secret\|0123456789abcdef' "$sandbox/out"
	done
	run -1 grep -qi '<script\|<b>&' "$sandbox/out" # the page
	grep -q 'x\\x1b\[31m&quot;\\\\\\x0a\\x0d\\x09\\xff&lt;b&gt;&amp;' "$sandbox/out"
	NAME=$name listed 'bytes.fromhex(next(r for r in j["locks"] if "name_hex" in r)["name_hex"]) == __import__("os").environb[b"NAME"]'
}

@test "rows are bounded, and a long list delays neither metrics nor the end" {
	on_nodes "1 2 3" eval "for i = 1, 1200 do redis.call('set', 'lock:' .. i, '0123456789abcdef0123456789abcdef01234567', 'px', 300000) end" 0
	start_exporter --every 200ms
	until_true listed 'len(j["locks"]) == 1000' 'j["list"]["rows_left_out"] == 200' 'j["list"]["locks"] == 1200'
	get / | grep -q '200 more are not shown'
	stop_exporter
	on_nodes "1 2 3" eval "for i = 1, 300000 do redis.call('set', 'cache:' .. i, '1') end" 0
	start_exporter # with 2 % of a server's time that is a matter of many seconds
	[ "$(series redlock_nodes_up)" = 3 ]
	listed 'j["list"]["time"] is None' 'j["locks"] == []'
	[ -z "$(series 'redlock_locks{kind="lock"}')" ]
	stop_exporter
}

@test "too few nodes that tell their locks: why, and what was known before; --every 0 asks for none" {
	"$REDLOCK_BIN" acquire -q -t 300s job
	start_exporter --every 200ms --lock job
	until_true listed 'len(j["locks"]) == 1'
	one_lock() { get / >"$sandbox/page" && grep -q 'last hour, at most 1 lock<' "$sandbox/page"; }
	patience=40 until_true one_lock # a moment of the history is 10 s long
	grep -q '<b>1 lock</b>' "$sandbox/page"
	grep -q 'last hour: nobody waiting<' "$sandbox/page"
	run -1 grep -q 'at most 0 \|[ >]1 \(locks\|nodes\)' "$sandbox/page"
	for node in 1 2; do on_node "$node" acl setuser default -scan >/dev/null; done
	until_true listed 'not j["list"]["known"]'
	listed 'len(j["locks"]) == 1' 'len(j["list"]["not_listed"]) == 2' '"NOPERM" in j["list"]["not_listed"][0]["why"]'
	[ "$(series redlock_list_known)" = 0 ]
	[ -z "$(series 'redlock_locks{kind="lock"}')" ]
	get / | grep -q 'does not tell its locks: .*NOPERM'
	[ "$(series redlock_nodes_up)" = 3 ]
	for node in 1 2; do on_node "$node" acl setuser default +scan >/dev/null; done
	until_true listed 'j["list"]["known"]' 'j["list"]["not_listed"] == []'
	stop_exporter
	start_exporter --every 0s
	listed 'j["list"]["time"] is None'
	run -64 "$REDLOCK_EXPORTER" --every soon
}

@test "the page names a holder without label in words, and its figures agree" {
	for node in 1 2 3; do on_node "$node" set other "not a lock's value" >/dev/null; done
	start_exporter --lock other
	slow() { # a look between two moments of the history: asked at once, from a process that is there
		sleep 1.1
		python3 - "$(node_dir 1)/redis.sock" "$port" >"$sandbox/page" <<-'END'
			import socket, sys
			page = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
			node = socket.socket(socket.AF_UNIX)
			node.connect(sys.argv[1])
			node.sendall(b"CLIENT PAUSE 60\r\n")
			assert node.recv(100) == b"+OK\r\n"
			page.sendall(b"GET / HTTP/1.0\r\n\r\n")
			print(b"".join(iter(lambda: page.recv(65536), b"")).decode())
		END
		grep -q '<b>1 [^<]*</b><br><span class="ok">up</span>, [0-9]\{2,\}[. ]' "$sandbox/page"
	}
	until_true slow
	python3 - "$sandbox/page" <<-'END'
		import re, sys
		page = open(sys.argv[1]).read()
		assert "held</span> by another program on 3 nodes" in page and "clock -0 ms" not in page, page
		nodes = re.findall(r"up</span>, ([0-9.]+) ms.*?</svg><span class=\"dim\">last hour, at most ([0-9.]+) ms", page)
		assert len(nodes) == 3 and all(float(last) <= float(most) for last, most in nodes), nodes
	END
	for node in 1 2 3; do on_node "$node" del other >/dev/null; done
}

@test "no token and no password in any answer" {
	for node in 1 2 3; do on_node "$node" config set requirepass hunter2secret >/dev/null; done
	(umask 077 && echo hunter2secret >"$sandbox/password")
	printf 'url = %s\npassword-file = %s\n' "$REDLOCK_URLS" "$sandbox/password" >"$sandbox/redlock.conf"
	token=$(REDLOCK_CONFIG=$sandbox/redlock.conf "$REDLOCK_BIN" acquire -t 300s job)
	env -u REDLOCK_URLS "$REDLOCK_EXPORTER" --listen 127.0.0.1:x --config "$sandbox/redlock.conf" 2>&1 | grep -q -- --listen
	start_exporter --config "$sandbox/redlock.conf" --lock job
	[ "$(series redlock_nodes_up)" = 3 ]
	for path in /metrics /locks.json /; do
		get "$path" >>"$sandbox/all"
	done
	run -1 grep -q "hunter2secret\|${token%%|*}" "$sandbox/all" "$sandbox/exporter.log"
	for node in 1 2 3; do
		redis-cli -s "$XDG_RUNTIME_DIR/redlock/cluster/node-$node/redis.sock" -a hunter2secret config set requirepass "" >/dev/null 2>&1
	done
}

@test "200 clients that do not read keep nobody from an answer" {
	start_exporter
	python3 - "$port" <<-'END'
		import socket, sys, urllib.request
		port = int(sys.argv[1])
		slow = []
		for i in range(200):
		    s = socket.create_connection(("127.0.0.1", port), timeout=30)
		    s.sendall(b"GET /metrics HTTP/1.1\r\n" + (b"Host: x\r\n\r\n" if i % 2 else b"Host:"))
		    slow.append(s)
		for i in range(20):
		    with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=30) as answer:
		        assert b"redlock_nodes_up 3" in answer.read()
	END
}

@test "read-only, on loopback, and only where it is told to listen" {
	start_exporter
	[ "$(get / -X POST -o /dev/null -w '%{http_code}')" = 405 ]
	[ "$(get /nothing -o /dev/null -w '%{http_code}')" = 404 ]
	get / -D - -o /dev/null | grep -qi "^content-security-policy: default-src 'none'"
	get / >"$sandbox/page"
	run -1 grep -qi '<script\|http://\|https://' "$sandbox/page"
	run -64 "$REDLOCK_EXPORTER" nightly
	run -78 "$REDLOCK_EXPORTER" --listen 127.0.0.1:"$port"
	[[ $output == *"cannot listen on 127.0.0.1:$port"* ]]
	"$REDLOCK_EXPORTER" --help | grep -q 127.0.0.1:
}
