#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# init: the records of a guarded node set, and its members, while locks are held.
load helper
load init_helper

@test "the first time, and again" {
	want 0 rl init --max-ttl 1s
	says "guard = require"
	want 0 rl init --json
	json_is 'len(j["nodes"]) == 5' 'all(n["guard"]["state"] == "admitted" and n["guard"]["step"] == 1 for n in j["nodes"])' \
		'all(n["guard"]["quorum"] == 3 and n["guard"]["ttl"] == 1000 for n in j["nodes"])' \
		'len({n["guard"]["set"] for n in j["nodes"]}) == 1' 'len({n["guard"]["node"] for n in j["nodes"]}) == 5' \
		'min(n["guard"]["floor"] for n in j["nodes"]) > 1.7e12'
	[ "$(record 3 node)" = "$(member 3)" ]
	[[ $(record 3 pass) == *:$(record 1 config) ]]
	before=$output
	want 0 rl init --max-ttl 1s --json
	[ "$output" = "$before" ]
	want 78 rl init --max-ttl 3s
	says "the maximum TTL of this set is 1000 ms"
	want 78 rl init --quorum 4
	says "the quorum of this set is 3, not 4"
	want 76 rl acquire -t 5s job # the local cluster needs no setting
	says "the TTL is longer than the node set permits: 5000 ms instead of 1000 ms at most"
	want 0 rl acquire -t 5s --guard=off job
	want 0 rl status
	[ "$(grep -c 'configuration 1, admitted, fencing known' <<<"$output")" = 5 ]
	want 76 guarded "1 2 3 4 5" -t 2s job true
}

@test "a cause that several nodes share is told once" {
	REDLOCK_URLS=$(urls 1 2 3) want 76 rl acquire -n --guard=require job
	[[ $stderr == *"are needed; nodes 1, 2, 3: "* && $stderr != *"node 1"* ]]
	REDLOCK_URLS=$(urls 1 2 3) want 76 rl acquire -n -v --guard=require job
	says "node 1 $(node_url 1): " "node 3 $(node_url 3): "
	kill_nodes KILL 3
	REDLOCK_URLS=$(urls 1 2 3) want 76 rl acquire -n --guard=require job
	says "; nodes 1, 2: " "; node 3 $(node_url 3): not reachable"
}

@test "a TTL that nobody asked for is the maximum of the set" {
	init 0 "1 2 3" --max-ttl 10s --fresh
	REDLOCK_URLS=$(urls 1 2 3)
	export REDLOCK_GUARD=require REDLOCK_URLS
	want 0 rl acquire -n -v --json job
	json_is 'j["ttl_ms"] == 10000' 'j["validity_ms"] < 10000'
	says "the TTL is 10s, the maximum of this node set"
	token=$(on_node 1 get job)
	want 0 rl extend --json job "$token"
	json_is 'j["ttl_ms"] == 10000'
	want 0 rl run -n other sh -c 'echo $REDLOCK_TTL_MS'
	[ "$output" = 10000 ]
	want 76 rl run -n -t 11s other true
	want 64 rl run -n --kill-after 9s -t 10s other true
}

is_a_third_over() { # N KEY
	! lives_longer "$1" "$2" 19000
}

# A new connection looks for a record at once. An extend never shortens the life of a key: the test does.
@test "a run without --ttl follows the maximum of a set that is guarded while it runs" {
	local run
	REDLOCK_URLS=$(urls 1 2 3) "$REDLOCK_BIN" run job sh -c \
		"trap 'exit 9' TERM; until [ -e '$sandbox/go' ]; do sleep 0.05; done" 2>"$sandbox/told" 3>&- &
	run=$!
	until_true lives_longer 1 job 20000
	init 0 "1 2 3" --max-ttl 6s --fresh
	on_nodes "1 2 3" client kill type normal
	patience=60 until_true is_a_third_over 1 job # when the first renewal is due
	on_nodes "1 2 3" pexpire job 4000
	until_true lives_longer 1 job 4000 # for 2 s after each renewal
	kill -0 "$run"
	touch "$sandbox/go"
	await "$run" 0
	# A node that was asked while init wrote its record has no vote until the next renewal.
	want 1 grep -v '^redlock: degraded: 1 of 3' "$sandbox/told"
}

