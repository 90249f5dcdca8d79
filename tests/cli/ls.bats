#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# ls: every kind of lock, every odd state, names and values with any bytes, nodes that hang or refuse, many keys of others.
load helper

all='1 2 3'
token=0123456789abcdef0123456789abcdef01234567

setup_file() { start_cluster 3; }

setup() {
	on_nodes "$all" flushall
}

teardown() {
	[ -z "${watcher-}" ] || kill "$watcher" 2>/dev/null || true
	kill_nodes CONT 1 2 3
}

# $output: the rows as a JSON array, for json_is.
rows() { # CODE OPTION...
	want "$1" rl ls --json "${@:2}"
	output="[$(paste -sd, <<<"$output")]"
}

@test "each kind of lock, with its holder, votes and time" {
	rl acquire -n -t 1m --owner a:1 plain
	rl acquire -n -t 1m --owner b:1 --slots 3 pool
	rl acquire -n -t 1m --owner b:2 --slots 3 pool
	rl acquire -n -t 1m --owner c:1 --shared many
	rl acquire -n -t 1m --owner c:2 --shared many
	rl acquire -n -t 1m --owner d:1 --compat setnx old
	rl acquire -n -t 1m --compat setnx-safe safe
	rl acquire -n -t 1m --owner e:1 --also twin2 twin1
	on_nodes "$all" set cache:1 value
	until_true has_keys 3 "$all" twin2
	rows 0
	json_is '[(r["name"], r["kind"], r["slot"], r["owner"]) for r in j] == [("many", "shared", None, None),
		("old", "setnx", None, "d:1"), ("plain", "lock", None, "a:1"), ("pool", "slot", 0, "b:1"),
		("pool", "slot", 1, "b:2"), ("safe", "lock", None, None), ("twin1", "lock", None, "e:1+1"), ("twin2", "lock", None, "e:1+1")]'
	json_is 'all(r["votes"] == r["nodes"] == r["answered"] == 3 and r["quorum"] == 2 and r["state"] == "held" for r in j)'
	json_is 'all(0 < r["pttl_ms"] <= 60000 and r["odd"] == [] for r in j)' 'j[0]["holder"].startswith("2 holders")'
	json_is 'j[1]["held_is_exact"] and j[1]["held_ms"] > 0' 'j[2]["held_ms"] is None and j[3]["slots"] == 3'
	rows 0 --prefix cache:
	json_is '[(r["name"], r["kind"], r["holder"]) for r in j] == [("1", "foreign", "'"'value'"' of another client")]'
}

@test "each odd state has its word, and --odd shows these alone" {
	odd() { # NAME WORD...
		rows 0 --odd --prefix x: "$1"
		json_is "len(j) == 1 and j[0]['name'] == '$1' and j[0]['odd'] == '${*:2}'.split()"
	}
	rl acquire -n --prefix x: fine
	on_nodes "$all" set x:endless "$token|a:1"
	on_nodes 1 set x:split "$token|a:1" px 60000
	on_nodes 2 set x:split "$token|b:1" px 60000
	on_nodes 3 set x:below "$token|a:1" px 60000
	on_nodes "$all" rpush x:list a
	on_nodes "$all" pexpire x:list 60000
	on_nodes 2 set '{x:gone}:redlock:queue' '1wabc.1                     ;' px 60000
	on_nodes "$all" set '{x:fine}:redlock:fence' 7
	odd endless no-expiry
	odd split split
	odd below below-quorum
	odd list foreign-type
	odd gone orphan
	odd fine no-expiry
	on_nodes "$all" pexpire '{x:fine}:redlock:fence' 60000
	rows 0 --odd --prefix x:
	json_is '[r["name"] for r in j] == ["below", "endless", "gone", "list", "split"]'
	json_is 'j[0]["votes"] == 1 and j[0]["state"] == "leftover" and j[1]["pttl_ms"] == -1 and j[4]["holder"] == "2 holders"'
	rows 0 --prefix x: fine
	json_is 'j[0]["fence"] == 7 and j[0]["odd"] == []'
}

