#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# guard = auto, the default: a client that is given no option keeps the guard of its set, also after the records are
# gone, and says what applies to it.
load helper
load init_helper

# run without any option of the guard: auto CODE "N..." [OPTION...] NAME COMMAND...
auto() {
	local nodes=$2
	# shellcheck disable=SC2086
	want "$1" "$BASH" -c 'exec "$@"' - ${as[@]+"${as[@]}"} "$REDLOCK_BIN" run -r "$(urls $nodes)" --node-timeout 400ms -t 2s "${@:3}"
}

setup() {
	start_cluster 5
	jobs=() as=()
	memory=$STATE_DIRECTORY/redlock
}

wiped() { # "N...": the nodes have lost everything
	on_nodes "$1" flushall
}

refused_without_record() { # MESSAGE...
	says "0 of 3 nodes voted" "its record of the guarded node set is gone" "hint: run \`redlock init\`"
	[ ! -e "$sandbox/entered" ]
}

guard_line() { # TEXT: what the last output says of the guard, once
	[ "$(grep -c '^\(# \)\?guard: ' <<<"$output")" = 1 ]
	grep -q "^\(# \)\?guard: $1\$" <<<"$output" || { echo "not said: $1" && echo "$output" && return 1; }
}

@test "a majority is wiped while a guarded holder runs: a client that was told nothing does not enter before its end" {
	init 0 "1 2 3" --max-ttl 8s --fresh # a quarantine that is not over before a busy machine has started the contender
	touch "$sandbox/held.run"
	# shellcheck disable=SC2016
	"$REDLOCK_BIN" run -r "$(urls 1 2 3)" -t 8s held sh -c 'echo $$ >"$1.pid"; while [ -e "$1.run" ]; do sleep 0.05; done' - "$sandbox/held" 3>&- 2>"$sandbox/holder" &
	jobs+=($!)
	until_true test -s "$sandbox/held.pid"
	rm -r "$memory" # the contender is on another host, which never saw this set
	wiped "1 2"
	auto 69 "1 2 3" -n -w 300ms held touch "$sandbox/entered"
	says "nodes that may have forgotten locks"
	[ ! -e "$sandbox/entered" ]
	# shellcheck disable=SC2016
	auto 0 "1 2 3" -n held sh -c '! kill -0 "$1" 2>/dev/null' - "$(<"$sandbox/held.pid")"
}

@test "a quarantine is waited for no longer than -w where the TTL is the maximum of the set, and the message says so" {
	local begin waited
	init 0 "1 2 3" --max-ttl 20s --fresh
	wiped "1 2"
	begin=$(date +%s%N)
	want 69 rl run -r "$(urls 1 2 3)" -w 2s job -c 'echo ran'
	waited=$((($(date +%s%N) - begin) / 1000000))
	[ "$waited" -lt 4000 ] || { echo "$waited ms" && return 1; }
	says "s for 'job', and no longer (-w): nodes that may have forgotten locks do not vote for another "
	[[ $stderr != *"goes on by itself"* ]]
}

@test "a member that has become a replica is called one: it is in no quarantine that ends, and needs no init" {
	init 0 "1 2 3" --max-ttl 8s --fresh
	for node in 2 3; do
		on_nodes "$node" replicaof 127.0.0.1 "$(node_port 5)"
		is_linked() { on_node "$node" info replication | grep -q master_link_status:up; }
		until_true is_linked
	done
	auto 76 "1 2 3" -n job true
	says "read-only replica" "hint: give the masters"
	[[ $stderr != *"may have forgotten locks"* ]] || { echo "$stderr" && return 1; }
	want 2 "$REDLOCK_BIN" doctor -r "$(urls 1 2 3)"
	[[ $output == *"is a replica of "* && $output != *"has no record of the guarded set"* ]] || { echo "$output" && return 1; }
}

@test "a member that was a replica for a moment: the way back is named, and leads back" {
	init 0 "1 2 3" --max-ttl 2s --fresh
	on_nodes 3 replicaof 127.0.0.1 1
	on_nodes 3 replicaof no one
	want 2 rl doctor -r "$(urls 1 2 3)" --guard=require
	[[ $output == *"it has or had replicas or was one"*"detach it, and restart it (it votes after a quarantine)"* ]]
	kill_nodes KILL 3
	"$REDLOCK_BIN" cluster start -q
	all_up() { rl status -r "$(urls 1 2 3)" --guard=require | grep -q "3 of 3 nodes up"; }
	until_true all_up
}