@test "status tells how long a quarantine lasts, with the guard too" {
	made "1 2 3"
	on_nodes "1 2 3" hset redlock:set pass gone:
	want 69 rl status --guard=require --json -r "$(urls 1 2 3)"
	json_is 'all(n["guard"]["state"] == "quarantine" and n["guard"]["quarantine_ms"] > 0 for n in j["nodes"])'
	on_nodes "1 2 3" hset redlock:set quntil 1
	want 0 rl status --guard=require -r "$(urls 1 2 3)"
	[[ $output == "quorum reachable"* ]]
}

@test "doctor counts a node whose quarantine is over as up, as status does" {
	made "1 2 3"
	on_nodes "1 2 3" hset redlock:set pass gone:
	run rl doctor --guard=require -r "$(urls 1 2 3)"
	[[ $output == *"no lock can be acquired"* && $output == *"it votes in "* ]]
	on_nodes "1 2 3" hset redlock:set quntil 1
	run rl doctor -v --guard=require -r "$(urls 1 2 3)"
	[[ $output != *"no lock can be acquired"* && $output != *"does not vote until"* ]]
}

is_anywhere() { # KEY
	[[ $(on_node 1 exists "$1")$(on_node 2 exists "$1")$(on_node 3 exists "$1") == *1* ]]
}

@test "a waiter of a guarded set is woken, and claims the lock itself" {
	init 0 "1 2 3" --max-ttl 60s --fresh
	REDLOCK_URLS=$(urls 1 2 3)
	export REDLOCK_GUARD=require REDLOCK_URLS
	hold "1 2 3" woken -t 60s
	rl acquire -w 50s -t 60s --trace woken >/dev/null 2>"$sandbox/trace" 3>&- &
	waiter=$!
	until_true grep -qs "send enter" "$sandbox/trace"
	until_true is_anywhere '{woken}:redlock:queue'
	run ! is_offered woken # the name is this test's: an offer outlives its lock
	begin=${EPOCHREALTIME%.*}
	drop woken
	await "$waiter" 0
	[ $((${EPOCHREALTIME%.*} - begin)) -lt 10 ] # of a TTL of 60 s
	last=$(grep -o 'send enter #[0-9]*' "$sandbox/trace" | tail -n 1)
	grep -q "reply ${last#send enter } node . YES.*done acquire OK" "$sandbox/trace"
}

@test "servers that require a password, which is in the environment" {
	on_nodes "1 2 3" config set requirepass S3cret
	init 77 "1 2 3"
	says "node 1 $(node_url 1): " "NOAUTH" "hint: check user and password"
	export REDLOCK_AUTH=wrong
	init 77 "1 2 3"
	says "WRONGPASS"
	[[ $stderr != *"no answer"* ]]
	export REDLOCK_AUTH=S3cret
	init 0 "1 2 3" --max-ttl 1s --fresh
	init 0 "1 2 3" --max-ttl 1s --json
	json_is 'all(n["guard"]["state"] == "admitted" for n in j["nodes"])'
	want 0 guarded "1 2 3" -t 1s job true
	unset REDLOCK_AUTH
	want 77 guarded "1 2 3" -n -t 1s job true
}

@test "a quarantine is as long for the command as for the nodes" {
	made "1 2 3"
	on_nodes "1 2 3" hset redlock:set pass gone:
	formula=$(sed -n 's/^local whole = //p' "$BATS_TEST_DIRNAME/../../ops/meet.lua")
	for ttl in 1000 3999 4001 4099 30000 86400001; do
		on_nodes "1 2 3" hset redlock:set ttl "$ttl"
		whole=$(on_node 1 eval "local ttl = tonumber(ARGV[1]) return $formula" 0 "$ttl")
		want 0 rl status --guard=off --json -r "$(urls 1 2 3)"
		json_is "all(n['guard']['quarantine_ms'] == $whole for n in j['nodes'])"
	done
}