@test "--orphans shows side keys without a lock, also those that are kept on purpose" {
	rl release --slots 2 pool "$(rl acquire -n --slots 2 pool | cut -d' ' -f1)"
	rl acquire -n --slots 2 full
	rl acquire -n --slots 2 full
	rl release full "$(on_node 1 get full)" # slot 1 is held: what is beside the name is no remainder
	on_nodes "1 3" set '{gone}:redlock:queue' '1wabc.1                     ;' px 60000
	on_nodes 1 set '{z}:redlock:setnx' '1 1 x'
	rows 0 --orphans
	json_is '[(r["name"], r["kind"], r["odd"]) for r in j] == [("gone", "remainder", ["orphan"]), ("pool", "remainder", []), ("z", "remainder", ["no-expiry", "orphan"])]'
	json_is '[(s["what"], s["key"], s["nodes"]) for s in j[0]["side_keys"]] == [("queue", "{gone}:redlock:queue", 2)] and j[2]["side_keys"][0]["pttl_ms"] == -1'
	rows 0
	json_is '[(r["name"], r["slot"]) for r in j] == [("full", 1), ("gone", None), ("z", None)]'
}

@test "waiters are counted, and names in braces find their side keys" {
	rl acquire -n -t 1m '{tag}:job'
	"$REDLOCK_BIN" acquire -w 30s '{tag}:job' 3>&- >/dev/null &
	watcher=$!
	waits() { rl ls --json | grep -q '"waiting":1,'; }
	until_true waits
	rows 0
	json_is 'len(j) == 1 and j[0]["name"] == "{tag}:job" and j[0]["side_keys"][0]["key"] == "{tag}:job:redlock:queue"'
	kill "$watcher"
	await "$watcher" 143
}

@test "offers that a wait has left for a minute are nothing odd" {
	for worker in 1 2 3; do
		(for _ in {1..5}; do "$REDLOCK_BIN" run -w 60s job true; done) 3>&- &
	done
	wait
	on_nodes "$all" hset '{job}:redlock:offers' abc.1 '' # as a waiter leaves them
	on_nodes "$all" pexpire '{job}:redlock:offers' 60000
	rows 0
	json_is 'j == []'
	rows 0 --orphans
	json_is '[(r["name"], r["odd"]) for r in j] == [("job", [])]'
	on_nodes "$all" del '{job}:redlock:offers'
	on_nodes 2 hset '{job}:redlock:offers' a b
	on_nodes 2 pexpire '{job}:redlock:offers' 90000
	rows 0
	json_is '[(r["name"], r["odd"]) for r in j] == [("job", ["orphan"])]'
}

@test "a value with the form of a token counts without a prefix, a digest without expiry does not" {
	on_nodes "$all" set digest "$token"
	on_nodes "$all" set leased "$token" px 60000
	on_nodes "$all" set labelled "$token|a:1"
	on_nodes "$all" set longer "${token}0" px 60000
	on_nodes "$all" zadd ranking 1 somebody
	rows 0
	json_is '[r["name"] for r in j] == ["labelled", "leased"]'
	rows 0 --prefix l '*e*d'
	json_is '[r["name"] for r in j] == ["abelled", "eased"]'
	rows 0 'l[ei]a*'
	json_is '[r["name"] for r in j] == ["leased"]'
	rows 0 'l[^e]*'
	json_is '[r["name"] for r in j] == ["labelled"]'
}

@test "a name is shown whatever its value is, and only that one" {
	on_nodes "$all" set job foo
	on_nodes "$all" set jobs foo
	on_nodes "$all" set digest "$token"
	rows 0
	json_is 'j == []'
	rows 0 job
	json_is '[(r["name"], r["kind"], r["pttl_ms"], r["odd"], r["votes"]) for r in j] == [("job", "foreign", -1, ["no-expiry"], 3)]'
	rows 0 --odd digest
	json_is '[(r["name"], r["odd"]) for r in j] == [("digest", ["no-expiry"])]'
	rows 0 'job*'
	json_is 'j == []'
	rows 0 --prefix jo b
	json_is '[r["name"] for r in j] == ["b"]'
	for name in missing redlock:set '{job}:redlock:queue'; do
		rows 0 "$name"
		json_is 'j == []'
	done
}

