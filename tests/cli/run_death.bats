#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock or its guard is killed or stopped while the command runs: nothing of the command outlives the lock.
load run_helper

@test "redlock killed: everything gets TERM at once, and is gone before the lock ends" {
	start_family tree 7 -t 12s
	kill -s KILL "$run_pid"
	end=$(quorum_end "$job")
	died_before "$end"
	# The one that was stopped got CONT as well, or it could not have ended by TERM.
	[ "$(find "$place" -name 'term.*' -size +0 | wc -l)" -eq 7 ]
	# The lock of a redlock that was killed lives until its TTL ends.
	has_keys 5 "$all" "$job"
	on_nodes "$all" del "$job"
}

@test "redlock killed, TERM ignored: KILL before the lock ends" {
	start_family tree,deaf 7
	kill -s KILL "$run_pid"
	end=$(quorum_end "$job")
	died_before "$end"
	[ "$(first_term)" -lt "$(last_beat)" ]
}

@test "redlock killed: a daemon and what is in other sessions are found too" {
	start_family daemon,deaf 1
	kill -s KILL "$run_pid"
	died_before "$(quorum_end "$job")"
}

@test "redlock stopped: TERM kill-after before the end, KILL before the end, 79 when it goes on" {
	start_family tree,deaf 7
	kill -s STOP "$run_pid"
	end=$(quorum_end "$job")
	until_true is_gone "$guard_pid"
	# The guard's work alone: the one that is not gone is redlock.
	[ "$(marked_pids)" = "$run_pid" ]
	[ "$(last_beat)" -le $((end + 250 + 4 * $(longest_gap))) ]
	# Not at once: a redlock that is stopped may go on in time.
	[ "$(first_term)" -ge $((end - 1000)) ]
	[ "$(first_term)" -lt "$(last_beat)" ]
	kill -s CONT "$run_pid"
	ends 79
	says "was not renewed in time"
}

@test "redlock stopped, and continued in time: nothing happens" {
	start_family one 1 -t 30s
	kill -s STOP "$run_pid"
	sleep 0.5
	kill -s CONT "$run_pid"
	sleep 0.2
	[ -z "$(first_term)" ]
	kill -s TERM "$run_pid"
	ends 143
}

@test "redlock stopped and then killed" {
	start_family tree,deaf 7
	kill -s STOP "$run_pid"
	kill -s KILL "$run_pid"
	died_before "$(quorum_end "$job")"
}

@test "redlock killed while it waits: no guard remains" {
	on_nodes "1 2 3" set "$job" somebody px 600000
	start_run -v "$job" -- touch "$place/ran"
	hears "waiting for"
	kill -s KILL "$run_pid"
	until_true nobody_left
	[ ! -e "$place/ran" ]
	on_nodes "$all" del "$job"
}

@test "redlock killed, --on-loss term: TERM and no KILL" {
	start_family one,deaf 1 --on-loss term
	kill -s KILL "$run_pid"
	end=$(quorum_end "$job")
	until_true have_keys_gone
	until_true eval '[ -n "$(first_term)" ]'
	[ "$(now_ms)" -ge $((end - 50)) ]
	before=$(last_beat)
	until_true beats_on
	# shellcheck disable=SC2046 # a list
	kill -s KILL $(marked_pids)
	until_true nobody_left
}

@test "redlock killed, --on-loss warn: the command runs on" {
	start_family one 1 --on-loss warn
	kill -s KILL "$run_pid"
	until_true have_keys_gone
	until_true is_gone "$guard_pid"
	before=$(last_beat)
	until_true beats_on
	[ -z "$(first_term)" ]
	# shellcheck disable=SC2046 # a list
	kill -s KILL $(marked_pids)
	until_true nobody_left
}

have_keys_gone() {
	has_keys 0 "$all" "$job"
}

beats_on() { # after $before
	[ "$(last_beat)" -gt "$before" ]
}

@test "the guard killed: everything is killed, the lock is given back, 125" {
	start_family tree,deaf 7 -t 30s
	kill -s KILL "$guard_pid"
	ends 125
	says "the guard process was killed"
}

