#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock elect: one leader, lines at its begin and end, the status file. Never two leaders, however one of them ends.
load run_helper

# An elector of this test in the background, in a session of its own: its process id is in $A, $B.
start_elector() { # A|B OPTION...
	env "$mark" setsid env --default-signal=INT,QUIT,HUP,TERM,USR1 "$REDLOCK_BIN" elect --node-timeout 900ms -t 2s \
		--renew 300ms --owner "$1" --status-file "$1.status" --on-gain "$(logs gain "$1")" --on-loss "$(logs loss "$1")" \
		"${@:2}" "$job" >"$1.out" 2>"$1.err" 3>&- &
	printf -v "$1" %s $!
	until_executed $!
}

# With these times the line of the loss has 2.4 s before the lock ends. By default it would have 233 ms, in which a busy
# machine does not always start its two processes.
patient=(-t 4s -k 2500ms --renew 500ms)

logs() { # EVENT WHO
	# shellcheck disable=SC2016
	printf 'echo "%s %s $(date +%%s%%3N) ${REDLOCK_LATE-}" >>log' "$1" "$2"
}

both() { # OPTION...: A leads, B follows
	start_elector A "$@"
	until_true has_logged 1 gain A
	start_elector B "$@"
	until_true follows B A
}

has_logged() { # COUNT EVENT WHO
	[ "$(grep -c "^$2 $3 " log)" -eq "$1" ]
}

follows() { # WHO LEADER
	grep -qx state=follower "$1.status" && grep -qx "leader=$2" "$1.status"
}

leads() { # WHO, by its status file
	"$REDLOCK_BIN" elect --is-leader --status-file "$1.status" "$job"
}

logged() { # EVENT WHO: when, the last time
	sed -n "s/^$1 $2 \([0-9]*\).*/\1/p" log | tail -n 1
}

# B leads after A, whose line of the loss had ended by then.
taken_over() { # SINCE
	until_true has_logged 1 gain B
	echo "# without a leader: $(($(logged gain B) - $(logged loss A))) ms; since the event: $(($(logged gain B) - $1)) ms" >&3
	[ "$(logged loss A)" -le "$(logged gain B)" ]
	until_true leads B
	run ! leads A
}

finish() {
	finish_electors
	until_true nobody_left
}

finish_electors() {
	kill -s TERM "$A" "$B" 2>/dev/null || true
	wait "$A" "$B" || true
}

tree_of() { # PID: it, its supervisor, guard and term
	local pid children
	echo "$1"
	children=$(child_of "$1") || return 0
	for pid in $children; do
		tree_of "$pid"
	done
}

@test "TERM: the follower leads when the line of the loss has ended; the elector ends with 143" {
	both --on-change 'echo "$REDLOCK_IS_LEADER $REDLOCK_LEADER" >>changes'
	leads A
	run ! leads B
	[ "$("$REDLOCK_BIN" elect --leader --status-file B.status "$job")" = A ]
	begin=$(now_ms)
	kill -s TERM "$A"
	await "$A" 143
	taken_over "$begin"
	until_true grep -qx "1 B" changes
	grep -qx "1 A" changes
	grep -qx "0 A" changes
	kill -s TERM "$B"
	await "$B" 143
	nothing_left
	[ "$(grep -c . log)" = 4 ]
}

@test "USR1: the leader steps down and follows" {
	both
	begin=$(now_ms)
	kill -s USR1 "$A"
	taken_over "$begin"
	until_true follows A B
	kill -s USR1 "$B"
	until_true has_logged 2 gain A
	[ "$(logged loss B)" -le "$(logged gain A)" ]
	finish
}

@test "the supervisor is killed: the line of the loss runs at once, the follower leads at the end of the TTL" {
	both
	begin=$(now_ms)
	kill -s KILL "$(child_of "$A")"
	taken_over "$begin"
	until_true follows A B
	finish
}

@test "the elector is killed: the term ends as it does with TERM" {
	both
	begin=$(now_ms)
	kill -s KILL "$A"
	wait "$A" || true
	taken_over "$begin"
	finish
}

@test "elector, supervisor and guard are killed at once: the kernel kills the term, the follower leads after the TTL" {
	both
	begin=$(now_ms)
	tree=$(tree_of "$A")
	# shellcheck disable=SC2086 # a list
	kill -s STOP $tree # so that none sees the end of another one
	# The guard first: after the end of a parent the kernel sends HUP and CONT to a group that is stopped. The
	# last one of the list is the term.
	for pid in $(tac <<<"$tree" | tail -n +2); do
		kill -s KILL "$pid"
	done
	until_true has_logged 1 gain B
	echo "# without a leader: $(($(logged gain B) - begin)) ms" >&3
	has_logged 0 loss A
	run ! leads A
	finish
}

@test "the guard is killed: the line of the loss runs late, and says so" {
	both
	kill -s KILL "$(child_of "$(child_of "$A")")"
	until_true has_logged 1 loss A
	grep -q '^loss A [0-9]* 1$' log
	until_true has_logged 1 gain B
	finish
}