@test "refusals: a node that is missing, another list, another set, replicas" {
	kill_nodes STOP 3
	init 69 "1 2 3" --node-timeout 200ms
	says "node 3 $(node_url 3): no answer" "a new set needs all its nodes"
	init 69 "3" --finish --node-timeout 200ms
	kill_nodes CONT 3
	[ "$(record 1 set)" = "" ]
	init 78 "1 2" --remove "$(node_url 3)"
	says "first run: redlock init"
	init 69 "1 2" --add unix:///nowhere
	init 78 "1 2" --add "$(node_url 2)"
	says "is in the list of nodes"
	[ "$(record 1 set)" = "" ]
	made "1 2 3"
	init 78 "1 2 3 4"
	says "with other members: $(member 1) $(member 2) $(member 3)"
	made "4 5"
	init 78 "2 3 4"
	says "node 3 $(node_url 4): its record is of node set $(record 4 set)" "--plain"
	init 78 "1 2 3" --add "$(node_url 4)"
	says "its record is of node set $(record 4 set)"
	want 64 rl init --add a --plain
	many=$(printf 'redis://127.0.0.1:%d,' {7001..7033})
	want 78 rl init -r "${many%,}"
	says "more than 31 nodes"
	want 64 rl init --finish --new-epoch
	want 76 guarded "1 2 3 4" -n job true
	says "other members than are configured here"
}

@test "a run that is ended in the middle" {
	for pause in 1 3; do
		on_nodes "1 2 3" flushall
		on_node "$pause" client pause 60000 write
		"$REDLOCK_BIN" init -r "$(urls 1 2 3)" --max-ttl 1s --fresh --node-timeout 5s 3>&- &
		jobs+=($!)
		until_true sh -c "[ $pause = 1 ] || [ \"\$(redis-cli -s '$(node_dir 2)/redis.sock' exists redlock:set)\" = 1 ]"
		[ "$pause" != 1 ] || sleep 0.3
		kill -s KILL "${jobs[-1]}"
		until_true is_gone "${jobs[-1]}"
		on_node "$pause" client unpause
		init 0 "1 2 3" --max-ttl 1s --fresh
	done
	[[ $stderr == *"another \`redlock init\` is at work on these nodes"* ]]
	[ "$(grep -c "set $(record 1 set), configuration 1, admitted, fencing known" <<<"$output")" = 3 ]
	kill_nodes KILL 2 # so that the third one must vote
	guarded "1 2 3" -n -t 1s --fence job true
}

# All runs find the nodes blank and begin; then the odd ones are killed, at some moment each.
@test "any number of first runs at once, killed anywhere, make one set that works" {
	for ((round = 0; round < ${ROUNDS:-2}; round++)); do
		on_nodes "1 2 3" flushall
		on_node 1 client pause 60000 write
		pids=()
		for i in {0..7}; do
			"$REDLOCK_BIN" init -q -r "$(urls 1 2 3)" --max-ttl 1s --fresh 2>"$sandbox/init-$i" 3>&- &
			pids+=($!)
		done
		until_true sh -c "[ \"\$(redis-cli -s '$(node_dir 1)/redis.sock' client list | grep -c 'cmd=eval')\" = 8 ]"
		on_node 1 client unpause
		for i in 1 3 5 7; do
			sleep "0.00$((RANDOM % 10))"
			kill -s KILL "${pids[i]}" 2>/dev/null || true
		done
		for i in 0 2 4 6; do await "${pids[i]}" 0; done
		for node in 1 2 3; do
			[[ $(record "$node" pass) == *:$(record 1 config) ]]
			[ -z "$(record "$node" founding)" ]
		done
		guarded "1 2 3" -n -t 1s --fence job true
	done
}

@test "a set that a killed run has begun: all nodes are noted, or it is begun anew" {
	for ended in noted half admitted; do
		on_nodes "1 2 3" flushall
		init 0 "1 2 3" --max-ttl 1s --fresh
		config=$(record 1 config) set=$(record 1 set)
		for node in 1 2 3; do
			[[ $ended = admitted && $node = 1 ]] && continue
			id=$(on_node "$node" info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')
			on_node "$node" del redlock:set
			[[ $ended = half && $node = 2 ]] || on_node "$node" hset redlock:set founding "$id $set $config 1000 2 1800000000000 $(member 1) $(member 2) $(member 3)"
		done
		[ "$ended" != admitted ] || on_node 2 flushall # it may have voted meanwhile
		init 0 "1 2 3" --max-ttl 1s --fresh
		case $ended in
		half) [ "$(record 1 config)" != "$config" ] ;;
		*) [ "$(record 3 config) $(record 3 gmax)" = "$config 1800000000000" ] ;;
		esac
		[[ $ended != admitted || $output == *"node 2 $(node_url 2): record written; it may have forgotten locks"* ]]
		want 0 guarded "1 2 3" -n -t 1s --fence job true
	done
}

