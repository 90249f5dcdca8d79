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
	[[ $output == *"2 slots: slot 0 is the name itself"*"slot 1: held by "*" on 5 of 5 nodes"* ]]
	says "busy: none of its 2 slots is free; slot 0: held by"
	[ "$(<slot)" = 0 ]
	gives 75 rl_run -n "$job" true
	gives 0 rl status --json "$job"
	json_is "[s['state'] for s in j['slots']] == ['held', 'free']"
	gives 0 rl_run -n --slots 2 --report-fd 7 "$job" true 7>report
	output=$(<report)
	json_is "j['slots'] == 2 and j['slot'] == 1"
	has_keys 0 "$all" "$(slot_key 1)"
	touch over
	ends 0
}

@test "--slots: another number is refused while one is held" {
	start_run -t 20s --slots 2 "$job" -- sh -c 'until [ -e over ]; do sleep 0.1; done'
	until_true has_keys 5 "$all" "$job"
	gives 76 rl_run --slots 3 "$job" touch ran
	says "has another number of slots for this name"
	says "hint: give all who use the name the same --slots"
	[ ! -e ran ]
	touch over
	ends 0
}

@test "--slots: who waits gets the first that is free" {
	for i in 1 2; do rl run -t 20s --slots 2 "$job" sh -c "until [ -e over.$i ]; do sleep 0.1; done" 3>&- & done
	until_true has_keys 5 "$all" "$(slot_key 1)"
	until_true has_keys 5 "$all" "$job"
	start_run -v -t 20s --slots 2 "$job" -- sh -c 'echo $REDLOCK_SLOT'
	until_true grep -q "waiting for '$job'" err
	touch over.1
	await "$run_pid" 0
	[[ $(<out) == [01] ]]
	touch over.2
	wait
	nothing_left
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
