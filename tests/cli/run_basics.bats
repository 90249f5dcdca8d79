#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock run as `env` would: arguments, streams, descriptors, signals' dispositions and exit code of the command.
load run_helper

teardown() {
	end_edge
	until_true has_keys 0 "$all" "$job"
}

# The command does the same, and ends in the same way, with redlock run and with env in front of it.
same_as_env() { # COMMAND...
	local env_status env_output env_stderr
	capture env -- "$@"
	env_status=$status env_output=$output env_stderr=$stderr
	gives "$env_status" rl_run "$job" -- "$@"
	[ "$output" = "$env_output" ]
	# Why a command cannot be executed is told in redlock's words.
	[ "$status" -eq 126 ] || [ "$status" -eq 127 ] || [ "$stderr" = "$env_stderr" ]
}

@test "exit codes are the command's" {
	for code in 0 1 2 7 64 75 79 124 126 255; do
		same_as_env sh -c "exit $code"
	done
}

# The command with that many descriptors at most, and none but 0, 1 and 2 from the shell, whatever started that. A
# sanitizer needs some of its own to look for leaks.
with_descriptors() { # COUNT COMMAND...
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 bash -c 'for fd in /proc/$$/fd/*; do
			((${fd##*/} < 3)) || eval "exec ${fd##*/}>&-"
		done
		ulimit -n "$0"
		exec "$@"' "$@"
}

@test "too few descriptors for a file, the guard or its pipes: 125, and nothing is run" {
	for most in {4..11}; do
		gives 125 with_descriptors "$most" "$REDLOCK_BIN" run "$job" -- touch ran
		[[ $stderr == *"Too many open files"* && $stderr != *TMPDIR* ]]
	done
	[ ! -e ran ]
	nothing_left
}

@test "too few descriptors for a quorum of connections: 125, and no advice to start nodes" {
	for most in {12..15}; do
		gives 125 with_descriptors "$most" "$REDLOCK_BIN" run "$job" -- touch ran
		[[ -n $stderr && $stderr != *"start the nodes"* ]]
	done
	[ ! -e ran ]
	for verb in "acquire -n $job" "check $job token" status bench; do
		# shellcheck disable=SC2086 # words
		gives 125 with_descriptors 9 "$REDLOCK_BIN" $verb
		says "Too many open files" "ulimit -n"
		[[ $stderr != *"start the nodes"* ]]
	done
	nothing_left
}

@test "ended by a signal: 128 + its number" {
	for signal in TERM:143 INT:130 HUP:129 KILL:137 USR1:138 PIPE:141 ALRM:142; do
		gives "${signal#*:}" rl_run "$job" -c "kill -s ${signal%:*} \$\$"
		[ -z "$stderr" ]
	done
}

@test "arguments arrive as they are" {
	same_as_env printf '[%s]\n' '' ' a  b ' -n -- --ttl '*' $'new\nline' '$HOME' "it's"
	same_as_env sh -c 'echo "$0 $# $*"' zero one -E 3
	gives 0 rl_run "$job" echo -n no separator
	[ "$output" = "no separator" ]
}

@test "-c runs a line in the shell" {
	gives 3 rl_run "$job" -c 'echo "$0: $((6 * 7))" | tr 4 5; exit 3'
	[ "$output" = "/bin/sh: 52" ]
}

@test "a command that cannot be executed: 126 and 127, as with env" {
	echo "echo by sh" >plain
	chmod +x plain
	printf '#!/no/such/interpreter\n' >badly
	chmod +x badly
	: >denied
	chmod -x denied
	for file in plain badly denied . ./none none-in-the-path plain/file ''; do
		same_as_env "${file:+./}$file"
	done
	gives 127 rl_run "$job" -- none-in-the-path
	says "cannot execute 'none-in-the-path': No such file or directory"
	gives 126 rl_run "$job" -- ./denied
	says "cannot execute './denied': Permission denied"
}

@test "the command sees name, token and TTL; the token is the one on the nodes" {
	REDLOCK_NAME=wrong REDLOCK_TOKEN=wrong capture rl_run -t 20s --prefix p: "$job" -c '
		echo "$REDLOCK_NAME $REDLOCK_TTL_MS"
		for socket in '"$(node_dir 1) $(node_dir 2) $(node_dir 5)"'; do
			[ "$(redis-cli -s $socket/redis.sock get "p:$REDLOCK_NAME")" = "$REDLOCK_TOKEN" ] || exit 1
		done
		[ "$(redis-cli -s $socket/redis.sock pttl "p:$REDLOCK_NAME")" -gt 10000 ]'
	exits 0
	[ "$output" = "$job 20000" ]
}

@test "the variables of an outer redlock run are replaced, not doubled; all others stay" {
	REDLOCK_NAME=outer REDLOCK_TOKEN=outer REDLOCK_TTL_MS=1 REDLOCK_NAMES=kept gives 0 rl_run "$job" env
	for name in NAME TOKEN TTL_MS NAMES; do
		[ "$(grep -c "^REDLOCK_$name=" <<<"$output")" = 1 ]
	done
	grep -qx "REDLOCK_NAME=$job" <<<"$output"
	grep -qx "REDLOCK_NAMES=kept" <<<"$output"
	[ "$(grep -c "=outer" <<<"$output")" = 0 ]
}

@test "nothing else of the environment changes" {
	diff <(env -u _ HOME=/ sh -c 'env | sort' 3>&- | grep -v ^_=) \
		<(HOME=/ rl_run "$job" -- sh -c 'env | sort' | grep -v -e ^REDLOCK_NAME= -e ^REDLOCK_TO -e ^REDLOCK_TTL -e ^REDLOCK_RUNS= \
			-e ^REDLOCK_TEST_MARK -e ^_=)
}

@test "signals' dispositions and mask, directory, umask, limits and descriptors are the command's own" {
	cat >probe.py <<-'END'
		import os
		keep = ("SigBlk", "SigIgn", "SigCgt", "Umask", "NoNewPrivs", "Seccomp")
		print([l.strip() for l in open("/proc/self/status") if l.startswith(keep)])
		print(os.getcwd(), os.nice(0), [os.readlink("/proc/self/fd/%d" % f) for f in (5, 6)])
		print(sorted(int(f) for f in os.listdir("/proc/self/fd")))
		print([l.split()[3] for l in open("/proc/self/limits") if "open files" in l])
	END
	(
		umask 027
		ulimit -n 77
		trap '' USR1 PIPE CHLD
		exec 5<probe.py 6>>written
		same_as_env nice -n 3 /usr/bin/python3 -S probe.py
	)
	exec 5<probe.py 6<probe.py
	same_as_env /usr/bin/python3 -S probe.py
}

@test "SIGCHLD ignored, as by a careless parent: the command's exit code is seen all the same" {
	same_as_env /usr/bin/python3 -S -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.alarm(10)
os.execvp(sys.argv[1], sys.argv[1:])' "$REDLOCK_BIN" run -q "$job-2" -- sh -c 'exit 3'
	exits 3
}

@test "stdin, stdout and stderr pass through, byte for byte" {
	head -c 1000000 /dev/urandom >random
	rl_run "$job" -- cat <random >copy
	cmp random copy
	rl_run "$job" -- sh -c 'cat >&2' <random 2>copy
	cmp random copy
	gives 0 rl_run "$job" -- sh -c 'read -r line; echo "$line"; echo err >&2' <<<"one line"
	[ "$output" = "one line" ]
	[ "$stderr" = err ]
}

@test "input that the command does not read is left for the next" {
	gives 0 bash -c '(env -- "$@"; cat)' - "$REDLOCK_BIN" run "$job" -- sh -c 'read -r a; echo "got $a"' \
		<<<$'first\nsecond'
	[ "$output" = $'got first\nsecond' ]
}

@test "a command that closes its output: the reader sees the end at once" {
	mkfifo pipe
	start_run "$job" -- sh -c "exec >$place/pipe 2>&1; echo first; exec >&- 2>&-; while [ ! -e $place/end ]; do sleep 0.05; done"
	# Ends only when nobody has the pipe open for writing any more.
	[ "$(timeout 10 cat pipe)" = first ]
	until_true has_keys 5 "$all" "$job"
	touch end
	ends 0
	env "$mark" setsid "$REDLOCK_BIN" run "$job" -- sh -c "echo first; exec >&- 2>&-; while [ ! -e $place/end2 ]; do sleep 0.05; done" \
		2>/dev/null 3>&- >pipe &
	run_pid=$!
	[ "$(timeout 10 cat pipe)" = first ]
	kill -0 "$run_pid"
	touch end2
	await "$run_pid" 0
}

@test "a command that fills its output waits, and redlock goes on" {
	# Nobody reads; stderr is the same full pipe. The lock lives through many renewals, and TERM ends it all.
	fills_its_output -v
	# Nor do lines of a trace wait, of which each renewal has some.
	fills_its_output --trace
}

fills_its_output() { # OPTION
	rm -f pid read
	env "$mark" bash -c 'setsid "$@" 2>&1 | { until [ -e '"$place"'/read ]; do sleep 0.05; done; wc -c; }' - \
		"$REDLOCK_BIN" run "$1" -t 60s --renew 100ms "$job" -- sh -c 'echo $$ >'"$place"'/pid; exec yes' \
		>out 2>err 3>&- &
	run_pid=$!
	until_true test -s pid
	sleep 0.5
	goes_on_renewing
	kill "$(<pid)"
	until_true has_keys 0 "$all" "$job"
	touch read
	await "$run_pid" 0
	[ "$(<out)" -ge 4096 ]
}

@test "a full stderr does not keep redlock from stopping the command in time" {
	env "$mark" bash -c 'setsid "$@" 2>&1 | { until [ -e '"$place"'/read ]; do sleep 0.05; done; wc -c >/dev/null; }
		exit ${PIPESTATUS[0]}' - "$REDLOCK_BIN" run -t 6s --renew 300ms "$job" -- \
		sh -c 'echo $$ >'"$place"'/pid; exec yes' >out 2>err 3>&- &
	run_pid=$!
	until_true test -s pid
	pid=$(<pid)
	sleep 0.3
	on_nodes "1 2 3" flushall
	until_true is_gone "$pid"
	touch read
	await "$run_pid" 79
}

@test "a reader that ends ends the command, not the lock" {
	gives 141 bash -c '"$@" | head -n 1; exit ${PIPESTATUS[0]}' - \
		env "$mark" setsid -w "$REDLOCK_BIN" run "$job" -- yes
	[ "$output" = y ]
	[ -z "$stderr" ]
}

@test "two runs at once: one waits for the other" {
	start_run "$job" -- sh -c "echo first; while [ ! -e $place/end ]; do sleep 0.05; done; echo end >>$place/order"
	until_true grep -q first out
	first_pid=$run_pid
	start_run -v "$job" -- sh -c "echo second >>$place/order"
	hears "waiting for '$job', place 1 of 1, held by"
	touch end
	await "$first_pid" 0
	ends 0
	[ "$(<order)" = $'end\nsecond' ]
	says "acquired '$job' after"
}