@test "a node that was noted by another process may have forgotten locks" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	note="$(record 1 set) $(record 1 config) 1000 2 1800000000000 $(member 1) $(member 2) $(member 3)"
	on_node 3 del redlock:set
	on_node 3 hset redlock:set founding "0123456789012345678901234567890123456789 $note" # a backup of then
	init 0 "1 2 3"
	[[ $output == *"node 3 $(node_url 3): record written; it may have forgotten locks"* ]]
}

@test "a majority that was wiped, while the last record does not answer: no word of leaving the guard" {
	made "1 2 3"
	on_nodes "1 2" flushall
	kill_nodes STOP 3
	want 76 guarded "1 2 3" -n job true
	says "hint: run \`redlock init\`" "or repairs one where a node still has its record"
	[[ $stderr != *"leave out"* ]]
}

exchange() { # each server has the address of the other one
	mv "$(node_dir "$1")/redis.sock" "$sandbox/aside"
	mv "$(node_dir "$2")/redis.sock" "$(node_dir "$1")/redis.sock"
	mv "$sandbox/aside" "$(node_dir "$2")/redis.sock"
}

@test "servers that exchange their addresses, while a lock is held" {
	init 0 "1 2 3" --max-ttl 20s --fresh
	hold "1 2 3" old -t 20s # it is not renewed until the next init
	exchange 1 2
	want 76 guarded "1 2 3" -n other true
	says "another member of the node set than its address says"
	want 2 rl doctor -r "$(urls 1 2 3)"
	[[ $output == *"names another member than its address does"* ]]
	init 0 "1 2 3"
	want 75 guarded "1 2 3" -n old true
	want 0 guarded "1 2 3" -n other true
	drop old
	exchange 1 2
}

@test "a member more and one less, while locks are held" {
	made "1 2 3"
	hold "1 2 3" old
	contend "1 2 3"
	init 0 "1 2 3" --add "$(node_url 4)"
	says "--finish"
	contend "1 2 3" "1 2 3 4"
	want 75 guarded "1 2 3 4" -n old true
	[ "$(record 4 step)" = 2 ]
	[[ $(record 1 prev) == *:$(record 1 prev_config) ]]
	init 78 "1 2 3 4" --add "$(node_url 5)" # before the other one is finished
	says "first run: redlock init --finish"
	init 0 "1 2 3" --add "$(node_url 4)" # again
	nobody_met
	drop old
	hold "1 2 3 4" new
	contend "1 2 3 4"
	init 0 "1 2 3 4" --finish
	says "locks of the former list of nodes must have expired"
	nobody_met
	[ "$(record 1 prev)" = "" ]
	want 76 guarded "1 2 3" -n other true
	init 0 "1 2 3 4" --remove "$(node_url 1)"
	want 75 guarded "2 3 4" -n new true
	contend "1 2 3 4" "2 3 4"
	nobody_met
	init 78 "2 3 4" --finish
	says "$(member 1) leaves the set, and must be told"
	drop new
	hold "2 3 4" newer
	init 0 "2 3 4" --remove "$(node_url 1)" --finish
	drop newer
	[ "$(record 1 mode)" = removed ]
	[ "$(record 2 step)" = 3 ]
	[ "$(record 2 leaving)" = "" ]
	want 76 guarded "1 2 3 4" -n other true
	init 0 "2 3 4"
}

# --guard=off is a client that was connected before and has not looked for the record yet.
@test "a lock of a client that has not seen the new set outlives a quarantine of the maximum" {
	init 0 "1 2 3" --max-ttl 1s
	REDLOCK_URLS=$(urls 1 2 3) want 0 rl acquire -n -t 30s --guard=off job
	on_nodes "1 2" flushall
	REDLOCK_URLS=$(urls 1 2 3) want 69 rl acquire -w 5s job
	REDLOCK_URLS=$(urls 1 2 3) want 69 rl status --json
	json_is 'sum(n["guard"]["quarantine_ms"] > 60000 for n in j["nodes"]) == 2'
	# Another one that looks, and init, keep the length.
	REDLOCK_URLS=$(urls 1 2 3) want 69 rl acquire -w 300ms other
	on_node 1 del redlock:set
	want 69 rl init -r "$(urls 1 2 3)" # two have no fencing numbers, which is told
	[ "$(($(record 1 quntil) - $(date +%s%3N)))" -gt 60000 ]
}

