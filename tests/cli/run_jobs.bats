#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock run as a job of an interactive bash: stopped, continued, in the background, in a pipeline, killed.
load run_helper

@test "Ctrl-Z stops the job, fg continues it, Ctrl-C ends it" {
	same_terminal_as_env '
		> $X bash -c "echo go; exec -a job-in-$P sleep 60"
		< go
		? pgrep -f "^job-in-$P"
		^Z
		< Stopped
		> jobs %1; echo "code $?"
		< code 0
		> fg
		< bash -c
		? ps -o stat= -p "$(pgrep -f "^job-in-$P")" | grep -q "^S.*+"
		^C
		< @
		> echo "code $?"
		< code 130
	'
}

@test "Ctrl-Z, bg, end" {
	for prefix in env "$REDLOCK_BIN run $job --"; do
		rm -f "$place"/*
		run at_terminal "$prefix" '
			> mkfifo "$P/wait"; $X bash -c ": > $P/on; read -r < $P/wait; echo done; exit 4"
			? test -e "$P/on"
			^Z
			< Stopped
			> bg
			< &
			> echo > "$P/wait"; wait %1; echo "code $?"
			< code 4
		'
		exits 0
		[[ $output == *done* ]]
		until_true nobody_left
	done
}

@test "a pipeline that is stopped and continued" {
	same_terminal_as_env '
		> mkfifo "$P/wait"; $X bash -c ": > $P/on; read -r < $P/wait; echo done" | cat
		? test -e "$P/on"
		^Z
		< Stopped
		> (sleep 0.2 && echo > "$P/wait" &); fg %1 > /dev/null; echo "codes ${PIPESTATUS[*]}"
		< done
		< codes
	'
}

@test "a job in the background that reads the terminal is stopped, and reads when it is in front" {
	same_terminal_as_env '
		> $X bash -c ": $P; read -r line; echo \"got \$line\"" &
		< [1]
		? ps -o stat= -p "$(pgrep -f "^bash -c : $P")" | grep -q "^T"
		> :
		< Stopped
		> fg >/dev/null
		> text
		< got text
	'
}

@test "a job in the background that needs nothing runs to its end" {
	same_terminal_as_env '
		> $X sh -c "echo out; exit 3" & wait $!; echo "code $?"
		< code 3
	'
}

@test "a job in the background that is ended: the code is as with env" {
	for prefix in env "$REDLOCK_BIN run $job --"; do
		rm -f "$place/on"
		run at_terminal "$prefix" '
			> $X sh -c ": > $P/on; exec sleep 60" &
			? test -e "$P/on"
			> kill %1; wait %1; echo "code $?"
			< code 143
		'
		exits 0
		until_true nobody_left
	done
}

@test "Ctrl-Z while it waits, fg, and the lock is acquired" {
	on_nodes "1 2 3" set "$job" somebody px 600000
	run at_terminal "$REDLOCK_BIN run $job --" '
		> $X sh -c "echo ran; exit 6"; echo "code $?"
		< waiting for
		^Z
		< Stopped
		? for n in 1 2 3; do redis-cli -s "$XDG_RUNTIME_DIR/redlock/cluster/node-$n/redis.sock" del '"$job"'; done
		> fg >/dev/null; echo "then $?"
		< ran
		< then 6
	'
	exits 0
	until_true has_keys 0 "$all" "$job"
}

@test "stopped until the lock is lost: command and redlock are gone before, 79" {
	run at_terminal "$REDLOCK_BIN run -t 2s --renew 300ms --node-timeout 900ms $job --" '
		> $X /usr/bin/python3 '"$BATS_TEST_DIRNAME"'/run_family.py "$P" one
		? test -s "$P"/beat.*
		^Z
		< Stopped
		? ! pgrep -f "run_family.py $P one"
		> wait %1; echo "code $?"
		< code 79
	'
	exits 0
	[[ $output == *"was not renewed in time"* ]]
	[ -n "$(first_term)" ]
	until_true has_keys 0 "$all" "$job"
}

@test "stopped for long, TERM ignored: gone as well" {
	run at_terminal "$REDLOCK_BIN run -t 2s --renew 300ms --node-timeout 900ms $job --" '
		> $X /usr/bin/python3 '"$BATS_TEST_DIRNAME"'/run_family.py "$P" tree deaf
		? [ $(find "$P" -name "beat.*" -size +0 | wc -l) -eq 7 ]
		^Z
		< Stopped
		? ! pgrep -f "run_family.py $P tree"
		> wait %1; echo "code $?"
		< code 79
	'
	exits 0
	until_true has_keys 0 "$all" "$job"
}

@test "a short stop does not cost the lock" {
	run at_terminal "$REDLOCK_BIN run $job --" '
		> mkfifo "$P/wait"; $X bash -c ": > $P/on; read -r < $P/wait; exit 8"
		? test -e "$P/on"
		^Z
		< Stopped
		> (sleep 0.2 && echo > "$P/wait" &); fg %1 > /dev/null; echo "then $?"
		< then 8
	'
	exits 0
	until_true has_keys 0 "$all" "$job"
}

@test "killed at the terminal: nothing of the command is left" {
	run at_terminal "$REDLOCK_BIN run -t 2s --node-timeout 300ms $job --" '
		> $X /usr/bin/python3 '"$BATS_TEST_DIRNAME"'/run_family.py "$P" tree deaf & p=$!
		? [ $(find "$P" -name "beat.*" -size +0 | wc -l) -eq 7 ]
		> kill -KILL $p; wait; echo "code $?"
		< code
		? [ -z "$(pgrep -f "run_family.py $P tree")" ]
	'
	exits 0
	until_true has_keys 0 "$all" "$job"
}

@test "a stopped job whose command is killed ends, as with env" {
	for prefix in env "$REDLOCK_BIN run $job --"; do
		run at_terminal "$prefix" '
			> $X bash -c "echo go; exec -a job-in-$P sleep 60"
			< go
			? pgrep -f "^job-in-$P"
			^Z
			< Stopped
			? pkill -KILL -f "^job-in-$P"
			? [ -z "$(pgrep -f "[j]ob-in-$P")" ]
			> wait %1; echo "code $?"
			< code 137
		'
		exits 0
		until_true nobody_left
	done
	until_true has_keys 0 "$all" "$job"
}
