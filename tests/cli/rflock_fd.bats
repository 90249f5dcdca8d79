#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rflock with a descriptor, beside flock(1): what scripts see of it, and what becomes of the script when a part of
# the keeper dies, is stopped, or loses the lock.
load run_helper

setup() {
	begin_edge
	cd "$place" || return
	export rflock="${REDLOCK_BIN%/*}/rflock"
	lock=$(realpath "$place")/L
}

teardown() {
	kill_nodes CONT 1 2 3
	end_edge
}

# A script in which $F is flock or rflock, in a session of its own. It may use descriptors from 5 up.
script() { # F LINES
	env "$mark" REDLOCK_NODE_TIMEOUT=2s F="$1" setsid -w bash -c "$2" 3>&-
}

start_script() { # LINES: $script_pid
	rm -f "$place"/beat "$place"/begun
	env "$mark" REDLOCK_TTL="${ttl-30s}" REDLOCK_NODE_TIMEOUT=400ms F="$rflock" setsid bash -c "$1" \
		>"$place/out" 2>"$place/err" 3>&- &
	script_pid=$!
}

# Works under the lock, and does not care for TERM unless there is a trap: what it runs gets the signals too.
work='exec 9>L; $F 9 || exit; trap "echo term >>termed" TERM; : >begun; while :; do date +%s%N >>beat; sleep 0.05; done'

start_work() {
	start_script "${1-$work}"
	until_true test -e begun
	waiter_pid=$(process_of_keeper redlock-waiter)
	guard_pid=$(process_of_keeper redlock-guard)
	keeper_pid=$(ps -o ppid= -p "$guard_pid" | tr -d ' ')
}

process_of_keeper() { # NAME
	local pid
	for pid in $(marked_pids); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$1" ] || echo "$pid"
	done
}

last_work() { # ms
	echo $(($(tail -n 1 beat) / 1000000))
}

# By how much the script's pauses of 50 ms were ever longer: so much later others may act as well.
longest_wait() { # ms
	awk 'NR > 1 && $1 - last > most { most = $1 - last } { last = $1 } END { print (most > 5e7 ? int(most / 1e6) - 50 : 0) }' beat
}

# On a machine that keeps everybody waiting, KILL comes later by a few of these waits.
worked_until() { # MS
	echo "worked until $(($(last_work) - $1)) ms after the end of the lock; the longest wait: $(longest_wait) ms"
	[ "$(last_work)" -le "$(($1 + 4 * $(longest_wait)))" ]
}

is_free() {
	has_keys 0 "$all" "$lock"
}