@test "after --plain there are clients that have not seen the next set, also with --fresh" {
	init 0 "1 2 3" --max-ttl 60s --fresh
	[ -z "$(record 1 unseen)" ]
	init 0 "1 2 3" --plain
	init 0 "1 2 3" --max-ttl 1s --fresh
	[ "$(($(record 3 unseen) - $(date +%s%3N)))" -gt 130000 ] # a minute, and a quarantine of 60 s
}

@test "clients of all kinds, while nodes become guarded, get a member more, and are plain again" {
	kinds="off auto" each=1
	contend "1 2 3"
	init 0 "1 2 3" --max-ttl 2s
	nobody_met
	# A plain client that is connected has a minute to see the record: until then its list must not change twice.
	want 124 timeout 2 "$REDLOCK_BIN" init -r "$(urls 1 2 3)" --add "$(node_url 4)"
	says "clients that were connected before the set was made"
	[[ $stderr =~ waiting\ (10[0-9]|[789][0-9])\. ]] # of 105 s
	on_nodes "1 2 3" hset redlock:set unseen 1
	kinds="off auto require"
	contend "1 2 3"
	init 0 "1 2 3" --add "$(node_url 4)"
	contend "1 2 3" "1 2 3 4"
	nobody_met
	contend "1 2 3 4"
	init 0 "1 2 3 4" --finish
	nobody_met
	kinds="off auto"
	contend "1 2 3 4"
	init 0 "1 2 3 4" --plain
	contend "1 2 3 4"
	nobody_met
}

# Starts a finish of the change, writes to these nodes on hold, and kills it when this is true.
finish_killed() { # "PAUSED..." QUESTION...
	local node
	for node in $1; do on_node "$node" client pause 60000 write; done
	"$REDLOCK_BIN" init -q -r "$(urls 1 2 3)" --remove "$(node_url 4)" --finish --node-timeout 5s 3>&- &
	jobs+=($!)
	until_true "${@:2}"
	kill -s KILL "${jobs[-1]}"
	until_true is_gone "${jobs[-1]}"
	for node in $1; do on_node "$node" client unpause; done
}

@test "a finish that is killed, again and again, is finished, and carries the numbers" {
	init 0 "1 2 3 4" --max-ttl 1s --fresh
	init 0 "1 2 3 4" --remove "$(node_url 4)"
	on_nodes "1 2 4" hset redlock:set gmax 9000000000000 # given with the former list, and not heard by node 3
	finish_killed "1 2 3" is_record 4 mode removed
	[ "$(record 1 prev)" != "" ]
	finish_killed "2" is_record 1 prev ""
	[ "$(record 2 prev)" != "" ]
	finish_killed "" is_record 2 prev ""
	finish_killed "2 3" is_record 1 floor 9000000000000
	init 0 "1 2 3" --remove "$(node_url 4)" --finish
	for node in 1 2 3; do
		is_record "$node" floor 9000000000000
		is_record "$node" "done" "$(record 1 config)"
	done
	guarded "1 2 3" -t 1s -n --fence other sh -c '[ "$REDLOCK_FENCE" -gt 9000000000000 ]'
}

@test "a node that is dead is removed" {
	made "1 2 3"
	init 78 "1 2 3" --remove "$(node_url 2)" --dead
	says "node 2" "it answers: without --dead"
	kill_nodes KILL 2
	init 69 "1 2 3" --remove "$(node_url 2)"
	says "if this one is gone for good: --dead"
	init 0 "1 2 3" --remove "$(node_url 2)" --dead
	init 78 "1 3" --finish
	init 0 "1 3" --finish --dead
	guarded "1 3" -n job true
	[ "$(record 1 members)" = "$(member 1) $(member 3)" ]
	[ "$(record 3 quorum)" = 2 ]
}

