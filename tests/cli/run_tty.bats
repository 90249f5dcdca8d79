#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock run at a terminal, under an interactive bash: what is seen and typed there is as with `env` in its place.
load run_helper

@test "a command that ends: the prompt comes back" {
	same_terminal_as_env '
		> $X sh -c "echo out; exit 3"; echo "code $?"
		< code 3
		> $X tty -s; $X stty size; $X sh -c "test -t 0 && test -t 1 && test -t 2"; echo "code $?"
		< code 0
	'
}

@test "it reads what is typed" {
	same_terminal_as_env '
		> $X sh -c "read -r a; read -r b < /dev/tty; echo got \$a \$b"
		> first
		> second
		< got first second
		> $X cat; echo "code $?"
		> line
		< line
		^D
		< code 0
	'
}

@test "Ctrl-C ends the command and redlock, by INT" {
	same_terminal_as_env '
		> $X sh -c ": > $P/on; exec sleep 60"; echo "not reached"
		? test -e "$P/on"
		^C
		< @
		> echo "code $?"
		< code 130
	'
}

@test "Ctrl-C ends a loop around it" {
	same_terminal_as_env '
		> for i in 1 2 3; do echo "round $i"; $X sh -c ": > $P/on; exec sleep 60"; done; echo "not reached"
		? test -e "$P/on"
		^C
		< @
		> echo "code $?"
		< code 130
	'
}

@test "Ctrl-C to a command that takes it: its own exit code, the loop goes on" {
	same_terminal_as_env '
		> for i in 1 2; do $X bash -c "trap \"echo caught; exit 5\" INT; : > $P/on$i; while :; do sleep 0.02; done"; echo "$i: $?"; done
		? test -e "$P/on1"
		^C
		< caught
		< 1: 5
		? test -e "$P/on2"
		^C
		< caught
		< 2: 5
	'
}

@test "Ctrl-\\ ends both by QUIT" {
	same_terminal_as_env '
		> ulimit -c 0
		> $X sh -c ": > $P/on; exec sleep 60"
		? test -e "$P/on"
		^\
		< Quit
		> echo "code $?"
		< code 131
	'
}

@test "a pipeline: to a reader that ends, from a writer, and to one that reads the terminal" {
	same_terminal_as_env '
		> $X yes | head -n 2; echo "codes ${PIPESTATUS[*]}"
		< codes 141 0
		> printf "a\nb\n" | $X cat | tr ab cd; echo "codes ${PIPESTATUS[*]}"
		< codes 0 0 0
		> $X seq 3 | sh -c "cat; read -r key < /dev/tty; echo \"key \$key\""; echo "codes ${PIPESTATUS[*]}"
		< 3
		> q
		< key q
		< codes 0 0
		> $X sh -c ": > $P/on; exec sleep 60" | cat; echo "not reached"
		? test -e "$P/on"
		^C
		< @
		> echo "code $?"
		< code 130
	'
}

@test "Ctrl-C while it waits for the lock: 130, partial votes given back, a loop ends" {
	on_nodes "1 2 3" set "$job" somebody px 600000
	run at_terminal "$REDLOCK_BIN run $job --" '
		> for i in 1 2; do $X touch "$P/ran"; done; echo "not reached"
		< waiting for
		^C
		< @
		> echo "code $?"
		< code 130
	'
	exits 0
	[[ $output != *$'\nnot reached'* ]]
	[ ! -e "$place/ran" ]
	until_true has_keys 0 "4 5" "$job"
	on_nodes "1 2 3" del "$job"
}

# LeakSanitizer stops the process that ends by PTRACE_ATTACH. The kernel sends HUP and CONT when the session ends, and
# CONT takes back the STOP that the tracer waits for: both hang.
@test "the terminal closed: the command gets HUP, the lock is given back" {
	run at_terminal "env ASAN_OPTIONS=detect_leaks=0 $REDLOCK_BIN run $job --" '
		> $X bash -c "trap \"echo HUP > $P/heard; exit 1\" HUP; : > $P/on; while :; do sleep 0.02; done"
		? test -e "$P/on"
		hangup
	'
	exits 0
	until_true test -s "$place/heard"
	nothing_left
}

@test "the terminal closed, HUP ignored: the command runs on, and so does the lock" {
	run at_terminal "nohup $REDLOCK_BIN run -t 60s --renew 200ms $job --" '
		> $X sh -c ": > $P/on; while [ ! -e $P/end ]; do sleep 0.02; done; : > $P/done" >/dev/null 2>&1
		? test -e "$P/on"
		hangup
	'
	exits 0
	goes_on_renewing
	touch "$place/end"
	until_true nobody_left
	[ -e "$place/done" ]
	until_true has_keys 0 "$all" "$job"
}

@test "the terminal closed while it waits: partial votes are given back" {
	on_nodes "1 2 3" set "$job" somebody px 600000
	run at_terminal "$REDLOCK_BIN run $job --" '
		> $X touch "$P/ran"
		< waiting for
		hangup
	'
	exits 0
	until_true nobody_left
	until_true has_keys 0 "4 5" "$job"
	on_nodes "1 2 3" del "$job"
}

@test "a wait is one line that is kept up to date, and cleared at the end" {
	busy
	TERM_OF_BASH=xterm run at_terminal "$REDLOCK_BIN" '
		columns 200
		> $X run --node-timeout 5s '"$job"' echo ran; echo "then $?"
		| redlock: waiting for [1-9] s for .*, place 1 of 1, held by .somebody. of another client for .*, its key expires in .* s
		| redlock: waiting for [3-9] s for .* s
		^Z
		< Stopped
		| @ *
		> bg
		? sleep 1.2
		< &
		| @ *
		columns 50
		> fg
		| (?=.{49}$)redlock: waiting for .* s for .*
		? for n in $ALL; do redis-cli -s "$XDG_RUNTIME_DIR/redlock/cluster/node-$n/redis.sock" del '"$job"'; done
		< ran
		> $X run -q '"$job"' sleep 60
		? redis-cli -s "$XDG_RUNTIME_DIR/redlock/cluster/node-1/redis.sock" exists '"$job"' | grep 1
		^C
		< @
	'
	exits 0
	[[ $output != *waiting* && $output == *ran* ]]
}

@test "acquire: the same line, none with -q; characters may be wide" {
	busy
	TERM_OF_BASH=xterm run at_terminal "$REDLOCK_BIN" '
		columns 200
		> $X acquire --node-timeout 5s '"$job"'
		| redlock: waiting for [1-9] s for .*, place 1 of 1, held by .somebody. of another client.*
		? for n in $ALL; do redis-cli -s "$XDG_RUNTIME_DIR/redlock/cluster/node-$n/redis.sock" del '"$job"'; done
		< |
		> $X acquire -q -w 1s '"$job"'; echo "then $?"
		< then 75
		> $X acquire -t 9s ääääääää
		< |
		columns 40
		> $X acquire -w 2s ääääääää; echo "and $?"
		| redlock: waiting for [1-9] s for .ääää
		< and 75
	'
	exits 0
	[[ $output != *waiting* ]]
	free
}
