#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock and its guard stand still between the grant and the command, for longer than the lock lives: as in a
# suspended machine. The command is not started then, whatever --on-loss says.
load run_helper

setup_file() {
	start_cluster 5
}

steps='send got born clock'
modes='kill term warn'

# redlock run, which stops itself at that step.
start_frozen() { # STEP MODE OPTION...
	local dir=$place/$1-$2 step=$1 mode=$2
	shift 2
	mkdir "$dir"
	env "$mark" LD_PRELOAD="$REDLOCK_FREEZE" FREEZE_AT="$step" ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		setsid "$REDLOCK_BIN" run --node-timeout 1s --on-loss "$mode" --report-fd 3 "$@" "$job-$step-$mode" -- touch "$dir/ran" \
		>"$dir/out" 2>"$dir/err" 3>"$dir/report" &
	echo $! >"$dir/pid"
}

each() { # COMMAND STEP MODE, for each of them
	local step mode
	for step in $steps; do
		for mode in $modes; do
			"$@" "$step" "$mode"
		done
	done
}

# One of redlock, guard and child has stopped.
is_frozen() { # STEP MODE
	local pids
	pids=$(family_of "$(<"$place/$1-$2/pid")")
	# shellcheck disable=SC2086 # a list
	ps -o stat= -p "${pids// /,}" | grep -q '^T'
}

family_of() { # PID: it and its descendants
	local pid all=$1
	for pid in $(pgrep -P "$1"); do
		all+=" $(family_of "$pid")"
	done
	echo "$all"
}

signal_family() { # SIGNAL STEP MODE
	# shellcheck disable=SC2046 # a list
	kill -s "$1" $(family_of "$(<"$place/$2-$3/pid")")
}

has_ended() { # STEP MODE
	until_true has_keys 0 "$all" "$job-$1-$2"
}

refused_to_start() { # STEP MODE
	local dir=$place/$1-$2
	echo "$1 $2: $(cat "$dir/err")"
	await "$(<"$dir/pid")"
	[ ! -e "$dir/ran" ]
	[ "$status" -eq 79 ]
	# With kill redlock may be the first that goes on, and then it ends the guard, which is late for KILL as well.
	[ "$2" = kill ] || grep -q 'the command was not started' "$dir/err"
	output=$(<"$dir/report")
	json_is 'j["acquired"] and j["exit_code"] == 79 and j["command_exit_code"] is None'
}

started() { # STEP MODE
	local dir=$place/$1-$2
	echo "$1 $2: $(cat "$dir/err")"
	await "$(<"$dir/pid")"
	[ "$status" -eq 0 ]
	[ -e "$dir/ran" ]
	[ ! -s "$dir/err" ]
}

@test "the lock has ended before the command is executed: it is not, 79" {
	for step in $steps; do
		for mode in $modes; do
			start_frozen "$step" "$mode" -t 3s
		done
	done
	each until_true is_frozen
	each signal_family STOP
	each has_ended
	each signal_family CONT
	each refused_to_start
}

start_frozen_near_term() { # STEP MODE
	start_frozen "$1" "$2" -t 60s --renew 1s -k 57s
}

@test "the same, continued in time: the command runs" {
	modes=warn
	for step in $steps; do
		start_frozen "$step" warn -t 60s
	done
	each until_true is_frozen
	each signal_family STOP
	sleep 0.3
	each signal_family CONT
	each started
}

# With kill and term the command would get TERM in its first moment: it is not started for that.
@test "TERM is due before the command is executed: it is not, 79" {
	steps=send modes='kill term'
	each start_frozen_near_term
	each until_true is_frozen
	each signal_family STOP
	kill_nodes STOP 1 2 3 # or a renewal might be in time
	sleep 3
	each signal_family CONT
	each refused_to_start
}

@test "still before the rights are known, a late vote first: 79, not a wait for ever" {
	run --separate-stderr env "$mark" /usr/bin/python3 "$BATS_TEST_DIRNAME/late_vote.py" "$REDLOCK_BIN"
	[ "$output" = "79 not started" ]
}