@test "a node that was wiped tells its time, though it has no record: nothing is said of its clock" {
	made "1 2 3"
	for attempt in 1 2 3 4 5; do # its answer must come after another node's
		wiped 3
		rm -rf "$memory"
		auto 0 "1 2 3" -v "job$attempt" true
		[[ $stderr != *"its clock"* ]] || { echo "$stderr" && return 1; }
	done
}

@test "a node without a record while the others are down or hang is not called silent" {
	local begin waits="has no record of the guarded node set and waits for a node that has one"
	made "1 2 3"
	wiped 1
	kill_nodes KILL 2
	kill_nodes STOP 3
	want 69 rl status -r "$(urls 1 2 3)"
	grep -q "node 1 .*: QUARANTINE, .*$waits" <<<"$output" || { echo "$output" && return 1; }
	grep -q "node 3 .*: SILENT, " <<<"$output"
	want 2 rl doctor -r "$(urls 1 2 3)"
	grep -q "node 1 .*: it votes after a node that has the record of the set answers" <<<"$output" || { echo "$output" && return 1; }
	begin=$(date +%s%N)
	auto 69 "1 2 3" -n job true # which is no reason to wait
	says "$waits" "if need be after a node that has its record answers"
	[ $((($(date +%s%N) - begin) / 1000000)) -lt 2400 ] # ten node timeouts are 4000
	kill_nodes CONT 3
	want 69 rl status -r "$(urls 1 2 3)"
	[[ $output == *"QUARANTINE"* && $output != *"$waits"* ]] || { echo "$output" && return 1; }
}

@test "a list that shares one node with a guarded set is refused by that node's record" {
	made "1 2 3"
	auto 76 "3 4 5" -n --node-timeout 900ms job touch "$sandbox/entered" # a record that is later does not count
	says "other members than are configured here" "is a member of a guarded set of other nodes"
	[ ! -e "$sandbox/entered" ]
	auto 0 "1 2 3" -n job true
}

@test "all nodes are wiped: refused on this host, which remembers the set, until it is made anew" {
	made "1 2 3"
	wiped "1 2 3"
	auto 76 "1 2 3" -n job touch "$sandbox/entered"
	refused_without_record
	auto 76 "3 1 2" -w 20s job touch "$sandbox/entered" # in any order
	refused_without_record
	want 0 rl run -r "$(urls 1 2 3)" -n --guard=off job true
	made "1 2 3"
	auto 0 "1 2 3" -n job true
	wiped "1 2 3"
	init 0 "1 2 3" --plain # and the other way
	auto 0 "1 2 3" -n job true
}

@test "a host that only used the set remembers it as well" {
	made "1 2 3"
	rm -r "$memory"
	auto 0 "1 2 3" -n job true
	wiped "1 2 3"
	auto 76 "1 2 3" -n job touch "$sandbox/entered"
	refused_without_record
}

@test "init --plain forgets; a host that remembers another set than the one that was taken back does not guess" {
	made "1 2 3"
	cp -a "$STATE_DIRECTORY" "$sandbox/other"
	init 0 "1 2 3" --plain
	[ -z "$(ls "$memory")" ]
	wiped "1 2"
	auto 0 "1 2 3" -n job true
	made "1 2 3"
	init 0 "1 2 3" --plain
	export STATE_DIRECTORY=$sandbox/other # where only the first of the two sets was seen
	auto 76 "1 2 3" -n job true
	want 76 rl status --guard=auto -r "$(urls 1 2 3)"
	guard_line "auto; remembered: this list was guarded on this host, as set [0-9a-f]*: required"
	init 0 "1 2 3" --plain
	auto 0 "1 2 3" -n job true
}

@test "a host that saw the set forgets it with the first command after init --plain" {
	made "1 2 3"
	cp -a "$STATE_DIRECTORY" "$sandbox/other"
	init 0 "1 2 3" --plain
	export STATE_DIRECTORY=$sandbox/other
	auto 0 "1 2 3" -n job true
	[ -z "$(ls "$STATE_DIRECTORY/redlock")" ]
}