@test "a script sees the same as of flock" {
	while IFS= read -r lines; do
		[ -n "$lines" ] || continue
		rm -rf L
		with_flock=$(script flock "$lines" 2>/dev/null)
		rm -rf L
		with_rflock=$(script "$rflock" "$lines" 2>"$place/err")
		echo "$lines: $with_flock | $with_rflock | $(cat "$place/err")"
		[ -n "$with_flock" ]
		[ "$with_rflock" = "$with_flock" ]
		until_true is_free
	done <<'LINES'
exec 9>L; $F 9; echo $?; $F 9; echo $?; $F -n 9; echo $?; bash -c '$F -n 9; echo $?'
exec 9>L 8>L; $F -n 9; $F -n 8; echo $?; $F -n -E 7 8; echo $?; $F -w 0.1 8; echo $?; $F --timeout 0.1 -E 9 8; echo $?
exec 9>L 8>L; $F -n 9; exec 9>&-; $F -w 9 8; echo $?
exec 9>L 8>L; $F 9; $F -u 9; echo $?; $F -n 8; echo $?; $F -n 9; echo $?; $F -u 9; echo $?
exec 9>L 8>L 7>L; $F -s 9; $F -n -s 8; echo $?; $F -n -x 7; echo $?; $F -u 9; $F -n 7; echo $?; $F -u 8; $F -n 7; echo $?
exec 9>L 8>L 7>L; $F -s 9; $F -s 8; $F -n -x 8; echo $?; $F -u 9; $F -n 7; echo $?
exec 9>L 8>L; $F -x 9; $F -n -s 9; echo $?; $F -n -s 8; echo $?; $F -n -x 9; echo $?
exec 9>L 8>&9 7>L; $F 9; $F -n 8; echo $?; exec 9>&-; $F -n 7; echo $?; $F -u 8; $F -n 7; echo $?
exec 9>L 8>L; $F 9; (exec 9>&-; sleep 0.2); $F -n 8; echo $?; (exec 9>&-; $F -n 8; echo $?)
exec 9>L 8>L; $F 9; { sleep 1; echo child; } & exec 9>&-; $F -n 8; echo $?; wait; $F -w 9 8; echo $?
exec 9>L 8>L; bash -c '$F 9'; $F -n 8; echo $?; exec 9>&-; $F -w 9 8; echo $?
$F 9 9>L; echo $?; exec 8>L; $F -w 9 8; echo $?
( $F -n 9 || exit 1; echo in; exec 8>L; $F -n 8; echo $? ) 9>L; exec 8>L; $F -w 9 8; echo $?
: >L; exec 9<L 8<L; $F 9; echo $?; $F -n 8; echo $?
: >L; exec 9<>L 8>>L; $F 9; echo $?; $F -n 8; echo $?; $F -s -n 8; echo $?
mkdir L; exec 9<L 8<L; $F 9; echo $?; $F -n 8; echo $?
: >L; { $F 0; echo $?; exec 8>L; $F -n 8; echo $?; } <L
exec 6>&1; { $F 1; echo $? >&6; exec 8>L; $F -n 8; echo $? >&6; } >L
{ $F 2; echo $?; exec 8>L; $F -n 8; echo $?; } 2>L
exec 200>L 8>L; $F -x -n 200; echo $?; $F -n 8; echo $?; $F -xn 8; echo $?; $F -sn 200; echo $?; $F -n -s 8; echo $?
exec 9>L; $F -o 9; echo $?; $F --close 9; echo $?; $F -F 9; echo $?; $F -oF 9; echo $?; $F -s -e 9; echo $?; $F -n -w 1 9; echo $?
exec 9>L; $F +9; echo $?; $F ' 9'; echo $?; $F 7; echo $?; $F abc; echo $?; $F ''; echo $?; $F 9.0; echo $?; $F 0x9; echo $?; $F 99999999999; echo $?
exec 9>&-; $F 9; echo $?; $F -u 9; echo $?; $F 3; echo $?; $F 4; echo $?
exec 9>L 8>L; $F -u 9; echo $?; $F -n 8; echo $?; $F -u 9; $F -n 9; echo $?
exec 9>L 8>L; flock 9; $F -n 9; echo $?; flock -n 8; echo $?; $F -n 8; echo $?; flock -u 9; $F -w 9 8; echo $?
exec 9>L 8>L; flock 9; $F -n 8; echo $?; $F -w 0.3 -E 4 8; echo $?; $F -n -s 8; echo $?; exec 9>&-; $F -n 8; echo $?
exec 9>L 8>L; $F -x 9; flock -n 8; echo $?; flock -n 9; echo $?; flock -s 9; flock -n -s 8; echo $?; $F -w 9 -s 8; echo $?
exec 9>L; $F 9; read -r x < <($F -n 9; echo $?); echo $x; x=$($F -n 9 2>&1); echo "$? $x"; mv L M; $F -n 9; echo $?; $F -u 9; echo $?
exec 9>L 5>M 8>M; flock 5; $F 9; exec 5>&-; flock -n 8; echo $?
LINES
}

@test "a descriptor that cannot be named is refused before anything is asked" {
	on_nodes "$all" config resetstat
	for lines in '$F 9 9> >(cat)' 'exec 9< <(sleep 1); $F 9' '$F 9 9</dev/null' 'exec 9>L; rm L; $F 9' \
		'exec 9>L; rm L; : >L; $F 9' 'mkfifo P; exec 9<>P; $F 9' 'exec 9<>/dev/tcp/127.0.0.1/'"$(node_port 1)"'; $F 9'; do
		capture script "$rflock" "$lines"
		echo "$lines"
		exits 65
		says "rflock: 9: "
		rm -rf L M P
	done
	gives 64 script "$rflock" '$F -u L true'
	gives 64 script "$rflock" '$F -E 0 9 9>L'
	gives 64 script "$rflock" '$F -w . 9 9>L'
	gives 78 script "$rflock" 'unset REDLOCK_URLS; $F 9 9>L'
	on_node 2 info commandstats >"$place/asked"
	run ! grep -q cmdstat_set "$place/asked"
	until_true nobody_left
}