@test "names and values with any bytes are harmless in the table and come back from JSON" {
	name=$'e\e[31m"\\\n\r\t\xff<b>\xc2\x9b\u202e'
	on_nodes "$all" set "$name" "$token|"$'\e]0;x\a"\xfe' px 60000
	on_nodes "$all" set "p:$name" $'\e]0;x\a' px 60000
	for options in "" "--prefix p:"; do
		# shellcheck disable=SC2086 # words
		want 0 rl ls $options
		[ "$(wc -l <<<"$output")" = 2 ]
		[[ $output != *$'\e'* && $output != *$'\xff'* && $output != *$'\xc2\x9b'* && $output == *'e\x1b[31m"\\\x0a'* ]]
	done
	rows 0
	NAME=$name json_is 'bytes.fromhex(j[0]["name_hex"]) == __import__("os").environb[b"NAME"]'
	json_is 'bytes.fromhex(j[0]["owner_hex"]).endswith(b"x\x07\"\xfe")'
	# Without --foreground, timeout also sends CONT, at which LeakSanitizer may wait for ever for our stop.
	timeout --foreground -s INT 2 "$REDLOCK_BIN" ls --follow --every 100ms >"$sandbox/follow" || true
	/usr/bin/python3 "$BATS_TEST_DIRNAME/hostile.py" judge text "$sandbox/follow"
	[ -s "$sandbox/follow" ]
}

@test "--sort puts first what a person looks for" {
	sorted() { # KEY NAME...
		rows 0 --sort "$1"
		json_is "[r['name'] for r in j] == '${*:2}'.split()"
	}
	rl acquire -n -t 10m --owner z:1 a
	rl acquire -n -t 5m --owner y:1 b
	rl acquire -n -t 20m --owner x:1 c
	on_nodes 3 del c
	sorted name a b c
	sorted ttl b a c
	sorted votes c a b
	sorted holder c b a
	want 64 rl ls --sort size
}

@test "the table fits the terminal and is whole elsewhere" {
	on_nodes "$all" set "$(printf 'long/%0100d' 1)" "$token|some.host.name.of.a.large.company.example:12345" px 60000
	on_nodes "$all" set $'wide 世界' "$token|a:1" px 60000
	want 0 rl ls
	[[ $output == *"long/$(printf '%0100d' 1)"*"some.host.name.of.a.large.company.example:12345"* ]]
	[[ $output == NAME*KIND*HOLDER*HELD*VOTES*TTL*WAITERS*FENCE*ODD* ]]
	for width in 40 80 132; do
		COLUMNS=$width script -qec "'$REDLOCK_BIN' ls" /dev/null >"$sandbox/table" </dev/null
		/usr/bin/python3 - "$width" "$sandbox/table" <<-'PYTHON'
			import sys, unicodedata
			lines = open(sys.argv[2], encoding="utf-8", newline="").read().split("\r\n")
			assert lines[0].startswith("NAME") and len(lines) >= 3, lines
			for line in lines:
			    assert sum(2 if unicodedata.east_asian_width(c) == "W" else 1 for c in line) <= int(sys.argv[1]), line
		PYTHON
	done
	grep -q '\.\.\.' "$sandbox/table"
}

@test "--follow writes a line for each change, and ends by a signal" {
	rl acquire -n -t 1m --owner a:1 job >"$sandbox/token"
	"$REDLOCK_BIN" ls --follow --every 100ms >"$sandbox/out" 2>"$sandbox/err" 3>&- &
	watcher=$!
	until_true grep -q "found lock 'job', a:1, votes 3/3" "$sandbox/out"
	rl release job "$(<"$sandbox/token")"
	until_true grep -q "released lock 'job', a:1" "$sandbox/out"
	rl acquire -n -t 1m --owner b:1 job
	until_true grep -q "acquired lock 'job', b:1" "$sandbox/out"
	on_nodes "$all" set job "$token|c:1" px 60000
	until_true grep -q "passed lock 'job', c:1" "$sandbox/out"
	on_nodes "$all" persist job
	until_true grep -q "odd lock 'job', c:1, .*no-expiry" "$sandbox/out"
	kill_nodes STOP 3
	until_true grep -q "2 of 3 nodes answer" "$sandbox/err"
	kill -s TERM "$watcher"
	await "$watcher" 143
}

