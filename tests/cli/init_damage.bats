#!/usr/bin/env bats
# SPDX-License-Identifier: MIT init: records and numbers that somebody has damaged are mended, and are not followed.
load helper
load init_helper

@test "a damaged number is mended by a new epoch, and goes to nobody" {
	made "1 2 3"
	before=$(record 2 gmax)
	for field in gmax floor; do
		# The first ones are what a new epoch once made of the others.
		for damaged in -9223372036854775808 9007199254740992 -5 99999999999999999999 nan 1e300 "1 2" ""; do
			on_node 1 hset redlock:set "$field" "$damaged"
			init 0 "1 2 3" --new-epoch
			for node in 1 2 3; do
				[ "$(record "$node" floor)" -gt "$before" ]
				[ "$(record "$node" gmax)" -lt 9000000000000 ]
			done
			guarded "1 2 3" -n --fence job sh -c '[ "$REDLOCK_FENCE" -gt '"$before"' ]'
			before=$(record 2 gmax)
		done
	done
	on_node 1 hset redlock:set floor 9000000000000 gmax 5 # less than its own floor
	want 0 rl status -r "$(urls 1 2 3)"
	[ "$(grep -c 'admitted, fencing not known' <<<"$output")" = 1 ]
	init 0 "1 2 3" --new-epoch
	[ "$(record 1 gmax) $(record 3 floor)" = "9000000000000 9000000000000" ]
	on_nodes "1 2 3" hset redlock:set floor -9223372036854775808 gmax 9223372036854775807
	init 0 "1 2 3" --plain
	made "1 2 3"
	guarded "1 2 3" -n --fence job sh -c '[ "$REDLOCK_FENCE" -gt '"$before"' ]'
}

@test "a number that leaves no room for others is not given to all" {
	made "1 2 3"
	on_node 2 hset redlock:set gmax 9007199254740990
	init 78 "1 2 3" --new-epoch
	says "node 2 $(node_url 2): too few fencing numbers are left above the one in its record, 9007199254740990" "HDEL redlock:set floor gmax"
	[ "$(record 1 gmax)" -lt 9000000000000 ]
	on_node 3 hset redlock:set gmax 9007199254740990
	init 78 "1 2 3" --new-epoch
	says "node 2 $(node_url 2): too few fencing numbers" "node 3 $(node_url 3): too few fencing numbers"
	init 0 "1 2 3"
	[ "$(grep -c 'admitted, fencing numbers used up' <<<"$output")" = 2 ]
	on_node 3 hdel redlock:set floor gmax
	init 0 "1 2 3" --plain
	init 78 "1 2 3" --max-ttl 2s --fresh
	on_node 2 hdel redlock:set floor gmax
	made "1 2 3"
	guarded "1 2 3" -n --fence job true
}

@test "a damaged record is mended, and is not followed" {
	local every=(config= config=abc config=9999 config=9999999999999999 "step=$(printf '%3000s' '' | tr ' ' a)"
		step=99999999999999999999 set=x ttl= quorum=-1 version=)
	for nodes in 1 3 "1 2" "2 3"; do
		[ "$nodes" = 1 ] || every=(config=abc version=) # where the damaged ones are does not depend on the damage
		on_nodes "1 2 3" flushall
		made "1 2 3"
		good=$(record 1 config)
		for damage in "${every[@]}"; do
			on_nodes "$nodes" hset redlock:set "${damage%%=*}" "${damage#*=}"
			[ "$damage" != version= ] || on_nodes "$nodes" hdel redlock:set version
			init 78 "1 2 3" --new-epoch
			says "node ${nodes%% *} $(node_url "${nodes%% *}"): its record is damaged (${damage%%=*}); first run: redlock init"
			init 0 "1 2 3"
			[[ $output == *"node ${nodes%% *} $(node_url "${nodes%% *}"): its record was damaged, and is mended"* ]]
			for node in 1 2 3; do
				[ "$(record "$node" config) $(record "$node" step)" = "$good 1" ]
			done
			want 0 guarded "1 2 3" -n --fence job true
		done
	done
}

@test "a record whose pass is damaged too votes after a quarantine" {
	init 0 "1 2 3" --max-ttl 1s --fresh
	good=$(record 1 config)
	on_node 1 hset redlock:set config abc pass -1
	init 0 "1 2 3"
	[[ $output == *"node 1 $(node_url 1): its record was damaged, and is written anew; it votes after a quarantine"* ]]
	[ "$(record 1 config)" = "$good" ]
	until_true all_admitted
	on_nodes "1 2" hset redlock:set pass -1
	init 78 "1 2 3" --new-epoch
	says "node 1 $(node_url 1): its record is damaged (pass); first run" "node 2 $(node_url 2): its record is damaged (pass); first run"
	init 69 "1 2 3"
	says "1 of 3 nodes vote and know their fencing numbers, 2 are needed"
	until_true unknown_at_two
	init 0 "1 2 3" --new-epoch
	guarded "1 2 3" -t 1s -n --fence job true
}

@test "where all records are damaged nothing is made of them" {
	made "1 2 3"
	on_nodes "1 2 3" hset redlock:set config abc
	for option in "" --new-epoch --plain; do
		# shellcheck disable=SC2086
		init 78 "1 2 3" $option
		says "node 3 $(node_url 3): its record is damaged (config), and no node that answers has one to follow"
	done
	[ "$(record 2 config)" = abc ]
	on_nodes "1 2 3" del redlock:set
	made "1 2 3"
	guarded "1 2 3" -n --fence job true
}

@test "a plain record that still has its pass becomes a member, wherever it is" {
	for node in 1 2; do
		on_nodes "1 2 3" flushall
		made "1 2 3"
		pass=$(record $node pass)
		init 0 "1 2 3" --plain
		on_node $node hset redlock:set pass "$pass"
		init 0 "1 2 3" --max-ttl 1s --fresh
		[ "$(grep -c "takes part in the new set" <<<"$output")" = 3 ]
		guarded "1 2 3" -n -t 1s job true
	done
}

@test "an unfinished removal is no reason to add the node, when records were lost" {
	made "1 2 3 4"
	init 0 "1 2 3 4" --remove "$(node_url 4)"
	on_nodes "1 4" flushall
	init 0 "1 2 3 4" --remove "$(node_url 4)" # node 1 does not know the former list now
	on_node 4 flushall
	[[ $(rl status -r "$(urls 1 2 3 4)") != *"its members are"* ]]
	init 0 "1 2 3" # nor do the others
	for node in 2 3; do on_node "$node" hdel redlock:set prev prev_config prev_members prev_quorum; done
	run rl status -r "$(urls 1 2 3 4)"
	[[ $output == *"its members are"*"give this host these nodes: $(urls 1 2 3)"* ]]
	[[ $output != *"--add"* ]]
}
