#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lock is lost, or cannot be renewed, in each phase of `redlock run`.
load run_helper

# Stops the majority of the nodes between two renewals; $end is when the lock ends.
cut_off() {
	kill -s STOP "$run_pid"
	end=$(quorum_end "$job")
	kill_nodes STOP 1 2 3
	kill -s CONT "$run_pid"
}

# The end of start_run's while the nodes are cut off.
ends_cut_off() { # CODE
	await "$run_pid"
	stderr=$(cat "$place/err")
	kill_nodes CONT 1 2 3
	exits "$1"
	nothing_left
}

@test "no quorum for the lock: 69, the command is not started, votes are given back" {
	kill_nodes STOP 1 2 3
	start_run --node-timeout 300ms -w 700ms "$job" -- touch "$place/ran"
	ends_cut_off 69
	[ ! -e "$place/ran" ]
	says "no quorum: 2 of 5 nodes voted, 3 are needed"
}

@test "no quorum while the lock is held: TERM, then KILL before its end, 79" {
	start_family tree,deaf 7 -t 8s
	cut_off
	ends_cut_off 79
	died_before "$end"
	[ "$(first_term)" -lt "$(last_beat)" ]
	says "could not be renewed so far; the command gets TERM in" "node 1 unix:" "was not renewed in time"
	says "may keep the key '$job' until its TTL ends"
}

@test "no quorum while the lock is held: a command that ends by TERM" {
	start_family tree 7
	cut_off
	ends_cut_off 79
	died_before "$end"
}

@test "no quorum while everything is being stopped: 124 stays 124" {
	start_family one,deaf 1 --max-hold 2s
	hears "--max-hold is reached"
	kill_nodes STOP 1 2 3
	ends_cut_off 124
}

@test "no quorum when the lock is given back: the command's exit code, and a warning" {
	start_run --node-timeout 300ms "$job" -c "kill -s STOP $(node_pid 1) $(node_pid 2) $(node_pid 3); exit 5"
	ends_cut_off 5
	says "may keep the key '$job' until its TTL ends"
}

@test "a quorum that is back in time: the lock is renewed, the command runs on" {
	start_run -t 5s --renew 300ms -k 300ms --node-timeout 500ms "$job" -c "while [ ! -e $place/end ]; do sleep 0.1; done"
	until_true has_keys 5 "$all" "$job"
	kill_nodes STOP 1 2 3
	hears "could not be renewed so far"
	kill_nodes CONT 1 2 3
	hears "'$job' is renewed"
	touch "$place/end"
	ends 0
}

@test "two nodes of five away: nothing is said, nothing happens" {
	kill_nodes STOP 1 2
	start_run -t 60s --renew 200ms --node-timeout 900ms "$job" -- sleep 1.5
	await "$run_pid"
	kill_nodes CONT 1 2
	exits 0
	[ ! -s "$place/err" ] # their keys keep nobody out
}

@test "--on-loss term, no quorum: TERM and nothing more, 79" {
	start_family one,deaf 1 -t 3s --on-loss term
	cut_off
	hears "it got TERM, and nothing more"
	hears "is lost"
	[ -n "$(first_term)" ]
	[ "$(now_ms)" -ge $((end - 250)) ]
	before=$(last_beat)
	until_true eval '[ "$(last_beat)" -gt "$before" ]'
	kill -s KILL "$(child_of "$guard_pid")"
	ends_cut_off 79
}

@test "--on-loss warn, no quorum: the command runs on, and 79 tells" {
	start_run -t 2s --node-timeout 400ms --on-loss warn "$job" -c "trap 'exit 9' TERM; while [ ! -e $place/end ]; do sleep 0.1; done"
	until_true has_keys 5 "$all" "$job"
	kill_nodes STOP 1 2 3
	hears "it runs on without the lock (--on-loss warn)"
	touch "$place/end"
	ends_cut_off 79
}

@test "the keys are gone on a majority: everything is killed at once, 79" {
	start_family tree,deaf 7 -t 6s --renew 300ms
	on_nodes "1 2 3" flushall
	ends 79
	says "the lock '$job' is lost; the command is killed"
	[ -z "$(first_term)" ]
}

@test "the same, and all are dead before redlock finds words for it: it has killed them" {
	LD_PRELOAD=$REDLOCK_FREEZE FREEZE_AT=told ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		start_family tree,deaf 7 -t 6s --renew 300ms
	on_nodes "1 2 3" flushall
	until_true eval '[ "$(marked_pids)" = "$run_pid" ]' # the guard has left
	kill -s CONT "$run_pid"
	ends 79
	says "the lock '$job' is lost; the command is killed"
}

@test "the keys are gone on a minority: told once if one more failure ends the lock, no key is made again" {
	start_run -t 6s --renew 300ms "$job" -c "while [ ! -e $place/end ]; do sleep 0.1; done"
	until_true has_keys 5 "$all" "$job"
	on_node 1 flushall
	sleep 0.8 # two renewals
	[ ! -s err ]
	on_node 2 flushall
	hears "degraded: "
	sleep 0.8
	has_keys 0 "1 2" "$job"
	has_keys 3 "3 4 5" "$job"
	touch "$place/end"
	ends 0
	[ "$(wc -l <<<"$stderr")" = 1 ]
	says "2 of 5 nodes without the lock, 3 votes are needed: one more failure ends it; nodes 1, 2: its key is missing or is somebody else's"
	rm "$place/end"
	start_run -q --renew 300ms "$job" -c "while [ ! -e $place/end ]; do sleep 0.1; done"
	until_true has_keys 5 "$all" "$job"
	on_nodes "1 2" flushall
	sleep 0.8
	touch "$place/end"
	ends 0
	[ -z "$stderr" ]
}