@test "all of the leader is stopped: its status file is not believed, the follower leads, and after CONT it follows" {
	both
	begin=$(now_ms)
	tree=$(tree_of "$A")
	# shellcheck disable=SC2086 # a list
	kill -s STOP $tree
	until_true has_logged 1 gain B
	echo "# without a leader: $(($(logged gain B) - begin)) ms at most" >&3
	run ! leads A
	has_logged 0 loss A
	# shellcheck disable=SC2086 # a list
	kill -s CONT $tree
	until_true has_logged 1 loss A
	until_true follows A B
	has_logged 1 gain A
	finish
}

@test "the first process of the leader is stopped: it goes on leading, and nobody else does; its file is not believed" {
	both
	kill -s STOP "$A"
	leads_no_more() { ! leads A; }
	until_true leads_no_more
	sleep 4 # two TTLs
	has_logged 0 gain B
	has_logged 0 loss A
	until_true has_keys 5 "$all" "$job"
	kill -s CONT "$A"
	until_true leads A
	has_logged 1 gain A
	finish
}

# Relays to all nodes: their process is $relay, and $relayed are the URLs.
start_relay() {
	local node pairs=()
	relayed=
	for node in $all; do
		pairs+=("r$node=$(node_dir "$node")/redis.sock")
		relayed+=${relayed:+,}unix://$PWD/r$node
	done
	env "$mark" /usr/bin/python3 "$BATS_TEST_DIRNAME/relay.py" "${pairs[@]}" 3>&- &
	relay=$!
	until_true test -S r5
}

@test "the leader alone is cut off: it steps down in time, the follower leads after that, and then it follows" {
	start_relay
	REDLOCK_URLS=$relayed start_elector A "${patient[@]}"
	until_true has_logged 1 gain A
	start_elector B
	until_true follows B A
	begin=$(now_ms)
	kill -s STOP "$relay"
	end=$(quorum_end "$job")
	taken_over "$begin"
	[ "$(logged loss A)" -le "$end" ]
	kill -s CONT "$relay"
	until_true follows A B
	has_logged 1 gain A
	has_logged 0 loss B
	finish_electors
	kill -s KILL "$relay"
	wait "$relay" || true
	nothing_left
}

@test "a majority of nodes hangs: the leader steps down in time, nobody leads; then one of them leads again" {
	both "${patient[@]}"
	kill_nodes STOP 1 2 3
	end=$(quorum_end_of_rest)
	until_true has_logged 1 loss A
	run ! leads A
	echo "# the loss ended $((end - $(logged loss A))) ms before the lock could" >&3
	[ "$(logged loss A)" -le "$end" ]
	sleep 1
	[ "$(grep -c '^gain' log)" = 1 ]
	kill_nodes CONT 1 2 3
	begin=$(now_ms)
	until_true has_led 2
	echo "# leads again after $(($(now_ms) - begin)) ms" >&3
	finish
}

@test "no quorum: nobody is named as the leader, neither the former one nor one that only tries" {
	both "${patient[@]}"
	kill -s TERM "$A"
	await "$A" 143
	until_true leads B
	kill_nodes STOP 1 2 3
	until_true has_logged 1 loss B
	start_elector A "${patient[@]}"
	until_true follows A ''
	until_true follows B ''
	for _ in {1..40}; do # two TTLs
		sleep 0.2
		follows A ''
		follows B ''
		want 1 "$REDLOCK_BIN" elect --leader --status-file B.status "$job"
	done
	kill_nodes CONT 1 2 3
	until_true has_led 3
	finish
}

has_led() { # TIMES
	[ "$(grep -c '^gain' log)" -ge "$1" ]
}

# The nodes that hang cannot be asked: by one that does not. Nobody renews it now.
quorum_end_of_rest() {
	local left
	left=$(on_node 4 pttl "$job")
	echo $(($(now_ms) + left))
}

@test "a line of the loss that is too slow is killed before the lock ends, with all that the gain has left running" {
	start_elector A "${patient[@]}" --on-gain "$(logs gain A); (trap '' TERM; while :; do date +%s%3N >>beat; sleep 0.02; done) &" \
		--on-loss 'echo begun >>slow; sleep 30; echo ended >>slow'
	until_true has_logged 1 gain A
	start_elector B
	until_true follows B A
	kill_nodes STOP 1 2 3
	end=$(quorum_end_of_rest)
	until_true test -e slow
	until_true follows A ''
	kill_nodes CONT 1 2 3
	[ "$(<slow)" = begun ]
	[ "$(tail -n 1 beat)" -le "$end" ]
	finish
}