@test "a memory that is damaged says that the set was guarded; one that cannot be written stops nothing" {
	made "1 2 3"
	for text in '' 'no id of a set, but a longer line' "$(printf 'abc\nunix:/elsewhere/0')"; do
		wiped "1 2 3"
		printf '%s' "$text" >"$(echo "$memory"/guarded-*)"
		case $text in
		abc*) auto 0 "1 2 3" -n job true ;; # of another list with the same number
		*) auto 76 "1 2 3" -n job touch "$sandbox/entered" ;;
		esac
		made "1 2 3"
		auto 0 "1 2 3" -n job true
		[ "$(head -n 1 "$memory"/guarded-*)" = "$(record 1 set)" ]
	done
	for STATE_DIRECTORY in /dev/null /proc/none; do
		auto 0 "1 2 3" -n job true
		[ -z "$stderr" ]
		auto 0 "1 2 3" -n -v job true
		says "not remembered that these nodes are a guarded set: state directory $STATE_DIRECTORY/redlock: "
		run rl doctor -r "$(urls 1 2 3)"
		[[ $output == *"warning: this host cannot remember that it is guarded, in $STATE_DIRECTORY/redlock: "*" [memory]"* ]] || { echo "$output" && return 1; }
	done
	chmod 777 "$memory" # others could say what they like
	export STATE_DIRECTORY=${memory%/redlock}
	wiped "1 2 3"
	auto 0 "1 2 3" -n job true
}

@test "cron: no HOME and no variables; the memory of root is in /var/lib/redlock" {
	local maps=()
	[ "$EUID" = 0 ] || maps=(-r)
	unshare -m "${maps[@]}" true 2>/dev/null || skip "no mount namespace can be made here (unshare -m)"
	made "1 2 3"
	cat >"$sandbox/cron" <<-END
		set -e
		mount -t tmpfs none /var/lib
		run="env -i PATH=/usr/bin:/bin $REDLOCK_BIN run -r $(urls 1 2 3) --node-timeout 400ms -t 2s -n job"
		\$run true
		ls /var/lib/redlock/guarded-* >"$sandbox/kept"
		for node in 1 2 3; do redis-cli -s "$XDG_RUNTIME_DIR/redlock/cluster/node-\$node/redis.sock" flushall; done
		\$run touch "$sandbox/entered"
	END
	want 76 unshare -m "${maps[@]}" sh "$sandbox/cron"
	refused_without_record
	[ -s "$sandbox/kept" ]
}

@test "doctor, status and config show say what applies to this client, and change nothing" {
	run rl doctor -r "$(urls 1 2 3)"
	guard_line "auto; no record: this set is plain"
	want 76 rl status -r "$(urls 1 2 3)" --guard=require
	guard_line "require; no record: no lock can be acquired"
	want 0 rl config show -r "$(urls 1 2 3)"
	guard_line "auto; not remembered as guarded on this host: the records of the nodes decide"
	made "1 2 3"
	set=$(record 1 set)
	want 0 rl status -r "$(urls 1 2 3)"
	guard_line "auto; 3 of 3 nodes have the record of set $set: this client counts admitted nodes only"
	want 0 rl config show -r "$(urls 1 2 3)"
	guard_line "auto; remembered: this list was guarded on this host, as set $set: required"
	want 0 rl config show --json -r "$(urls 1 2 3)"
	json_is "j['guard'] == {'setting': 'auto', 'applies': 'remembered', 'set': '$set', 'remembered': True, 'records': None}"
	run rl doctor -r "$(urls 1 2 3)" --guard=off
	guard_line "off: this client ignores the record of set $set"
	[[ $output == *"warning: is guarded, and this client ignores the record of set $set"* ]]
	wiped "1 2"
	want 69 rl status --json -r "$(urls 1 2 3)"
	json_is "j['guard'] == {'setting': 'auto', 'applies': 'guarded', 'set': '$set', 'remembered': True, 'records': 1}"
	[ "$(on_node 1 keys '*')" = redlock:set ] # the quarantine has begun, as by any client
	wiped "1 2 3"
	want 2 rl doctor -r "$(urls 1 2 3)"
	guard_line "auto; remembered: this list was guarded on this host, as set $set: required"
	[[ $output == *"no node has a record of a guarded set, and this list of nodes was a guarded set on this host"* ]]
	want 0 rl status -r "$(urls 1 2 3)" --guard=off
	guard_line "off: this client ignores records of guarded sets"
	[ "$(on_node 3 dbsize)" = 0 ]
	made "1 2 3"
	STATE_DIRECTORY=$sandbox/other init 0 "1 2 3" --plain
	want 0 rl status -r "$(urls 1 2 3)"
	guard_line "auto; taken back: this set is plain"
	kill_nodes STOP 1 2
	STATE_DIRECTORY=/dev/null run rl status -r "$(urls 1 2 3)" --node-timeout 200ms
	guard_line "auto; too few nodes show whether they have a record"
}

