#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Signals to `redlock run`: while it waits they end the wait, while it holds they are the command's.
load run_helper

# A waiter for a lock that others have on these nodes.
start_waiter() { # "N..."
	on_nodes "$1" set "$job" somebody px 600000
	start_run --node-timeout 300ms --trace "$job" -- touch "$place/ran"
	hears trace:
	sleep 0.2
}

# The command and all that it started are gone, the lock is kept for --min-hold: the guard has left.
is_resting() {
	[ "$(marked_pids)" = "$run_pid" ]
}

# A command that writes down the signals it gets, as does its child. TERM ends both.
start_listener() {
	cat >"$place/listen.sh" <<-'END'
		who=$1
		for signal in INT HUP QUIT USR1 USR2 WINCH CONT; do
			trap "echo $who $signal >>\$place/heard" $signal
		done
		trap "echo $who TERM >>\$place/heard; exit 23" TERM
		if [ "$who" = command ]; then bash "$place/listen.sh" child & fi
		echo "$who $$" >>"$place/ready"
		while :; do sleep 0.05; done
	END
	start_run "$job" -- env place="$place" bash "$place/listen.sh" command
	until_true eval '[ "$(cat "$place/ready" 2>/dev/null | wc -l)" -eq 2 ]'
}

@test "TERM INT HUP QUIT while the lock is busy: 128+n at once, partial votes given back" {
	for signal in TERM:143 INT:130 HUP:129 QUIT:131; do
		start_waiter "1 2 3"
		kill -s "${signal%:*}" "$run_pid"
		await "$run_pid" "${signal#*:}"
		[ ! -e "$place/ran" ]
		until_true has_keys 0 "4 5" "$job"
		until_true nobody_left
		has_value 1 "$job" somebody
	done
	on_nodes "$all" del "$job"
}

@test "TERM INT HUP QUIT while there is no quorum" {
	kill_nodes STOP 1 2 3
	for signal in TERM:143 INT:130 HUP:129 QUIT:131; do
		start_waiter ""
		kill -s "${signal%:*}" "$run_pid"
		await "$run_pid" "${signal#*:}"
		until_true has_keys 0 "4 5" "$job"
	done
	kill_nodes CONT 1 2 3
	[ ! -e "$place/ran" ]
	until_true has_keys 0 "$all" "$job"
}

@test "a second signal does not cut the way back short" {
	start_waiter "1 2 3"
	# If two signals are pending, the kernel gives the lower number first.
	kill -s INT "$run_pid"
	kill -s TERM "$run_pid" 2>/dev/null || true
	await "$run_pid" 130
	until_true has_keys 0 "4 5" "$job"
	on_nodes "1 2 3" del "$job"
}

@test "TERM at any moment: the command's end or that of the wait, and nothing is left" {
	for ((i = 0; i < 25; i++)); do
		start_run "$job" -- sleep 20
		sleep 0.0$((i * 2 + 10))
		kill -s TERM "$run_pid" 2>/dev/null || true
		await "$run_pid" 143
	done
	nothing_left
}

# QUIT is the last signal that redlock catches.
catches_quit() {
	grep -qx redlock "/proc/$run_pid/comm" && grep -q '^SigCgt:.*[4-7c-f]$' "/proc/$run_pid/status"
}

# The run waits for the end of its configuration, which the test writes.
@test "TERM INT HUP QUIT before it has asked for the lock: 128+n, and the command does not run" {
	mkfifo "$place/config"
	for signal in TERM:143 INT:130 HUP:129 QUIT:131; do
		REDLOCK_CONFIG=$place/config start_run "$job" -- touch "$place/ran"
		until_true catches_quit
		kill -s "${signal%:*}" "$run_pid" # which ends the wait for the configuration, too
		await "$run_pid" "${signal#*:}"
	done
	[ ! -e "$place/ran" ]
	nothing_left
}

