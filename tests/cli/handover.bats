#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Where the command is two programs: which of them does the work, and that nobody sees the change from one to the
# other. The other test files run on both without knowing.
# shellcheck disable=SC2154,SC2034,SC2016,SC2030,SC2031 # helper.bash and bats share variables; tests are subshells
load helper

setup_file() {
	start_cluster 2
	unset REDLOCK_URLS
	one=$(node_url 1) port=$("$REDLOCK_BIN" cluster status | sed -n 's/^node 2 .* port \([0-9]*\) .*/\1/p')
	export one port
}

teardown_file() {
	stop_cluster
}

# The program of the guard, the command's parent.
program_for() { # URL...
	rl run "${@/#/--url=}" job-program -- sh -c 'readlink /proc/$PPID/exe'
}

@test "addresses and paths need no shared library" {
	for url in "$one" "redis://127.0.0.1:$port" "valkey://127.0.0.1:$port/0" "REDIS://127.0.0.1:$port" \
		"$one, redis://127.0.0.1:$port"; do
		[ "$(program_for "$url")" = "$REDLOCK_BIN" ]
	done
	[ "$(REDLOCK_URLS=local rl run job-program -- sh -c 'readlink /proc/$PPID/exe')" = "$REDLOCK_BIN" ]
}

@test "one host name is enough for the other program" {
	for url in "redis://localhost:$port" "$one,redis://localhost:$port" "redis://localhost:$port,$one"; do
		[[ $(program_for "$url") == */libexec/*/redlock ]]
	done
	[[ $(program_for "$one" "redis://localhost:$port") == */libexec/*/redlock ]]
	[[ $(REDLOCK_URLS=redis://localhost:$port rl run job-program -- sh -c 'readlink /proc/$PPID/exe') == */libexec/* ]]
}

@test "what is no URL is refused in the same words" {
	run --separate-stderr rl status -r http://127.0.0.1
	exits 78
	says "the scheme must be"
}

@test "a password on the command line arrives, and is blanked there" {
	on_node 2 config set requirepass s3cret
	seen=$(rl run -q -r "redis://:s3cret@localhost:$port" job-password -c '
		supervisor=$(sed -n "s/^PPid:\t//p" /proc/$PPID/status)
		tr "\0" " " <"/proc/$supervisor/cmdline"')
	redis-cli -s "$(node_dir 2)/redis.sock" -a s3cret --no-auth-warning config set requirepass ''
	[[ $seen == *run*localhost* ]]
	[[ $seen != *s3cret* ]]
}

@test "the command gets the same signals" {
	for ignored in PIPE CHLD HUP; do
		for url in "$one" "redis://localhost:$port"; do
			env --ignore-signal="$ignored" "$REDLOCK_BIN" run -r "$url" job-signals -- \
				grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status
		done >"$sandbox/signals"
		[ "$(wc -l <"$sandbox/signals")" = 6 ]
		[ "$(sort -u "$sandbox/signals" | wc -l)" = 3 ]
	done
}

@test "what is to be said is said once" {
	echo "url = redis://:word@localhost:$port" >"$sandbox/open.conf"
	chmod 644 "$sandbox/open.conf"
	REDLOCK_CONFIG=$sandbox/open.conf run --separate-stderr rl status
	[ "$(grep -c "can be read by others" <<<"$stderr")" = 1 ]
}

@test "rflock hands over too" {
	[ "$(REDLOCK_URLS=redis://localhost:$port "${REDLOCK_BIN%/*}/rflock" job-rflock echo ran)" = ran ]
}

@test "without the other program, what does not need it works" {
	cp "$REDLOCK_BIN" "$sandbox/alone"
	"$sandbox/alone" run -r "$one" job-alone -- true
	run --separate-stderr "$sandbox/alone" run -r "redis://localhost:$port" job-alone -- true
	exits 125
	says "cannot start the program for host names and TLS"
}

@test "which forms of a URL are addresses" {
	cp "$REDLOCK_BIN" "$sandbox/lonely"
	for url in "redis://[::1]:1" "redis://127.0.0.1:1/3" "valkey://user:p@127.0.0.1:1" "redis://:p%40@[::1]:1" \
		"unix:///nowhere" "redis://127.0.0.1:1,unix:///nowhere"; do
		run "$sandbox/lonely" status --node-timeout 2s -r "$url"
		exits 69
	done
	for url in "redis://[::1%lo]:1" "rediss://127.0.0.1:1" "valkeys://[::1]:1" "redis://127.0.0.1.example:1" \
		"redis://127.0.0.1@localhost:1" "redis://127.1:1" "unix:///nowhere,redis://localhost:1"; do
		run "$sandbox/lonely" status --node-timeout 2s -r "$url"
		exits 125
	done
}
