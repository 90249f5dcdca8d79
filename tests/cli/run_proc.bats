#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# /proc is how the guard finds what a command has started: without it, with one of other processes, with one that is
# taken away, and with one that does not show everything.
load run_helper

setup() {
	begin_edge
	export ASAN_OPTIONS=detect_leaks=0
	program=$REDLOCK_BIN
	unshare -m true 2>/dev/null || skip "no mount namespace can be made here (unshare -m)"
}

# From here on redlock is started in new namespaces, after this shell line, which has mounts to itself. Without
# /proc the loader does not know where the program is, which is where it would look for the library.
inside() { # "OPTION..." SHELL LINE
	printf '#!/bin/sh\nexec unshare %s env LD_LIBRARY_PATH=%s sh -c '\''%s; exec %s "$@"'\'' sh "$@"\n' "$1" "${REDLOCK_LIBRARY%/*}" "$2" "$program" >"$place/redlock"
	chmod +x "$place/redlock"
	REDLOCK_BIN=$place/redlock
}

refuses() {
	on_nodes "$all" config resetstat
	gives 78 rl_run --on-loss warn "$job" -- touch "$place/ran"
	says "/proc does not show"
	[ ! -e "$place/ran" ]
	on_node 1 info commandstats >"$place/asked"
	run ! grep -q cmdstat_set "$place/asked"
}

@test "no /proc: 78 before the lock is asked for" {
	if has_asan; then
		skip "AddressSanitizer reads /proc"
	fi
	inside -m 'mount -t tmpfs none /proc'
	refuses
}

@test "a /proc of another PID namespace, with other processes under our numbers: 78" {
	inside '-m -p -f --kill-child' ':'
	refuses
	# The guard is 3 here and its parent 2, as among the threads of the kernel.
	inside '-m -p -f --kill-child' 'true'
	sed -i 's/exec \([^ ]*\) "\$@"/\1 "$@"; exit $?/' "$place/redlock"
	refuses
}

@test "/proc is taken away while the command runs: everything is found all the same" {
	inside -m ':'
	start_family tree,deaf 7 -t 30s -k 400ms --max-hold 3s
	nsenter -m -t "$run_pid" umount -l /proc
	ends 124
	[ -n "$(first_term)" ]
}

# As an ordinary user: root, and its group, see all. A PID namespace of its own, since old kernels have one set of
# options for each.
hide='mount -t proc -o hidepid=2 proc /proc'
ordinary='setpriv --bounding-set=-sys_ptrace --regid=65534 --clear-groups'

@test "hidepid: everything of ours is found" {
	program="$ordinary $program"
	inside '-m -p -f --kill-child' "$hide"
	start_family tree,deaf 7 -t 30s -k 400ms --max-hold 3s
	ends 124
	[ -n "$(first_term)" ]
}

# hidepid hides those that may not be traced, too. PR_SET_DUMPABLE is 4.
unseen='import ctypes, os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: open(sys.argv[1] + "/term", "w").close())
if sys.argv[2] == "child" and os.fork(): time.sleep(60)
os.setsid() if sys.argv[2] == "child" else None
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
while True: time.sleep(60)'

@test "hidepid, the command itself is hidden: it gets TERM and KILL" {
	program="$ordinary $program"
	inside '-m -p -f --kill-child' "$hide"
	start_run -t 30s -k 400ms --max-hold 1s "$job" -- /usr/bin/python3 -c "$unseen" "$place" itself
	ends 124
	[ -e "$place/term" ]
	run ! grep "does not show" "$place/err"
}

@test "hidepid, a process that is hidden and left its group: said, and its end is waited for" {
	program="$ordinary $program"
	inside '-m -p -f --kill-child' "$hide"
	start_run -t 30s -k 400ms --max-hold 1s "$job" -- /usr/bin/python3 -c "$unseen" "$place" child
	hears "/proc does not show it"
	sleep 0.3
	until_true has_keys 5 "$all" "$job"
	# shellcheck disable=SC2046 # a list
	kill -s KILL $(pgrep -x python3 | grep -Fx "$(marked_pids)")
	ends 124
	[ "$(grep -c "/proc does not show it" "$place/err")" = 1 ]
}