@test "--follow of one name tells each renewal, of all names it does not; and a name is found without a search" {
	"$REDLOCK_BIN" run -t 1500ms --slots 2 job sleep 60 3>&- &
	run_pid=$!
	until_true has_keys 3 "$all" job
	on_nodes "$all" config resetstat
	timeout 3 "$REDLOCK_BIN" ls --follow --every 100ms job >"$sandbox/one" 3>&- &
	one=$!
	timeout 3 "$REDLOCK_BIN" ls --follow --every 100ms 'j*' >"$sandbox/all" 3>&- || true
	await "$one" 124
	[ "$(grep -c "extended slot 0/2 'job'" "$sandbox/one")" -ge 2 ]
	[ "$(grep -c extended "$sandbox/all")" = 0 ]
	on_nodes "$all" config resetstat
	rl acquire -n -t 1m --slots 2 job
	rows 0 job
	json_is '[(r["name"], r["slot"], r["slots"], r["votes"]) for r in j] == [("job", 0, 2, 3), ("job", 1, 2, 3)]'
	[[ $(on_node 1 info commandstats) != *cmdstat_scan* ]]
	kill "$run_pid"
	await "$run_pid" 143
}

has_frames() { # COUNT, and one that is not complete
	[ "$(grep -o $'\e\[H' "$sandbox/out" | wc -l)" -gt "$1" ]
}

@test "--follow on a terminal draws over itself, and shows the last changes" {
	rl acquire -n -t 1m --owner a:1 job
	mkfifo "$sandbox/keys"
	env --default-signal=INT,QUIT script -qefc "'$REDLOCK_BIN' ls --follow --every 200ms" /dev/null <"$sandbox/keys" >"$sandbox/out" 3>&- &
	watcher=$!
	exec 7>"$sandbox/keys"
	until_true has_frames 3
	rl release job "$(on_node 1 get job)"
	until_true grep -q "released lock 'job'" "$sandbox/out"
	printf '\003' >&7 # Ctrl-C
	exec 7>&-
	await "$watcher" 130
	/usr/bin/python3 - "$sandbox/out" <<-'PYTHON'
		import sys
		frames = open(sys.argv[1], encoding="utf-8", newline="").read().split("\x1b[H")[1:]
		assert len(frames) > 3 and "1 shown, 0 odd, 3 of 3 nodes answer" in frames[0] and "a:1" in frames[0], frames[0]
		assert "0 shown" in frames[-1] and "released lock 'job', a:1" in frames[-1], frames[-1]
		assert all(line.endswith("\x1b[K") for frame in frames[:-1] for line in frame.split("\x1b[J")[0].split("\r\n")[:-1])
	PYTHON
}

@test "nodes that hang cost one timeout, and are named" {
	rl acquire -n -t 1m job
	kill_nodes STOP 3
	want 0 "$REDLOCK_BIN" ls
	[[ $output == *" 2/3 "* ]]
	says "node 3 unix://" "was not read: no answer in time"
	kill_nodes STOP 2
	begin=$(date +%s%N)
	want 69 "$REDLOCK_BIN" ls
	[ $(($(date +%s%N) - begin)) -lt 5000000000 ] # about 500 ms
	[[ $output == *"job "*" 1/3 "* ]] # what can be known
	says "no quorum: 1 of 3 nodes voted" "nodes 2, 3: no answer in time"
	[ "$(grep -c "no quorum" <<<"$stderr")" = 1 ]
	want 64 "$REDLOCK_BIN" ls --every 1s
}