@test "no quorum is 71, and the file is not locked" {
	kill_nodes STOP 1 2 3
	capture script "$rflock" 'exec 9>L; $F -w 0.5 9; echo $?; flock -n L true; echo $?'
	kill_nodes CONT 1 2 3
	[ "$output" = $'71\n0' ]
	until_true is_free
}

@test "a descriptor, a file with a command, and its real path are one lock" {
	ln -s L link
	capture script "$rflock" 'exec 9>link; $F 9; $F -n L true; echo $?; cd /; '"$REDLOCK_BIN"' run -n '"$lock"' true; echo $?'
	[ "$output" = $'1\n75' ]
	until_true is_free
	capture script "$rflock" '$F link bash -c '\''$F -n 9 9>L; echo $?'\'
	[ "$output" = 1 ]
}

@test "nothing of the caller stays open in the keeper: pipes, locks, its output" {
	capture script "$rflock" 'exec 9>L; x=$($F --verbose 9 2>&1); echo "got $?"; $F -n L true; echo $?'
	[ "$output" = $'got 0\n1' ]
	start_work
	for pid in $keeper_pid $guard_pid $waiter_pid; do
		run ! grep -q FLOCK /proc/"$pid"/fdinfo/*
		[ -z "$(find /proc/"$pid"/fd -lname "$place/out")" ]
	done
	kill -s KILL "$script_pid"
	nothing_left_here
}

nothing_left_here() {
	wait "$script_pid" || true
	patience=60 until_true nobody_left
	patience=60 until_true is_free
}

@test "the script ends, however: the lock is released, no process stays" {
	for signal in KILL TERM HUP; do
		start_work "${work//trap*TERM;/}"
		until_true has_keys 5 "$all" "$lock"
		[ "$(marked_pids | wc -l)" -ge 4 ]
		kill -s "$signal" -- "-$script_pid"
		nothing_left_here
	done
}

@test "a background child that has the descriptor holds the lock longer than its shell" {
	start_script 'exec 9>L; $F 9; : >begun; sleep 60 & exit'
	until_true test -e begun
	await "$script_pid" 0
	sleep 0.3
	until_true has_keys 5 "$all" "$lock"
	for pid in $(marked_pids); do
		[ "$(cat "/proc/$pid/comm")" != sleep ] || kill "$pid"
	done
	nothing_left_here
}

# Each is a way to lose what keeps the lock, and whether the lock is released in the end or left to its TTL.
@test "a part of the keeper is killed: the script and what it runs are gone before the lock ends" {
	export ttl=6s
	for dies in keeper guard waiter "keeper guard" "guard keeper"; do
		rm -f termed
		start_work
		pids=
		for part in $dies; do
			part=${part}_pid
			pids+=" ${!part}"
		done
		# shellcheck disable=SC2086 # a list
		kill -s KILL $pids
		end=$(quorum_end "$lock")
		until_true nobody_left
		echo "$dies"
		worked_until "$end"
		[ "$dies" != keeper ] || [ -s termed ]
		wait "$script_pid" || true
		# A keeper that was killed could release nothing.
		[[ $dies != *keeper* ]] || on_nodes "$all" del "$lock"
		until_true is_free
	done
}

# There the kernel shows a locker that has ended as 0. Process 1 of the namespace gets no signals from in there.
@test "in a container the waiter is killed: the script is gone before the lock ends" {
	unshare --mount --pid --fork --mount-proc true 2>/dev/null || skip "no PID namespace can be made here (unshare -p)"
	# shellcheck disable=SC2016 # for the shells in there
	run env "$mark" REDLOCK_TTL=6s REDLOCK_NODE_TIMEOUT=2s F="$rflock" timeout -k 1 30 \
		unshare --mount --pid --fork --kill-child --mount-proc bash -c '
			bash -c "exec 9>L; \$F 9 || exit 9; trap : TERM; touch begun; while :; do sleep 0.05; done" &
			until [ -e begun ]; do sleep 0.05; done
			kill -s KILL "$(pgrep -x redlock-waiter)"
			wait $!
			echo "ended: $?"' 3>&-
	[[ $output == *"ended: 137" ]]
	until_true nobody_left
	until_true is_free
}

@test "the keeper is stopped: TERM, then KILL, before the lock ends" {
	export ttl=3s
	start_work
	kill -s STOP "$keeper_pid"
	end=$(quorum_end "$lock")
	until_true is_gone "$script_pid"
	worked_until "$end"
	[ -s termed ]
	kill -s CONT "$keeper_pid"
	nothing_left_here
	[[ $(cat err) == *"was not renewed in time"* ]]
}

@test "the guard or the waiter is stopped: the lock is renewed, and released after the end" {
	export ttl=2s
	for part in guard_pid waiter_pid; do
		start_work "${work//trap*TERM;/}"
		kill -s STOP "${!part}"
		sleep 2.5
		has_keys 5 "$all" "$lock"
		[ $part = waiter_pid ] || kill -s CONT "$guard_pid"
		kill -s KILL -- "-$script_pid"
		nothing_left_here
	done
}

@test "the lock is lost: KILL at once; also when the guard is stopped" {
	export ttl=3s
	for part in "" guard_pid; do
		start_work
		[ -z "$part" ] || kill -s STOP "${!part}"
		on_nodes "1 2 3" flushall
		nothing_left_here
		[[ $(cat err) == *"is lost; the caller of rflock is killed"* ]]
	done
}

@test "the loss reaches a process that closed the descriptor, and one whose shell has gone" {
	export ttl=3s
	start_work 'exec 9>L; $F 9; (sleep 60 9>&- & exec sleep 60) & setsid sleep 60 & : >begun; exit'
	await "$script_pid" 0
	on_nodes "1 2 3" flushall
	nothing_left_here
}

@test "signals during the wait end it: nothing is held, nobody is left" {
	on_nodes "1 2 3" set "$lock" somebody px 600000
	for signal in TERM:143 HUP:129 KILL:137; do
		start_script 'exec 9>L; trap : INT QUIT HUP; $F 9 & echo $! >pid; wait $!; echo $? >code; wait'
		until_true test -s pid
		until_executed "$(cat pid)"
		until_true keeper_waits
		kill -s "${signal%:*}" "$(cat pid)"
		until_true test -s code
		[ "$(cat code)" = "${signal#*:}" ]
		rm -f pid code
		kill -s KILL -- "-$script_pid" || true # it may have ended
		wait "$script_pid" || true
		until_true nobody_left
		until_true has_keys 0 "4 5" "$lock"
	done
	on_nodes "1 2 3" del "$lock"
}

keeper_waits() {
	[ -n "$(process_of_keeper redlock-guard)" ] && on_node 4 client list | grep -q "cmd=\(set\|evalsha\|eval\|subscribe\)"
}

@test "the shell is killed during the wait: the call ends with a lock that nobody holds" {
	on_nodes "$all" set "$lock" somebody px 600000
	start_script 'exec 9>L; $F 9'
	until_true keeper_waits
	kill -s KILL "$script_pid"
	on_nodes "$all" del "$lock"
	nothing_left_here
}

@test "the keeper is killed during the wait: 125" {
	on_nodes "$all" set "$lock" somebody px 600000
	start_script 'exec 9>L; $F 9; echo $?'
	until_true keeper_waits
	kill -s KILL "$(ps -o ppid= -p "$(process_of_keeper redlock-guard)")"
	await "$script_pid" 0
	[ "$(cat out)" = 125 ]
	on_nodes "$all" del "$lock"
	nothing_left_here
}

@test "at a terminal: Ctrl-C ends the wait, Ctrl-Z stops it, neither touches a lock that is held" {
	on_nodes "$all" set "$lock" somebody px 600000
	run at_terminal "$rflock" '
		> cd "$P"; exec 9>L
		> $X 9
		? redis-cli -s $sandbox/redlock/cluster/node-4/redis.sock client list | grep -qv cmd=client
		^C
		< @
		> echo "code $?"
		< code 130
		> for i in 1 2; do $X 9; done; echo "not reached"
		? redis-cli -s $sandbox/redlock/cluster/node-4/redis.sock client list | grep -qv cmd=client
		^C
		< @
		> $X 9
		? redis-cli -s $sandbox/redlock/cluster/node-4/redis.sock client list | grep -qv cmd=client
		^Z
		< Stopped
		> '"for i in $all; do redis-cli -s $sandbox/redlock/cluster/node-\$i/redis.sock del $lock; done; fg; echo \"held \$?\""'
		< held 0
		> $X -n L true; echo "code $?"
		< code 1
		> $X -u 9; $X -n L echo free
		< free
	'
	exits 0
	[[ $output != *"not reached"*$'\n'* ]]
	until_true nobody_left
	until_true is_free
}