is_unsure() { # PATTERN: status of the lock that a job holds, while the nodes that have forgotten it are in quarantine
	want 0 rl status -r "$(urls 1 2 3)" held
	# shellcheck disable=SC2027,SC2295
	[[ $output == *"held: "${1}" in quarantine, for another "* && $output != *"blocks nobody"* ]]
}

@test "status and doctor count a node in quarantine as clients do, and do not call its locks free" {
	init 0 "1 2 3" --max-ttl 60s --fresh
	export REDLOCK_URLS
	REDLOCK_URLS=$(urls 1 2 3)
	want 0 rl acquire -n -t 60s held
	wiped 1
	want 0 rl status
	[[ $output == "quorum reachable, DEGRADED: 2 of 3 nodes up"*"node 1 "*": QUARANTINE, "* ]]
	want 1 rl doctor
	[[ $output == *" 0 errors"*"warning: is in quarantine"* ]]
	wiped 2
	want 69 rl acquire -w 100ms z
	want 69 rl status --json
	json_is "j['state'] == 'unreachable'" "j['up'] == 1" "[n['vote'] for n in j['nodes']] == ['QUARANTINE', 'QUARANTINE', 'YES']"
	(for _ in {1..40}; do sleep 0.1 && on_node 3 pexpire held 60000; done) >/dev/null 3>&- & # renewed, as by its holder
	want 2 rl doctor
	wait $!
	[[ $output == *"error: no lock can be acquired: 1 of 3 nodes would grant one"* ]]
	[[ $output != *"[rival]"* ]] # the key is the holder's: nodes in quarantine have forgotten the others
	is_unsure "maybe held by *: on 1 of 3 nodes, and forgotten by 2 nodes"
	on_node 3 del held
	is_unsure "unknown: no key, and a lock may be forgotten by 2 of 3 nodes,"
	want 0 rl status --json held
	json_is "j['state'] == 'unknown'" "j['in_quarantine'] == 2"
	wiped 3 # the memory of this host still knows the set
	is_unsure "unknown: no key, and a lock may be forgotten by 3 of 3 nodes,"
}

@test "a record that does not guard this list of nodes is not said to do so" {
	made "1 2 3"
	run rl status -r "$(urls 3 4 5)"
	guard_line "auto; 1 of 3 nodes have the record of set $(record 3 set), which does not guard this list of nodes"
}

# Three ways to know that the set is guarded.
@test "a user who may not read the record: refused where the set is known to be guarded, with the rights" {
	made "1 2 3"
	export REDLOCK_AUTH=pw
	user=(--user u --prefix app: -n job)
	on_nodes "1 2 3" acl setuser u on '>pw' '~*' '&*' +@all -hmget
	needs="to read the record of the guarded node set it needs ~redlock:set +eval +hmget"
	auto 76 "1 2 3" "${user[@]}" touch "$sandbox/entered"
	says "$needs"
	rm -r "$memory"
	auto 76 "1 2 3" --guard=require "${user[@]}" touch "$sandbox/entered"
	says "$needs"
	on_nodes 3 acl setuser u +hmget
	auto 76 "1 2 3" "${user[@]}" touch "$sandbox/entered"
	says "$needs"
	[ ! -e "$sandbox/entered" ]
	rm -r "$memory"
	on_nodes 3 acl setuser u -hmget
	run rl doctor -r "$(urls 1 2 3)" --user u --prefix app:
	[[ $output == *"warning: the user may not read the record of a guarded set"*"permit +hmget ~redlock:set there"* ]]
	guard_line "auto; too few nodes show whether they have a record"
}

