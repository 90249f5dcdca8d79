#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# init --replace: a member of a guarded set is replaced, while clients have the former list or the new one.
load helper
load init_helper

# The last node is replaced by the next one.
replace() { # CODE "N..." OLD NEW [OPTION...]
	init "$1" "$2" --replace "$(node_url "$3")" "$(node_url "$4")" "${@:5}"
}

@test "a dead member is replaced, while locks are held" {
	made "1 2 3"
	hold "1 2 3" old
	on_node 4 set foreign somebody px 600000
	kill_nodes KILL 3
	replace 69 "1 2 3" 3 4
	says "node 3 $(node_url 3): no answer" "if this one is gone for good: --dead"
	contend "1 2 3"
	replace 0 "1 2 3" 3 4 --dead
	says "locks that need the node which leaves must have expired" "give all clients the new one" "--finish"
	contend "1 2 3" "1 2 4"
	for list in "1 2 3" "1 2 4"; do want 75 guarded "$list" -n old true; done
	nobody_met
	drop old
	is_record 4 members "$(member 1) $(member 2) $(member 4)"
	guarded "1 2 4" -n foreign true
	[ "$(on_node 4 get foreign)" = somebody ]
	replace 0 "1 2 3" 3 4 --dead # again, with either list
	replace 0 "1 2 4" 3 4 --dead
	hold "1 2 4" new
	contend "1 2 4"
	init 0 "1 2 4" --finish
	nobody_met
	drop new
	want 76 guarded "1 2 3" -n job true
	is_record 4 "done" "$(record 1 config)"
	guarded "1 2 4" -n --fence job true
	replace 0 "1 2 4" 3 4 --dead
}

@test "a living member is replaced, and told, while locks are held" {
	made "1 2 3 4"
	hold "1 2 3 4" old
	contend "1 2 3 4"
	replace 78 "1 2 3 4" 4 5 --dead
	says "it answers: without --dead it is told that it leaves the set"
	replace 0 "1 2 3 4" 4 5
	is_record 4 mode removed
	contend "1 2 3 4" "1 2 3 5"
	nobody_met
	want 75 guarded "1 2 3 5" -n old true
	drop old
	replace 0 "1 2 3 5" 4 5 --finish
	guarded "1 2 3 5" -n job true
	want 76 guarded "1 2 3 4" -n job true
}

# Node 1 with the former member would be a quorum of the former list, node 2 with the new one another of the new list.
@test "a member that was taken for dead comes back with its record, and makes no quorum" {
	made "1 2 3"
	former=$(record 3 config)
	kill_nodes STOP 3
	replace 0 "1 2 3" 3 4 --dead --node-timeout 200ms
	kill_nodes CONT 3
	is_record 3 config "$former"
	contend "1 2 3" "1 2 4"
	nobody_met
	kill_nodes STOP 2
	for try in {1..20}; do # which of the others tells its record first is a matter of luck
		run ! guarded "1 2 3" -w 300ms -t 1s --node-timeout 200ms "job$try" true
	done
	kill_nodes CONT 2
	kill_nodes STOP 1
	guarded "1 2 4" -n job true
	kill_nodes CONT 1
	replace 0 "1 2 3" 3 4
	is_record 3 mode removed
	on_node 3 flushall # its quarantine ends, and no client with the former list admits it
	for try in {1..5}; do
		guarded "1 2 3" -n job true
		sleep 1
	done
	[ "$(record 3 quntil)" -lt "$(on_node 3 time | head -n 1)000" ]
	is_record 3 pass ""
	init 0 "1 2 4" --finish
}

# Starts the command, keeps writes to these nodes from them, and kills it when this is true.
replace_killed() { # "PAUSED..." QUESTION...
	local node
	for node in $1; do on_node "$node" client pause 60000 write; done
	"$REDLOCK_BIN" init -q -r "$(urls 1 2 3)" --replace "$(node_url 3)" "$(node_url 4)" --node-timeout 5s 3>&- &
	jobs+=($!)
	until_true "${@:2}"
	kill -s KILL "${jobs[-1]}"
	until_true is_gone "${jobs[-1]}"
	for node in $1; do on_node "$node" client unpause; done
}

is_renamed() { # N
	[ "$(record "$1" prev_config)" != "" ] && [ "$(record "$1" prev_config)" != "$former" ]
}