@test "a user who lacks a right is told which" {
	refused() { # RIGHT WORD
		on_nodes "$all" acl setuser part reset on nopass '~*' '&*' +@all "$1"
		want 76 rl ls --user part --password-file <(echo x)
		says "$2" "give the user the rights of \`redlock help acl\`, and +scan for \`redlock ls\`"
	}
	rl acquire -n -t 1m job
	refused -scan "'scan'"
	refused -eval "'eval'"
	refused -type "script" # the rest of the sentence depends on the server
	refused -getrange "'getrange'" # each value stays unread: an empty table would be a lie
	on_nodes "$all" acl setuser part reset on nopass '~*' '&*' +@all -get -type -getrange
	want 76 rl status --user part --password-file <(echo x) job
	says "lacks the rights +get +type +getrange: "
	on_nodes "$all" acl setuser part reset on nopass '~*' '&*' +@all -zrevrange
	on_nodes "$all" zadd other 1 m
	want 76 rl ls --user part --password-file <(echo x)
	says "'zrevrange'"
	on_nodes "$all" del other
	on_nodes "$all" acl setuser part reset on nopass '~app:*' '&*' +@all
	rl acquire -n -t 1m app:x
	want 0 rl ls --user part --password-file <(echo x)
	[[ $output == *app:x* ]]
	says "the user may not read 1 key: locks among them are not in the table"
	want 0 rl ls --user part --password-file <(echo x) --prefix app:
	[ -z "$stderr" ]
	on_nodes "$all" acl setuser part reset on nopass '~*' '&*' +@all -dbsize -info -select
	want 0 rl ls --user part --password-file <(echo x)
	[[ $output == *job* ]]
}

@test "many keys of others take neither the servers' time nor memory" {
	# A fast server finds fewer in the 20 ms that need no pauses.
	on_node 1 eval 'for i = 1, 300000 do redis.call("set", "others:" .. i, "value of some length " .. i) end' 0
	rl acquire -n -t 5m locks:job
	/usr/bin/python3 - "$REDLOCK_BIN" "$(node_dir 1)/redis.sock" <<-'PYTHON'
		import redis, resource, subprocess, sys, time
		server = redis.Redis(unix_socket_path=sys.argv[2])
		used = lambda: sum(server.info("cpu")[key] for key in ("used_cpu_user", "used_cpu_sys"))
		before, begin = used(), time.time()
		out = subprocess.run([sys.argv[1], "ls", "--prefix", "locks:", "--json"], check=True, capture_output=True).stdout
		took, work = time.time() - begin, used() - before
		assert out.count(b"\n") == 1, out
		# 2 % at most, and what the server does anyway; a listing without pauses has 50 % or more.
		assert work / took < 0.05, (work, took)
		assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 50000
		begin = time.time()
		subprocess.run([sys.argv[1], "ls", "--share", "100", "--prefix", "locks:"], check=True, capture_output=True)
		assert time.time() - begin < took, (time.time() - begin, took)
	PYTHON
}

@test "a node that stands still for a second in the middle of a long list is read all the same" {
	on_node 2 eval 'for i = 1, 100000 do redis.call("set", "others:" .. i, "value") end' 0
	rl acquire -n -t 5m job
	until_true has_keys 3 "$all" job
	on_nodes 2 config resetstat
	has_scanned() { [[ $(on_node 2 info commandstats) =~ cmdstat_scan:calls=([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge "$1" ]; }
	"$REDLOCK_BIN" ls --share 1 --prefix j --json >"$sandbox/out" 2>"$sandbox/err" 3>&- &
	watcher=$!
	until_true has_scanned 3 # in a list of five seconds or more
	kill_nodes STOP 2
	kill -0 "$watcher"
	sleep 1
	kill_nodes CONT 2
	patience=300 await "$watcher" 0
	grep -q '"votes":3' "$sandbox/out"
	run ! grep -q LS_UNREAD "$sandbox/err"
}

# The last one: this host then remembers that the nodes were guarded.
@test "nodes in quarantine may have forgotten the holder" {
	want 0 rl init --max-ttl 60s --fresh
	rl acquire -v --node-timeout 5s -n -t 1m job # -v: it waits for the last node
	until_true has_keys 3 "$all" job
	on_nodes "1 2" del job
	rows 0
	json_is 'j[0]["odd"] == ["below-quorum"]'
	on_nodes 2 del redlock:set
	rows 0
	json_is 'j[0]["odd"] == ["in-doubt"] and j[0]["state"] == "unknown"'
	[[ $stderr != *"in quarantine"* ]] # the third node shows it
	on_nodes 1 del redlock:set
	on_nodes 3 del job
	want 0 rl ls
	says "2 of 3 nodes are in quarantine" "locks that they have forgotten are not in the table"
}
