# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2034 # helper.bash and bats share variables
# What the tests of `redlock run` share. They start it in a session of its own, without a terminal, so that it does
# not matter where they are started themselves; run_tty.bats has the terminals.

load helper

# The default setup. teardown_file is helper.bash's.
setup_file() {
	start_cluster 5
}

setup() {
	begin_edge
	cd "$place" || return
}

teardown() {
	[ -n "${BATS_TEST_COMPLETED-}" ] || tail -n 40 -- log ./*.err ./*.status 2>/dev/null || true
	kill_nodes CONT 1 2 3
	end_edge
}

# Call it in setup: a place for this test alone, and a mark by which every process of it is found.
begin_edge() {
	place=$sandbox/$BATS_TEST_NUMBER
	mkdir -p "$place"
	job=job-$BATS_TEST_NUMBER
	mark=REDLOCK_TEST_MARK=$place.
}

# Call it in teardown: nothing may be left of the test, whatever became of it.
end_edge() {
	local pids
	pids=$(marked_pids)
	[ -n "$pids" ] || return 0
	echo "still running: $pids"
	# shellcheck disable=SC2086 # a list
	kill -s KILL $pids 2>/dev/null || true
	return 1
}

# The processes of this test: redlock, guard, command and all that it started. A zombie has no environment.
marked_pids() {
	grep -lsF "$mark" /proc/[0-9]*/environ | cut -d/ -f3
}

nobody_left() {
	[ -z "$(marked_pids)" ]
}

# Waits until nothing is left of the test's processes and its lock.
nothing_left() {
	until_true nobody_left
	until_true has_keys 0 "$all" "$job"
}

# redlock run, in the background: $run_pid. Background jobs of a script ignore INT and QUIT: env gives them back.
start_run() { # OPTION... NAME [--] COMMAND...
	env "$mark" setsid env --default-signal=INT,QUIT,HUP,TERM "$REDLOCK_BIN" run --node-timeout 1s "$@" \
		>"$place/out" 2>"$place/err" 3>&- &
	run_pid=$!
	until_executed "$run_pid"
}

# The end of start_run's, with its exit code. Wants nothing left of it, and the lock given back.
ends() { # CODE
	await "$run_pid"
	output=$(cat "$place/out") stderr=$(cat "$place/err")
	exits "$1"
	nothing_left
}

# As bats' `run --separate-stderr`, which warns of 127.
capture() { # COMMAND...
	status=0
	"$@" >"$place/stdout" 2>"$place/stderr" 3>&- || status=$?
	output=$(<"$place/stdout") stderr=$(<"$place/stderr")
}

gives() { # CODE COMMAND...
	capture "${@:2}"
	exits "$1"
}

# redlock run, in the foreground.
rl_run() { # OPTION... NAME [--] COMMAND...
	env "$mark" setsid -w "$REDLOCK_BIN" run --node-timeout 1s "$@" 3>&-
}

# A family of processes under a lock of 2 seconds, whose end can be awaited. See run_family.py.
start_family() { # SHAPE[,deaf] PROCESSES OPTION...
	local shape=$1 processes=$2
	shift 2
	# shellcheck disable=SC2086 # two words
	start_run -t 2s --node-timeout 400ms "$@" "$job" -- /usr/bin/python3 "$BATS_TEST_DIRNAME/run_family.py" "$place" ${shape/,/ }
	until_true have_begun "$processes"
	guard_pid=$(child_of "$run_pid")
}

have_begun() { # COUNT of processes
	[ "$(find "$place" -name 'beat.*' -size +0 | wc -l)" -ge "$1" ]
}

child_of() { # PID
	pgrep -P "$1"
}

now_ms() {
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

# When too few nodes are left that have the key, so that somebody else can have the lock; ms, CLOCK_REALTIME. Only
# once nobody renews it. A node whose key is gone counts as now.
quorum_end() { # KEY
	local node now left
	for node in $all; do
		now=$(now_ms)
		left=$(on_node "$node" pttl "$1")
		echo $((now + (left > 0 ? left : 0)))
	done | sort -n | sed -n 3p
}

# The lock of a TTL of 60 s is renewed, also from now on.
goes_on_renewing() {
	on_nodes "$all" pexpire "$job" 30000
	until_true lives_longer 5 "$job" 30000
}

# The last moment at which any process of the family ran, and the first at which one got TERM.
last_beat() {
	cat_lines "$place"/beat.* | cut -d' ' -f1 | sort -n | tail -n 1
}

# How long any of them was kept from running while it wanted to: that much later others may act as well.
longest_gap() {
	cat_lines "$place"/beat.* | cut -d' ' -f2 | sort -n | tail -n 1
}

first_term() {
	cat_lines "$place"/term.* | sort -n | head -n 1
}

cat_lines() { # FILE...
	local file
	for file; do
		[ ! -s "$file" ] || echo "$(<"$file")"
	done
}

# Others have the lock, and have it no more.
busy() {
	on_nodes "$all" set "$job" somebody px 600000
}

# At the node with the queue last, so that its first waiter finds the others free: in between a second waiter might get them.
free() {
	local node queues=
	for node in $all; do
		if [ "$(on_node "$node" exists "{$job}:redlock:queue")" = 1 ]; then
			queues+="$node "
		else
			on_node "$node" del "$job" >"$sandbox/freed"
		fi
	done
	[ -z "$queues" ] || on_nodes "$queues" del "$job"
}

# Waits for a line on redlock's stderr.
hears() { # TEXT
	until_true grep -qF -e "$1" "$place/err"
}

# No process of the family runs on when somebody else can have the lock. KILL goes out 100 ms before the validity
# ends, all are gone 250 ms behind it at the latest; on a machine that keeps everybody waiting, a few waits later.
died_before() { # MS
	local last gap
	until_true nobody_left
	last=$(last_beat) gap=$(longest_gap)
	echo "last seen $((last - $1)) ms behind the end of the lock; the longest gap: $gap ms"
	[ "$last" -le $(($1 + 250 + 4 * gap)) ]
}

# ---- At a terminal ----

at_terminal() { # PREFIX OF THE COMMAND, STEPS
	env -u BASH_ENV "$mark" X="$1" P="$place" ALL="$all" /usr/bin/python3 "$BATS_TEST_DIRNAME/pty_bash.py" "$2" 3>&-
}

# Commands that are stopped must not be forking just then: a shell that has called vfork(2) and whose child was
# stopped cannot be stopped itself, and bash sees no stopped job; with env as well.

# Takes the steps twice, once with env and once with redlock: the terminal has to look the same. $X is the
# command's prefix, $P a directory.
same_terminal_as_env() { # STEPS
	rm -f "$place"/*
	run at_terminal "env" "$1"
	with_env=$output
	exits 0
	until_true nobody_left
	rm -f "$place"/*
	run at_terminal "$REDLOCK_BIN run $job --" "$1"
	exits 0
	nothing_left
	diff <(without_prompts <<<"$with_env") <(without_prompts <<<"$output")
}

# When bash writes its prompt depends on how soon it hears of a job.
without_prompts() {
	sed 's/@ *//g; /^$/d'
}
