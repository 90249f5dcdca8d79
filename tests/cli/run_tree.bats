#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Commands that fork, leave their group or session, ignore TERM or are stopped: the lock is held while any of them
# lives, and all of them are stopped when it ends.
load run_helper

# The one process of the family whose parent is not the command.
family_pid() {
	basename "$place"/beat.* | cut -d. -f2
}

# The command itself has ended, what it left behind holds the lock.
leaves_behind() { # SHAPE CODE
	start_family "$1" 1 -t 30s
	pid=$(family_pid)
	command_gone() { [ "$(child_of "$guard_pid")" = "$pid" ]; }
	until_true command_gone
	sleep 0.3
	kill -0 "$run_pid"
	until_true has_keys 5 "$all" "$job"
	kill -s KILL "$pid"
	ends "$2"
}

@test "a command that forks and exits: the lock is held until the child ends, the exit code is the command's" {
	leaves_behind fork 7
}

@test "a command that makes itself a daemon: the lock is held until the daemon ends" {
	leaves_behind daemon 0
}

@test "TERM to redlock ends a daemon too" {
	start_family daemon 1 -t 30s
	until_true eval '[ "$(child_of "$guard_pid")" = "$(family_pid)" ]'
	kill -s TERM "$run_pid"
	ends 0
	[ -n "$(first_term)" ]
}

@test "many short orphans are reaped while the command runs" {
	# The command itself is the only child of the guard in the end.
	start_run "$job" -c 'for i in $(seq 50); do (setsid sleep 0.05 &); done
		for i in $(seq 400); do [ "$(pgrep -P "$PPID" | wc -l)" -gt 1 ] || exit 11; sleep 0.02; done'
	ends 11
}

@test "--max-hold: TERM to all, KILL kill-after later, 124" {
	start_family tree 7 --max-hold 2s
	ends 124
	says "--max-hold is reached: the command gets TERM"
	[ -n "$(first_term)" ]
}

@test "--max-hold, TERM ignored: KILL" {
	declare -A pids
	for shape in session daemon fork stopped; do
		mkdir "$place/$shape"
		start_run -k 600ms --max-hold 6s "$job-$shape" -- \
			/usr/bin/python3 "$BATS_TEST_DIRNAME/run_family.py" "$place/$shape" $shape deaf
		pids[$shape]=$run_pid
	done
	for shape in "${!pids[@]}"; do
		patience=40 await "${pids[$shape]}" 124
		until_true has_keys 0 "$all" "$job-$shape"
		(
			place=$place/$shape
			[ "$(first_term)" -lt "$(last_beat)" ]
		)
	done
	until_true nobody_left
}

@test "a command that is stopped is continued, so that TERM reaches it" {
	start_family stopped 1 -t 30s --max-hold 2s
	ends 124
	[ -n "$(first_term)" ]
}

@test "a command that is stopped and deaf is killed before the lock ends" {
	start_family stopped,deaf 1
	kill -s STOP "$run_pid"
	end=$(quorum_end "$job")
	died_before "$end"
	# The guard continued the command for its TERM, and redlock with it, as always when the command is continued.
	ends 79
}

@test "a command that has children faster than they can be counted" {
	start_family spawn,deaf 3 -t 30s -k 200ms --max-hold 6s
	ends 124
}

@test "names of processes that look like the kernel's table" {
	name="$place/a) R 1 (b"
	cp /bin/sleep "$name"
	start_run "$job" -- setsid -w sh -c ': >"$0.begun"; "$0" 60 & wait' "$name"
	until_true test -e "$name.begun"
	until_true eval '[ "$(marked_pids | wc -l)" -ge 5 ]'
	kill -s KILL "$run_pid"
	until_true nobody_left
	on_nodes "$all" del "$job"
}

@test "a command that replaces itself" {
	start_run "$job" -- sh -c "exec sh -c 'echo \$\$ >$place/pid; exec sleep 60'"
	until_true test -s "$place/pid"
	until_true grep -qx sleep "/proc/$(<"$place/pid")/comm"
	kill -s KILL "$run_pid"
	until_true nobody_left
	on_nodes "$all" del "$job"
}

@test "a command that closes everything that it inherited" {
	start_run "$job" -- /usr/bin/python3 -c 'import os, time; os.closerange(0, 1000); time.sleep(0.3); os._exit(6)'
	ends 6
}

@test "without a terminal the command has a process group of its own, with --foreground redlock's" {
	ask='import os; print(os.getpgrp() == os.getpid(), os.getsid(0) == os.getsid(os.getppid()))'
	start_run "$job" -- /usr/bin/python3 -c "$ask"
	ends 0
	[ "$output" = "True True" ]
	start_run --foreground "$job" -- /usr/bin/python3 -c "import os; print(os.getpgrp())"
	ends 0
	[ "$output" = "$run_pid" ]
}

@test "the guard has no connection to a node" {
	# One socket, and it is not a connection to a node: that to redlock itself.
	start_run "$job" -c 'ls -l /proc/$PPID/fd | grep -c socket:' </dev/null
	ends 0
	[ "$output" = 1 ]
}
