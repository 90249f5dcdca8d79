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
	is_told_the_list "1 2 3" "1 2 4" # the old member is silent
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
	is_told_the_list "1 2 3 4" "1 2 3 5"
	[[ $stderr != *"redlock init --"* ]]
}

# A host whose list is older than the set gets that of the set; nothing that would undo the change comes first.
is_told_the_list() { # "N..." "N..."
	local list
	# shellcheck disable=SC2086
	list="; give this host these nodes: $(urls $2)"
	# shellcheck disable=SC2086
	run rl status -r "$(urls $1)"
	[[ $output == *"$list"* && $output != *"--replace"* ]] || { echo "$output" && return 1; }
	# shellcheck disable=SC2086
	want 2 rl doctor -r "$(urls $1)"
	[[ $output == *"$list"* && $output != *"--replace"* ]] || { echo "$output" && return 1; }
	init 78 "$1"
	says "$list"
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
	replace_killed "4" is_record 2 gmax 9000000000000
	guarded "1 2 3" -t 1s -n job true
	replace_killed "1 2" is_noted 4
	guarded "1 2 3" -t 1s -n job true
	replace_killed "2" is_record 4 step 3
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

@test "a dead member is replaced after all members were restarted without their keys" {
	made "1 2"
	init 0 "1 2" --add "$(node_url 3)"
	init 0 "1 2 3" --finish
	for node in 1 2 3; do # clients write its record again
		on_node "$node" flushall
		until_true all_admitted
		is_record "$node" "done" "$(record 3 config)"
	done
	kill_nodes KILL 3
	replace 0 "1 2 3" 3 4 --dead
	init 0 "1 2 4" --finish
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
	replace 78 "1 2 3" 4 3
	says "$(member 4) is no member of the set, which has the members $(member 1) $(member 2) $(member 3): --replace takes the member first"
	for option in --dead --finish --quiet; do
		init 78 "1 2 3" --remove "$(node_url 4)" "$option"
		says "$(member 4) is no member of the set"
		init 78 "1 2 3" --remove unix:///nowhere "$option"
		says "unix:/nowhere/0 is no member of the set"
	done
	for option in --add --remove; do
		init 64 "1 2 3" "$option" "$(node_url 4)" "$option" "$(node_url 5)"
		says "$option is given twice: members change one at a time"
	done
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
	replace 78 "1 2 3" 4 3 --node-timeout 200ms
	says "--replace takes the member first"
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

# The command line that a text has, from `redlock init` to the bracket or the end.
printed_command() { # TEXT
	sed -nE 's/.*: (redlock init .*--replace [^ ]+ [^ ]+).*/\1/p' <<<"$1" | head -n 1
}

@test "a promoted replica has a new address: status, doctor and init print the line that replaces its master" {
	port=$(node_port 3) # in this shell: it is opened at the first question
	made "1 2 3"
	on_node 4 config set repl-diskless-sync-delay 0
	on_nodes 4 replicaof 127.0.0.1 "$port"
	until_true is_record 4 set "$(record 3 set)"
	kill_nodes KILL 3
	on_nodes 4 replicaof no one
	want 76 rl status -r "$(urls 1 2 4)"
	[[ $output == *"its members are $(member 1) $(member 2) $(member 3); if "* ]]
	line=$(printed_command "$output")
	[ "$line" = "redlock init --guard=auto --replace $(node_url 3) $(node_url 4)" ]
	want 2 rl doctor -r "$(urls 1 2 4)"
	[ "$(printed_command "$output")" = "$line" ]
	[[ $output == *"was a replica"* ]]
	init 78 "1 2 4"
	[ "$(printed_command "$stderr")" = "$line" ]
	read -ra words <<<"$line"
	want 0 rl init -r "$(urls 1 2 4)" "${words[@]:2}" --dead
	guarded "1 2 4" job true
	# After its quarantine the node is a member like any other.
	patience=30 until_true is_admitted 4
	run rl doctor -r "$(urls 1 2 4)"
	[[ $output != *"was a replica"* ]]
}

is_admitted() { # N, of 1 2 4
	guarded "1 2 4" job true
	rl status -r "$(urls 1 2 4)" | grep -A1 -F "$(node_url "$1")" | grep -q admitted
}

# As after a power cut: the members came back with the record of before the change, and the new node came back with none.
set_back() { # "N..."
	local node
	for node in $1; do
		on_node "$node" hset redlock:set pass "$(printf '%040d' "$node"):$(record "$node" config)"
	done
}

@test "members that came back with an older record: what is printed leads out" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	set_back "1 2"
	on_node 3 hset redlock:set mode removed step 2 config 0123456789abcdef members "$(member 1) $(member 2)"
	on_node 3 hdel redlock:set pass
	init 78 "1 2 4"
	line=$(printed_command "$stderr")
	[ "$line" = "redlock init --replace $(node_url 3) $(node_url 4)" ]
	init 78 "1 2 3"
	says "node 3 $(node_url 3): it left this set in configuration 2" "of configuration 1" \
		": redlock init --replace $(node_url 3) NEW --dead, or --remove $(node_url 3) --dead"
	read -ra words <<<"$line"
	init 78 "1 2 4" "${words[@]:2}"
	says "node 4 $(node_url 3): it left this set in configuration 2"
	[[ $stderr == *": $line --dead,"* ]]
	init 69 "1 2 4" "${words[@]:2}" --dead # too few nodes know their fencing numbers, as after any power cut
	guarded "1 2 4" -t 1s -n job true
	init 69 "1 2 4" --finish
	init 0 "1 2 4" --new-epoch
	is_record 3 mode removed
	is_record 4 "done" "$(record 1 config)"
}

@test "a member that lost its record leaves, and gets it first" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	on_nodes 3 del redlock:set
	init 0 "1 2 3" --remove "$(node_url 3)"
	[[ $output == *"node 3 $(node_url 3): record written; it may have forgotten locks, and votes after a quarantine"* ]]
	is_record 3 step 2
}

@test "a set that was taken back, and members that came back guarded: init says so" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	on_nodes 3 hset redlock:set mode plain step 2
	on_nodes 3 hdel redlock:set pass
	set_back "1 2"
	init 78 "1 2 3"
	says "node 3 $(node_url 3): it was taken back to plain in configuration 2" "redlock init --plain"
	init 0 "1 2 3" --plain
	init 0 "1 2 3" --max-ttl 1s --fresh
}