@test "every host needs the same list, quorum and prefix: doctor gives them a number that does not depend on the order" {
	run rl doctor --json -r "$(urls 1 2 3)"
	json_is '[f for f in j["findings"] if f["check"] == "same-list" and f["level"] == "note"]'
	local with
	for with in "1 2 3" "3 1 2" "1 2" "1 2 3 --prefix a:" "1 2 3 --prefix b:" "1 2 3 --quorum 3"; do
		# shellcheck disable=SC2046,SC2086
		run rl doctor -v -r "$(urls ${with%% --*})" $(grep -o -e '--.*' <<<"$with")
		grep -o 'every host must use this list of [0-9] nodes, this quorum and this prefix (fingerprint [0-9a-f]\{16\})' <<<"$output" >>"$sandbox/lists"
	done
	[ "$(sort "$sandbox/lists" | uniq -c | awk '{print $1}' | sort | tr '\n' ' ')" = "1 1 1 1 2 " ] || { cat "$sandbox/lists" && return 1; }
}

@test "a node whose record comes after the grant gets the key with the maximum of the set" {
	init 0 "1 2 3" --max-ttl 20s --fresh
	for kind in "" "--slots 2" --share --fence; do
		kill_nodes STOP 3
		rm -f go held
		# shellcheck disable=SC2086
		"$REDLOCK_BIN" run -r "$(urls 1 2 3)" --node-timeout 6s -n $kind job sh -c 'touch held; while [ ! -e go ]; do sleep 0.05; done' 3>&- &
		jobs+=($!)
		until_true test -e held
		kill_nodes CONT 3
		has_key() { [ "$(on_node 3 exists job)" = 1 ]; }
		until_true has_key
		touch go
		wait "${jobs[-1]}"
	done
}

@test "a host with the former list of a set that has grown is given the new list, during the change and after it" {
	made "1 2 3"
	init 0 "1 2 3" --add "$(node_url 4)"
	init 78 "1 2 3" --finish
	says "with other members: " "this list is the former one, which a change replaces: give these members"
	init 0 "1 2 3 4" --finish
	told="; give this host these nodes: $(urls 1 2 3 4); only if $(node_url 4) is to leave the set: redlock init --remove $(node_url 4) "
	run rl status -r "$(urls 1 2 3)"
	[[ $output == *"$told"* ]]
	run rl doctor -r "$(urls 1 2 3)"
	[[ $output == *"$told"* ]]
	init 78 "1 2 3"
	says "$told"
}

@test "status --quorum asks for more nodes of a guarded set than its own quorum" {
	made "1 2 3"
	want 0 rl status -r "$(urls 1 2 3)" --quorum 3
	[[ $output == "quorum reachable: 3 of 3 nodes up, 3 are needed"* ]]
	kill_nodes KILL 3
	want 69 rl status -r "$(urls 1 2 3)" --quorum 3
	[[ $output == "quorum NOT reachable: 2 of 3 nodes up, 3 are needed"* ]]
	want 0 rl status -r "$(urls 1 2 3)"
	echo "quorum = 3" >"$sandbox/config"
	want 76 rl status -r "$(urls 1 2 3)" --config "$sandbox/config"
	says "its node set has another quorum than is configured here"
}

@test "all servers were wiped: init makes the set anew with the maximum TTL that this host remembers, or says that it does not know it" {
	made "1 2 3" # 2 s
	wiped "1 2 3"
	want 2 rl doctor -r "$(urls 1 2 3)"
	[[ $output == *"redlock init, which makes it anew with the maximum TTL that this host remembers"* ]] || { echo "$output" && return 1; }
	init 0 "1 2 3" --fresh
	says "the maximum TTL is 2s: that of the set which was here; --max-ttl gives another one"
	is_record 1 ttl 2000
	wiped "1 2 3"
	sed -i 3d "$memory"/guarded-* # as older versions wrote it
	want 2 rl doctor -r "$(urls 1 2 3)"
	[[ $output == *"redlock init --max-ttl TIME, with the maximum that the set had"* ]] || { echo "$output" && return 1; }
	init 0 "1 2 3" --fresh
	says "the maximum TTL is 1m: that of the set which was here is not known on this host"
	wiped "1 2 3"
	init 0 "1 2 3" --fresh --max-ttl 8s
	[[ $stderr != *"maximum TTL"* ]]
	auto 0 "1 2 3" -n job true
	sed -i 3d "$memory"/guarded-*
	auto 0 "1 2 3" -n job true
	[ "$(sed -n 3p "$memory"/guarded-*)" = 8000 ]
}
