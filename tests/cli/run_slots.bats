#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock run --slots: up to so many at a time, each with a number of its own.
load run_helper

slot_key() { # NUMBER
	echo "{$job}:redlock:slot:$1"
}

@test "--slots: each has its number, one more is busy, and status shows all" {
	start_run -t 20s --slots 2 "$job" -- sh -c 'echo $REDLOCK_SLOT >slot; until [ -e over ]; do sleep 0.1; done'
	until_true has_keys 5 "$all" "$job"
	gives 0 rl_run -n --slots 2 "$job" -c 'echo $REDLOCK_SLOT; $REDLOCK_BIN run -n --slots 2 '"$job"' true; echo $?; $REDLOCK_BIN status '"$job"
	[ "${lines[0]}" = 1 ] && [ "${lines[1]}" = 75 ]
	[[ $output == *"2 slots: slot 0 is the name itself"*"slot 1: held by "*" on 5 of 5 nodes, its key expires in "* ]]
	says "busy: none of its 2 slots is free; slot 0: held by" " s; all: \`redlock status NAME\`"
	[ "$(<slot)" = 0 ]
	gives 75 rl_run -n "$job" true
	gives 0 rl status --json "$job"
	json_is "[s['state'] for s in j['slots']] == ['held', 'free']"
	gives 0 rl_run --slots 2 "$job" -c '$REDLOCK_BIN status --json '"$job"
	json_is "all(10000 < s['pttl_ms'] <= 30000 for s in j['slots'])"
	gives 0 rl_run -n --slots 2 --report-fd 7 "$job" true 7>report
	output=$(<report)
	json_is "j['slots'] == 2 and j['slot'] == 1"
	until_true has_keys 0 "$all" "$(slot_key 1)"
	touch over
	ends 0
}

@test "--slots: another number is refused while one is held" {
	start_run -t 20s --slots 2 "$job" -- sh -c 'until [ -e over ]; do sleep 0.1; done'
	until_true has_keys 5 "$all" "$job"
	gives 76 rl_run --slots 3 "$job" touch ran
	says "another number of slots for this name"
	says "hint: give all who use the name the same --slots"
	[ ! -e ran ]
	touch over
	ends 0
}

@test "--slots: who waits gets the first that is free" {
	for i in 1 2; do
		rl run -t 20s --slots 2 "$job" sh -c "until [ -e over.$i ]; do sleep 0.1; done" 3>&- &
		until_true has_keys 5 "$all" "$([ "$i" = 1 ] && echo "$job" || slot_key 1)" # two at a time may split the votes
	done
	start_run -v -t 20s --slots 2 "$job" -- sh -c 'echo $REDLOCK_SLOT'
	until_true grep -q "waiting for '$job'" err
	touch over.1
	await "$run_pid" 0
	[[ $(<out) == [01] ]]
	touch over.2
	wait
	nothing_left
}

@test "--slots: status shows what is in a slot, and how many most nodes count" {
	on_nodes "$all" set "{$job}:redlock:slots" 3
	on_node 1 set "{$job}:redlock:slots" 9
	on_nodes "$all" hset "$(slot_key 1)" field value
	on_nodes "$all" set "$(slot_key 2)" somebody
	gives 0 rl status --json "$job"
	json_is "[s['state'] for s in j['slots']] == ['free', 'held', 'held']" "all(s['blocks_for_ever'] for s in j['slots'][1:])"
	on_nodes "$all" del "$(slot_key 1)" "$(slot_key 2)" "{$job}:redlock:slots"
	local long
	long=$(printf 'n%.0s' {1..5000})
	gives 0 rl_run --slots 2 "$long" -c '$REDLOCK_BIN status --json '"$long"
	json_is "len(j['slots']) == 2"
}

@test "--slots: what cannot be" {
	gives 64 rl_run --slots 0 "$job" true
	gives 64 rl_run --slots 65 "$job" true
	gives 64 rl_run --slots 2 --also b "$job" true
	says "--slots and --also exclude each other"
	gives 64 rl_run --slots 2 --fence --guard=auto "$job" true
	says "--slots and --fence exclude each other"
	gives 64 rl_run --slots 2 --compat setnx "$job" true
	says "--slots and --compat exclude each other"
	gives 64 rl_run --slots 2 --reentrant "$job" true
	says "--reentrant and --slots exclude each other"
}

@test "--slots: acquire, extend, check and release by token find the slot" {
	read -r first number <<<"$(rl acquire -t 1m --slots 2 "$job")"
	[ "$number" = 0 ]
	gives 0 rl acquire -t 1m --json --slots 2 "$job"
	json_is "j['slots'] == 2 and j['slot'] == 1"
	token=$(printf '%s' "$output" | python3 -c 'import json, sys; print(json.load(sys.stdin)["token"])')
	gives 75 rl acquire -n --json --slots 2 "$job"
	json_is "j['slots'] == 2 and j['slot'] is None and j['token'] is None"
	gives 0 rl check --slots 2 "$job" "$token"
	gives 0 rl check --slots 2 "$job" "$first"
	gives 0 rl extend -t 1h --json --slots 2 "$job" "$token"
	json_is "j['slot'] == 1 and j['name'] == '$job'"
	until_true lives_longer 3 "$(slot_key 1)" 3500000
	gives 1 rl release --slots 2 "$job" "$first 0"
	says 'a number follows the token: give the token alone, ${T%% *} in a shell'
	# Without the option it is said what the token is of.
	for verb in check extend release; do
		gives 1 rl "$verb" "$job" "$token"
		says "slot 1 is held by this token: use --slots 2"
	done
	gives 1 rl release --slots 2 "$job" "${token/|*/}"
	gives 0 rl release --slots 2 "$job" "$token"
	until_true has_keys 0 "$all" "$(slot_key 1)"
	has_keys 5 "$all" "$job"
	gives 1 rl release --slots 2 "$job" "$token"
	gives 0 rl release "$job" "$first" # the first one is the name itself
	gives 64 rl release --slots 2 --also b "$job" "$token"
	gives 64 rl acquire --slots 2 --token x "$job"
	says "--slots and --token exclude each other"
	nothing_left
}

@test "--slots: with a prefix, too" {
	read -r first _ <<<"$(rl acquire --prefix p: --slots 2 "$job")"
	read -r token number <<<"$(rl acquire --prefix p: --slots 2 "$job")"
	[ "$number" = 1 ]
	gives 0 rl check --prefix p: --slots 2 "$job" "$token"
	gives 1 rl check --prefix p: "$job" "$token"
	says "use --slots 2"
	gives 0 rl release --prefix p: --slots 2 "$job" "$token"
	gives 0 rl release --prefix p: --slots 2 "$job" "$first"
}

@test "--reentrant under a slot or a shared lock says what stands against it" {
	start_run -t 20s --slots 2 "$job" -- sh -c 'until [ -e over ]; do sleep 0.1; done'
	until_true has_keys 5 "$all" "$job"
	gives 64 rl_run -n --slots 2 "$job" -c '$REDLOCK_BIN run --reentrant "$REDLOCK_NAME" true'
	says "the run above this one holds slot 1 of '$job', not the name itself"
	touch over
	ends 0
	gives 64 rl_run --shared "$job" -c '$REDLOCK_BIN run --reentrant "$REDLOCK_NAME" true'
	says "the run above this one shares '$job' with others"
	gives 0 rl_run --shared "$job" -c '$REDLOCK_BIN run --shared --reentrant "$REDLOCK_NAME" true'
	gives 0 rl_run "$job" -c '$REDLOCK_BIN run --shared --reentrant "$REDLOCK_NAME" true'
}