@test "--on-loss term, the keys are gone: TERM, 79" {
	start_family tree 7 -t 6s --renew 300ms --on-loss term
	on_nodes "1 2 3" flushall
	hears "is lost"
	until_true eval '[ -n "$(first_term)" ]'
	# The one that was stopped got CONT as well, or TERM would not reach it.
	ends 79
}

@test "--on-loss warn, somebody else has the lock: it stays theirs" {
	start_run -t 6s --renew 300ms --on-loss warn "$job" -c "while [ ! -e $place/end ]; do sleep 0.1; done"
	until_true has_keys 5 "$all" "$job"
	on_nodes "$all" set "$job" somebody
	hears "it runs on without the lock"
	touch "$place/end"
	await "$run_pid" 79
	has_keys 5 "$all" "$job"
	on_nodes "$all" del "$job"
}

@test "a command that succeeded under a lock that was gone: 79" {
	start_run "$job" -c "for s in $(for n in $all; do echo "$(node_dir "$n")/redis.sock"; done | xargs); do
		redis-cli -s \$s del $job; done"
	ends 79
	says "was lost before its release: another client may have held it"
}

@test "lost while it is kept for --min-hold: the command had already ended, its exit code stays" {
	start_run -t 6s --renew 300ms --min-hold 30s "$job" -c "exit 3"
	until_true has_keys 5 "$all" "$job"
	until_true eval '[ "$(marked_pids)" = "$run_pid" ]' # the guard has left
	on_nodes "1 2 3" flushall
	ends 3
	says "was lost before --min-hold was over; the command had already ended"
}

@test "redlock itself too slow to renew, --on-loss warn: it says so when it goes on" {
	start_run -t 2s --renew 300ms --on-loss warn --node-timeout 900ms "$job" -c "while [ ! -e $place/end ]; do sleep 0.1; done"
	until_true has_keys 5 "$all" "$job"
	kill -s STOP "$run_pid"
	until_true has_keys 0 "$all" "$job"
	kill -s CONT "$run_pid"
	hears "is lost"
	touch "$place/end"
	ends 79
}

# redlock alone is stopped until the command has ended. It hears of both ends at once.
stopped_until_the_end() { # BEFORE|AFTER the end of the lock, MODE
	start_run -t 4s --renew 300ms --on-loss "$2" --node-timeout 900ms "$job" -c "while [ ! -e $place/end ]; do sleep 0.02; done; touch $place/ended"
	until_true has_keys 5 "$all" "$job"
	kill -s STOP "$run_pid"
	[ "$1" = BEFORE ] || until_true has_keys 0 "$all" "$job"
	touch "$place/end"
	[ "$2" = kill ] || until_true test -e "$place/ended"
	until_true eval '[ "$(marked_pids)" = "$run_pid" ]' # the guard has left
	until_true has_keys 0 "$all" "$job"
	kill -s CONT "$run_pid"
}

@test "the command ends after its lock, while redlock is stopped: 79, --on-loss warn as well" {
	stopped_until_the_end AFTER warn
	ends 79
	says "the lock '$job' is lost; it ended before the command did"
}

@test "the command ends before its lock, while redlock is stopped: its exit code" {
	stopped_until_the_end BEFORE warn
	ends 0
	says "'$job' was lost before its release; the command had already ended"
}

# ---- the wall clock is set ----

# redlock, guard and command have a wall clock that is off by what the file says.
start_dated() { # OPTION... as start_family
	printf '\0\0\0\0\0\0\0\0' >"$place/off"
	LD_PRELOAD=$REDLOCK_CLOCK FAULTS_CLOCK=$place/off ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 start_family "$@"
}

set_clock() { # MS
	/usr/bin/python3 -c 'import sys; open(sys.argv[1], "r+b").write((int(sys.argv[2]) * 10**6).to_bytes(8, "little", signed=True))' \
		"$place/off" "$1"
}

@test "the wall clock is set forward by more than the validity: lost, and it says why" {
	start_dated one 1 -t 60s
	set_clock 59500
	ends 79
	says "the lock '$job' is lost" "wall clock was set forward by 59.5 s"
}

@test "the wall clock is set forward by less: renewed at once, nothing is said" {
	start_dated one 1 -t 60s
	before=$(quorum_end "$job")
	sleep 0.3
	set_clock 30000
	until_true eval '[ "$(quorum_end "$job")" -ge $((before + 250)) ]'
	kill -s TERM "$run_pid"
	ends 143
	[ -z "$stderr" ]
}

@test "the wall clock is set back: nothing" {
	start_dated one 1 -t 60s
	set_clock -3600000
	sleep 0.3
	kill -s TERM "$run_pid"
	ends 143
	[ -z "$stderr" ]
}

# While redlock is stopped. The guard ends the command.
guard_sees() { # MS, to which the wall clock is set, one after the other
	local ms
	start_dated tree 7 -t 60s
	kill -s STOP "$run_pid"
	for ms; do
		sleep 0.3
		set_clock "$ms"
	done
	until_true eval '[ "$(marked_pids)" = "$run_pid" ]'
	kill -s CONT "$run_pid"
	ends 79
}

@test "the wall clock is set back, and forward again, while redlock is stopped" {
	guard_sees -3600000 -3540500
}

@test "the wall clock is set forward while redlock is stopped, and the kernel tells nobody" {
	FAULTS_NO_CANCEL=1 guard_sees 59500
	says "wall clock was set forward by 59.5 s"
}

@test "the wall clock is set forward while redlock is stopped: the guard ends the command" {
	guard_sees 59500
	says "wall clock was set forward by 59.5 s"
}