# The lowest free number is the first one that no process can get any more.
fill_table() { # PID
	local free=0
	while [ -L "/proc/$1/fd/$free" ]; do
		free=$((free + 1))
	done
	prlimit --pid "$1" --nofile="$free"
}

@test "the guard killed, redlock has no descriptor left: everything is killed all the same, 125" {
	start_family tree,deaf 7 -t 30s
	fill_table "$run_pid"
	kill -s KILL "$guard_pid"
	ends 125
	says "the guard process was killed"
}

@test "the guard cannot be told to execute the command: 125, and no lock that is renewed for nothing" {
	ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 FREEZE_AT=refused LD_PRELOAD=$REDLOCK_FREEZE \
		start_run -t 3s "$job" -- touch "$place/executed"
	ends 125
	says "the guard process was killed"
	[ ! -e "$place/executed" ]
}

@test "the guard cannot say that it is ready: 125, before the lock is asked for" {
	on_nodes "$all" config resetstat
	ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 FREEZE_AT=unready LD_PRELOAD=$REDLOCK_FREEZE \
		start_run "$job" -- touch "$place/executed"
	ends 125
	says "cannot start"
	[ ! -e "$place/executed" ]
	on_node 1 info commandstats >"$place/asked"
	run ! grep -q cmdstat_set "$place/asked"
}

guard_is_stopped() {
	grep -q '^State:.T' "/proc/$(child_of "$run_pid")/status" 2>/dev/null
}

@test "the guard stopped before it is ready: TERM ends redlock all the same, 143" {
	on_nodes "$all" config resetstat
	ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 FREEZE_AT=ready LD_PRELOAD=$REDLOCK_FREEZE \
		start_run "$job" -- touch "$place/executed"
	until_true guard_is_stopped
	kill -s TERM "$run_pid"
	ends 143
	[ ! -e "$place/executed" ]
	on_node 1 info commandstats >"$place/asked"
	run ! grep -q cmdstat_set "$place/asked"
}

@test "the guard killed while redlock waits: the wait ends, 125" {
	on_nodes "1 2 3" set "$job" somebody px 600000
	start_run -v "$job" -- touch "$place/ran"
	hears "waiting for"
	kill -s KILL "$(child_of "$run_pid")"
	await "$run_pid" 125
	[ ! -e "$place/ran" ]
	until_true has_keys 0 "4 5" "$job"
	on_nodes "1 2 3" del "$job"
}

@test "the guard stopped: a signal to redlock reaches the command all the same" {
	start_family one 1 -t 30s
	kill -s STOP "$guard_pid"
	until_true grep -q '^State:.T' "/proc/$guard_pid/status"
	kill -s TERM "$run_pid"
	ends 143
}

@test "the guard stopped, the lock lost: redlock does the guard's work" {
	start_family tree,deaf 7 -t 6s --renew 500ms
	kill -s STOP "$guard_pid"
	on_nodes "1 2 3" flushall
	ends 79
	says "is lost"
}

@test "the guard stopped, no quorum: redlock kills everything before the lock ends" {
	start_family tree,deaf 7 -t 4s
	kill -s STOP "$guard_pid" "$run_pid"
	end=$(quorum_end "$job")
	kill_nodes STOP 1 2 3
	kill -s CONT "$run_pid"
	await "$run_pid"
	kill_nodes CONT 1 2 3
	exits 79
	died_before "$end"
	until_true have_keys_gone
}

@test "the guard stopped, --max-hold reached: redlock kills everything, 124" {
	start_family tree,deaf 7 --max-hold 2s
	kill -s STOP "$guard_pid"
	ends 124
}

@test "redlock and guard killed: the command is killed by the kernel" {
	for first in run_pid guard_pid; do
		rm -f "$place"/beat.*
		start_family one,deaf 1
		kill -s KILL "${!first}"
		kill -s KILL "$run_pid" "$guard_pid" 2>/dev/null || true
		died_before "$(quorum_end "$job")"
		wait "$run_pid" || true
		on_nodes "$all" del "$job"
	done
}