@test "back to plain, with a lock held, and guarded again" {
	made "1 2 3"
	on_nodes "1 2 3" hset redlock:set step 3 # its members have changed twice
	set=$(record 1 set) most=$(record 1 gmax)
	touch "$sandbox/old.run"
	export REDLOCK_GUARD=auto
	# shellcheck disable=SC2016
	"$REDLOCK_BIN" run -r "$(urls 1 2 3)" --node-timeout 400ms -t 2s old sh -c 'touch "$1.held"; while [ -e "$1.run" ]; do sleep 0.05; done' - "$sandbox/old" 3>&- &
	jobs+=($!)
	until_true test -e "$sandbox/old.held"
	init 0 "1 2 3" --plain
	[ "$(record 2 mode)" = plain ]
	for guard in off auto; do
		want 75 rl run --guard=$guard -r "$(urls 1 2 3)" -n old true
		want 0 rl run --guard=$guard -r "$(urls 1 2 3)" -n other true
	done
	want 76 guarded "1 2 3" -n other true
	says "taken back to plain"
	init 0 "1 2 3" --plain
	sleep 2.5
	drop old
	made "1 2 3"
	[ "$(record 1 set)" != "$set" ]
	[ "$(record 1 gmax)" -gt "$most" ]
	guarded "1 2 3" -n other true
	on_node 2 hset redlock:set set "$set" step 9 pass gone:away # a backup of then
	init 0 "1 2 3"
	[[ $output == *"node 2 $(node_url 2): set $(record 1 set), configuration 1, in quarantine"* ]]
}

@test "a new epoch, after all nodes have forgotten" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	before=$(record 1 floor)
	on_nodes "1 2 3" hset redlock:set pass gone: # other processes
	init 69 "1 2 3" --new-epoch
	says "0 of 3 nodes are admitted, 2 are needed"
	until_true unknown_everywhere
	on_node 2 hset redlock:set gmax 9000000000000
	init 0 "1 2 3" --new-epoch
	[ "$before" -lt 9000000000000 ]
	[ "$(record 1 floor)" = 9000000000000 ]
	[ "$(record 3 gmax)" = 9000000000000 ]
}

# All but the last node have given a number; the first one has forgotten it, and the second one has damaged it.
@test "init admits a node without numbers where a majority does not know them" {
	for damaged in abc 9007199254740992 ""; do
		on_nodes "1 2 3 4" flushall
		init 0 "1 2 3" --max-ttl 1s --fresh
		on_nodes "1 2" hset redlock:set gmax 9000000000000
		on_node 1 hset redlock:set pass gone: qrid "$(on_node 1 info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')" quntil 1 qid 0011
		on_node 2 hset redlock:set gmax "$damaged"
		init 69 "1 2 3" --add "$(node_url 4)"
		[[ $output == *"its quarantine is over, it votes, but gives no fencing numbers"* ]]
		[ "$(record 1 floor)" = "" ]
		[ "$(record 4 floor)" = "" ]
		[ "$(grep -c "fencing not known" <<<"$output")" = 3 ]
		[ "$(on_node 1 hexists redlock:set floor)" = 0 ]
		init 69 "1 2 3 4" --finish
		says "no fencing numbers are carried" "redlock init --new-epoch"
		[ "$(record 1 floor)" = "" ]
		want 69 guarded "1 2 3 4" -n -t 1s --fence job true
		says "no fencing numbers"
	done
}

@test "a floor of before is gone also where the user may not delete it" {
	made "1 2 3"
	on_nodes "1 2 3" hset redlock:set pass gone: gmax -5 # a majority does not know
	for node in 1 2 3; do
		on_node "$node" hset redlock:set quntil 1 qid 0011 qrid "$(on_node "$node" info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')"
	done
	on_nodes "1 2 3" acl setuser default -hdel
	"$REDLOCK_BIN" init -r "$(urls 1 2 3)" --add "$(node_url 4)" >"$sandbox/said" 2>&1 || true # it complains of +hdel
	on_nodes "1 2 3" acl setuser default +hdel
	grep -q "gives no fencing numbers" "$sandbox/said"
	[[ $(record 1 pass) == *:* && $(record 1 pass) != gone: ]]
	[ "$(record 1 floor)" = "" ]
}

@test "records that clients have written again are those of a finished set" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	for node in 1 2 3; do # one after the other, as in a rolling restart without persistence
		on_node "$node" flushall
		until_true all_admitted
	done
	for node in 1 2 3; do is_record "$node" 'done' "$(record 1 config)"; done
	on_nodes "1 2 3" hdel redlock:set 'done' # as earlier clients wrote it
	init 0 "1 2 3" --new-epoch
	init 0 "1 2 3" --plain
}