@test "while it holds: every signal goes to the command, and to it alone" {
	start_listener
	for signal in INT HUP QUIT USR1 USR2 WINCH CONT; do
		kill -s "$signal" "$run_pid"
		until_true grep -qx "command $signal" "$place/heard"
	done
	# Each just once, none to the child, and the lock is still held.
	[ "$(wc -l <"$place/heard")" -eq 7 ]
	until_true has_keys 5 "$all" "$job"
	# A process that the command leaves running when it ends gets the next TERM.
	kill -s TERM "$run_pid"
	until_true grep -qx "command TERM" "$place/heard"
	child_pid=$(sed -n 's/^child //p' "$place/ready") guard_pid=$(child_of "$run_pid")
	until_true eval '[ "$(child_of "$guard_pid")" = "$child_pid" ]'
	sleep 0.2
	kill -0 "$run_pid"
	until_true has_keys 5 "$all" "$job"
	kill -s TERM "$run_pid"
	ends 23
	grep -qx "child TERM" "$place/heard"
}

@test "the command's own way to end by a signal decides the exit code" {
	for signal in TERM:143 INT:130 HUP:129 QUIT:131 USR1:138; do
		start_run "$job" -- sh -c "ulimit -c 0; : >$place/begun; exec sleep 30"
		until_true test -e "$place/begun"
		kill -s "${signal%:*}" "$run_pid"
		ends "${signal#*:}"
		rm "$place/begun"
	done
}

@test "TSTP stops the command, the lock is kept, CONT continues it" {
	start_run -t 60s --renew 200ms "$job" -c "while :; do date >>$place/alive; sleep 0.02; done"
	until_true test -s "$place/alive"
	kill -s TSTP "$run_pid"
	command_pid=$(child_of "$(child_of "$run_pid")")
	until_true is_stopped "$command_pid"
	goes_on_renewing
	is_stopped "$command_pid"
	run ! is_stopped "$run_pid"
	kill -s CONT "$run_pid"
	until_true eval '! is_stopped "$command_pid"'
	kill -s TERM "$run_pid"
	ends 143
}

@test "the command stopped by somebody else: the lock is kept" {
	start_run -t 60s --renew 200ms "$job" -- sleep 30
	until_true has_keys 5 "$all" "$job"
	command_pid=$(child_of "$(child_of "$run_pid")")
	kill -s STOP "$command_pid"
	goes_on_renewing
	run ! is_stopped "$run_pid"
	kill -s CONT "$command_pid"
	kill -s TERM "$run_pid"
	ends 143
}

is_stopped() { # PID
	grep -q '^State:	T' "/proc/$1/status"
}

@test "nohup: HUP is ignored, by the command too" {
	env "$mark" setsid nohup "$REDLOCK_BIN" run "$job" -- sleep 30 >"$place/out" 2>"$place/err" 3>&- &
	run_pid=$!
	until_true has_keys 5 "$all" "$job"
	command_pid=$(child_of "$(child_of "$run_pid")")
	until_true grep -qx sleep "/proc/$command_pid/comm"
	kill -s HUP "$run_pid" "$command_pid"
	sleep 0.3
	run ! is_gone "$command_pid"
	kill -s TERM "$run_pid"
	ends 143
}

@test "TERM while the lock is kept for --min-hold: given back at once, the command's exit code" {
	start_run --min-hold 60s "$job" -c "exit 4"
	until_true has_keys 5 "$all" "$job"
	until_true is_resting
	sleep 0.2
	has_keys 5 "$all" "$job"
	kill -s TERM "$run_pid"
	ends 4
}

@test "TERM to the whole group, as timeout(1) and systemd do" {
	start_run "$job" -- sleep 30
	until_true has_keys 5 "$all" "$job"
	kill -s TERM -- "-$run_pid"
	ends 143
	# LeakSanitizer may wait for ever for our stop when CONT comes in between, and timeout sends it after TERM.
	run env ASAN_OPTIONS=detect_leaks=0 timeout -s TERM 0.5 env "$mark" "$REDLOCK_BIN" run --foreground "$job" -- sleep 30 3>&-
	exits 124
	nothing_left
}