@test "a run that is killed after each step is continued by the next one, and clients go on" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	former=$(record 1 config)
	on_nodes "1 3" hset redlock:set gmax 9000000000000 # given by these two, and not heard by node 2
	replace_killed "2 3" is_record 1 step 2
	guarded "1 2 3" -t 1s -n job true
	replace_killed "2" is_record 3 step 2
	replace_killed "3" is_record 2 step 2
	guarded "1 2 3" -t 1s -n job true
	init 78 "1 2 3"
	says "$(member 3) is leaving" "repeat the command that began this"
	replace_killed "1 2" is_record 3 mode removed
	guarded "1 2 3" -t 1s -n job true
	replace_killed "2" is_renamed 1
	run ! is_renamed 2
	replace_killed "" is_renamed 2
	is_record 1 prev_config "$(record 2 prev_config)"
	guarded "1 2 3" -t 1s -n job true
	replace_killed "4" is_record 2 step 3
	guarded "1 2 3" -t 1s -n job true
	replace 0 "1 2 3" 3 4
	for node in 1 2 4; do is_record "$node" config "$(record 1 config)"; done
	is_renamed 2
	init 0 "1 2 4" --finish
	kill_nodes KILL 1
	guarded "1 2 4" -t 1s -n --fence job sh -c '[ "$REDLOCK_FENCE" -gt 9000000000000 ]'
}

@test "a replacement that has begun can be ended as a removal" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	former=$(record 1 config)
	replace_killed "" is_renamed 2
	init 0 "1 2" --remove "$(node_url 3)" --finish
	guarded "1 2" -t 1s -n job true
	replace 78 "1 2 3" 3 4
	says "$(member 3) is no member any more" "--add the new one"
}

@test "replacements at a time: one begins, and one that was asked for twice ends twice" {
	for new in "4 5" "4 4"; do
		on_nodes "1 2 3 4 5" flushall
		made "1 2 3"
		jobs=()
		for node in $new; do
			"$REDLOCK_BIN" init -q -r "$(urls 1 2 3)" --replace "$(node_url 3)" "$(node_url "$node")" 2>"$sandbox/replace" 3>&- &
			jobs+=($!)
		done
		codes=
		for pid in "${jobs[@]}"; do
			status=0
			wait "$pid" || status=$?
			codes+="$status "
		done
		case $new in
		"4 5") [[ $codes = "0 78 " || $codes = "78 0 " ]] ;;
		*) [ "$codes" = "0 0 " ] ;;
		esac
		is_record 2 members "$(record 1 members)"
	done
	guarded "1 2 4" -n job true
}

@test "refusals change nothing" {
	made "1 2 3"
	before=$(record 1 config)
	want 64 rl init -r "$(urls 1 2 3)" --replace "$(node_url 3)"
	says "--replace takes two nodes: --replace OLD NEW"
	want 64 rl init -r "$(urls 1 2 3)" "$(node_url 3)"
	says "too many arguments"
	replace 64 "1 2 3" 3 4 --add "$(node_url 5)"
	says "one of --add, --remove, --replace"
	replace 78 "1 2 3" 3 3
	says "is both" "needs no command"
	replace 78 "1 2 3" 3 2
	says "the list of nodes has both $(member 3) and $(member 2)"
	replace 78 "1 2 3" 4 5
	says "the list of nodes has neither $(member 4) nor $(member 5)"
	replace 78 "1 2 4" 4 5
	says "with other members: $(member 1) $(member 2) $(member 3)"
	init 78 "1 2 3" --replace nowhere:// "$(node_url 4)"
	says "--replace: not the URL of a node"
	replace 78 "1 2 3" 3 4 --quorum 3
	says "the quorum of this set is 2, not 3"
	kill_nodes STOP 4
	replace 69 "1 2 3" 3 4 --node-timeout 200ms
	says "node 4 $(node_url 4): no answer" "a change needs all nodes"
	kill_nodes CONT 4
	kill_nodes STOP 2 3
	replace 69 "1 2 3" 3 4 --dead --node-timeout 200ms
	says "node 2 $(node_url 2): no answer" "a change needs all nodes"
	kill_nodes CONT 2 3
	for node in 1 2 3; do is_record "$node" config "$before"; done
	[ "$(record 4 set)" = "" ]
	made "4 5"
	replace 78 "1 2 3" 3 4
	says "its record is of node set $(record 4 set)"
	on_nodes "1 2 3" flushall
	replace 78 "4 5" 5 1
	says "the other members, 1, are fewer than the quorum of the set, 2" "first --add the new one"
	init 0 "4 5" --add "$(node_url 1)"
	replace 78 "4 5 1" 5 2
	says "the change before this one is not finished"
}