@test "a guarded set gives slots, and refuses setnx, which a plain set gives" {
	want 0 rl run -r "$(urls 1 2 3)" -n --compat setnx plain true
	made "1 2 3"
	want 79 rl run -r "$(urls 1 2 3)" -n --guard=require late true
	says "these times cannot work" "node timeout 2s" "less than the ttl 2s"
	want 0 "$REDLOCK_BIN" run -r "$(urls 1 2 3)" -n --slots 2 --guard=require slots true
	want 76 rl run -r "$(urls 1 2 3)" -n --compat setnx guarded true
	says "whose record this kind of lock does not check" "use other nodes"
	for node in 1 2 3; do
		[ "$(on_node "$node" exists guarded)" = 0 ]
	done
}

@test "after a weekend of reboots a job waits, and runs" {
	made "1 2 3"
	on_nodes "1 2 3" hset redlock:set pass "gone:$(record 1 config)"
	want 69 rl status -r "$(urls 1 2 3)"
	[ "$(grep -c 'in quarantine for another' <<<"$output")" = 3 ]
	on_nodes "1 2 3" hset redlock:set quntil 9999999999999 # the quarantine begins anew when the job asks
	want 0 guarded "1 2 3" --node-timeout 900ms -k 100ms -n job echo ran
	[ "$output" = ran ]
	[ "$(grep -vc degraded: <<<"$stderr")" = 1 ] || { echo "$stderr" && return 1; }
	want 69 rl init -r "$(urls 1 2 3)" # all have forgotten their numbers
	says "before \`redlock init --new-epoch\`"
	[[ $output == *admitted* ]]
}

@test "two changes at a time: one begins, and one that was ended goes on" {
	made "1 2"
	for node in 3 4; do
		"$REDLOCK_BIN" init -q -r "$(urls 1 2)" --add "$(node_url $node)" 2>"$sandbox/add-$node" 3>&- &
		jobs+=($!)
	done
	codes=
	for pid in "${jobs[@]}"; do
		status=0
		wait "$pid" || status=$?
		codes+="$status "
	done
	[[ $codes = "0 78 " || $codes = "78 0 " ]]
	grep -q "with other members" "$sandbox"/add-*
	new=$(record 1 members)
	[ "$(record 2 members)" = "$new" ]
	[[ $new = "$(member 1) $(member 2) $(member 3)" ]] && node=3 || node=4
	[ "$(record "$node" members)" = "$new" ]
	on_nodes 2 flushall # a run that was ended, or a node that forgot: who can tell
	init 0 "1 2" --add "$(node_url "$node")"
	[[ $output == *"node 2 $(node_url 2): record written; it may have forgotten locks"* ]]
	init 0 "1 2 $node" --finish
	[[ $output == *"node 2 $(node_url 2): its quarantine is over, it votes"* ]]
	[ "$(record 2 pass | cut -d: -f2)" = "$(record 1 config)" ]
	[ "$(record 2 floor)" = "$(record 1 floor)" ]
}

@test "replicas, and nodes that do not tell their run_id" {
	on_node 5 replicaof 127.0.0.1 "$(node_port 4)"
	until_true sh -c "redis-cli -s '$(node_dir 4)/redis.sock' info replication | grep -q connected_slaves:1"
	init 78 "3 4" --fresh
	says "node 2 $(node_url 4): it has or had replicas"
	on_nodes "1 2 3" acl setuser u reset on '>S3cret' '~*' '+@all' -info
	export REDLOCK_AUTH=S3cret
	init 78 "1 2 3" --fresh --user u
	says "it does not report its run_id" "--guard=auto"
	init 0 "1 2 3" --fresh --user u --guard=auto
	[[ $(record 1 pass) == -:* ]]
	want 0 rl run --user u --guard=auto -r "$(urls 1 2 3)" -n job true
	want 76 rl run --user u --guard=require -r "$(urls 1 2 3)" -n job true
}

blanked() { # PID, which still runs
	tr '\0' ' ' <"/proc/$1/cmdline" | grep -q -e '--add redis://.*@' && ! grep -q S3cret "/proc/$1/cmdline"
}

@test "a password in --add is not to be seen" {
	made "1 2 3"
	other=redis://u:S3cret@127.0.0.1:$(node_port 4)
	kill_nodes STOP 4
	"$REDLOCK_BIN" init -r "$(urls 1 2 3)" --add "$other" --node-timeout 2s >"$sandbox/said" 2>&1 3>&- &
	jobs+=($!)
	until_true blanked "${jobs[-1]}"
	await "${jobs[-1]}" 69
	grep -q "a change needs all nodes" "$sandbox/said"
	run ! grep S3cret "$sandbox/said"
}