@test "--on-gain that fails, or takes too long, lets another host lead; its processes end with the term" {
	start_elector A --on-gain 'echo try >>log; exit 3'
	until_true grep -q -e '--on-gain: exit code 3' A.err
	start_elector B --hook-timeout 300ms --on-gain "$(logs gain B); sleep 30"
	until_true has_logged 1 gain B
	until_true grep -q -e '--on-gain: it took longer than --hook-timeout' B.err
	until_true has_logged 1 loss B
	kill -s TERM "$A" "$B"
	await "$A" 143
	await "$B" 143
	nothing_left
}

@test "the keys are deleted: the lock is lost at once, and the line of the loss runs late" {
	start_elector A -v
	until_true has_logged 1 gain A
	busy
	until_true has_logged 1 loss A
	grep -q '^loss A [0-9]* 1$' log
	grep -q "the lock was lost at once: --on-loss runs now" A.err
	until_true follows A "'somebody' of another client"
	free
	until_true has_logged 2 gain A
	kill -s TERM "$A"
	await "$A" 143
}

@test "--max-hold: the leader steps down, and leads again if nobody else does" {
	start_elector A --max-hold 300ms
	until_true has_logged 2 gain A
	[ "$(grep -c '^loss A' log)" -ge 1 ]
	kill -s TERM "$A"
	await "$A" 143
}

@test "the status file needs no server to be read; without a writer, or too old, it says no" {
	unset REDLOCK_URLS
	want 1 "$REDLOCK_BIN" elect --is-leader --status-file none "$job"
	want 1 "$REDLOCK_BIN" elect --leader --status-file none "$job"
	write() { # BOOT-NS WALL-MS
		printf 'state=leader\nname=x\nleader=host-7\nvalid_boot_ns=%s\nvalid_wall_ms=%s\n' "$1" "$2" >file
	}
	write 9999999999999999999 9999999999999
	want 0 "$REDLOCK_BIN" elect --is-leader --status-file file "$job"
	want 0 "$REDLOCK_BIN" elect --leader --status-file file "$job"
	[ "$output" = host-7 ]
	for times in '1 9999999999999' '9999999999999999999 1' 'x y'; do
		# shellcheck disable=SC2086 # two words
		write $times
		want 1 "$REDLOCK_BIN" elect --is-leader --status-file file "$job"
		want 1 "$REDLOCK_BIN" elect --leader --status-file file "$job"
		[ -z "$output" ]
	done
	head -c 300000 /dev/urandom >file
	want 1 "$REDLOCK_BIN" elect --is-leader --status-file file "$job"
	write 9999999999999999999 9999999999999
	mv file "$XDG_RUNTIME_DIR/redlock-elect-a%2Fb"
	want 0 "$REDLOCK_BIN" elect --is-leader a/b
	rm "$XDG_RUNTIME_DIR/redlock-elect-a%2Fb"
}

@test "a status file that cannot be written is one line, and the election goes on" {
	mkdir A.status
	start_elector A
	until_true has_logged 1 gain A
	kill -s TERM "$A"
	await "$A" 143
	[ "$(grep -c -e '--status-file A.status: ' A.err)" = 1 ]
}

@test "a second elector with the same status file says that another one writes it; a dead one is nothing" {
	start_elector A
	until_true leads A
	env "$mark" "$REDLOCK_BIN" elect --status-file A.status "$job" 2>C.err 3>&- &
	C=$!
	until_true grep -q "warning: --status-file A.status: another elector, process $A, writes it too" C.err
	kill "$C"
	await "$C"
	kill -s KILL "$A"
	until_true nobody_left
	start_elector A
	until_true has_logged 2 gain A
	run ! grep -q "another elector" A.err
	finish
}

ends_by_itself() { # CODE TEXT
	[[ $stderr == *"this elector of '$job' ends by itself, with exit code $1: $2"* ]] || { echo "$stderr" && return 1; }
}

@test "systemd is told who leads; usage errors are 64, and a wrong configuration ends the elector" {
	/usr/bin/python3 "$BATS_TEST_DIRNAME/notify_listener.py" "$place/notify" STOPPING >told 3>&- &
	listener=$!
	until_true test -S notify
	NOTIFY_SOCKET=$place/notify start_elector A
	until_true grep -q "READY=1" told
	until_true grep -q "STATUS=leading '$job'" told
	kill -s TERM "$A"
	await "$A" 143
	until_true grep -q "STOPPING=1" told
	await "$listener" 0
	gives 64 "$REDLOCK_BIN" elect
	gives 64 "$REDLOCK_BIN" elect ''
	gives 64 "$REDLOCK_BIN" elect --on-gain '' "$job"
	gives 64 "$REDLOCK_BIN" elect -t 2s -k 2s --status-file s "$job"
	gives 78 env REDLOCK_URLS=bad://x timeout 20 "$REDLOCK_BIN" elect --status-file s "$job"
	ends_by_itself 78 configuration
	gives 77 env REDLOCK_AUTH=wrong timeout 20 "$REDLOCK_BIN" elect --user nobody --status-file s "$job"
	ends_by_itself 77 "a server refuses the user or password"
}
