#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Where the command is two programs: which of them does the work, and that nobody sees the change from one to the
# other. The other test files run on both without knowing.
load helper

setup_file() {
	start_cluster 2
	unset REDLOCK_URLS
	one=$(node_url 1) port=$(node_port 2)
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

# A mount namespace, by root's rights or in a user namespace. Not for `run`, where a skip skips nothing.
needs_elsewhere() {
	local way
	for way in "unshare --mount" "unshare --mount --map-root-user"; do
		read -ra apart <<<"$way"
		"${apart[@]}" mount -t tmpfs none "$sandbox" 2>/dev/null && return
	done
	skip "needs a mount namespace"
}

# A shell line where redlock is not installed.
elsewhere() { # LINE [ARGUMENT...]
	local folder=$REDLOCK_LIBEXEC
	# The nearest folder that is there hides what may be installed below it.
	while [ ! -d "$folder" ]; do
		folder=${folder%/*}
	done
	FOLDER=$folder "${apart[@]}" bash -c 'mount -t tmpfs none "$FOLDER" && '"$1" bash "${@:2}"
}

install_other='install -D "${REDLOCK_BIN%/bin/*}/libexec/redlock/redlock" "$REDLOCK_LIBEXEC/redlock/redlock" && '

@test "without the other program, what does not need it works" {
	needs_elsewhere
	cp "$REDLOCK_BIN" "$sandbox/alone"
	run --separate-stderr elsewhere '"$@"' "$sandbox/alone" run -r "$one" job-alone -- true
	exits 0
	run --separate-stderr elsewhere '"$@"' "$sandbox/alone" config show -r "redis://localhost:$port"
	exits 0
	run --separate-stderr elsewhere 'echo "url = $2" | "$1" status --config /dev/stdin' "$sandbox/alone" "$one"
	exits 0
	run --separate-stderr elsewhere '"$@"' "$sandbox/alone" run -r "redis://localhost:$port" job-alone -- true
	exits 125
	says "a node is given by a host name or has TLS, which is the work of $REDLOCK_LIBEXEC/redlock/redlock"
	says "No such file"
}

@test "a copy finds the other program where that is installed" {
	needs_elsewhere
	cp "$REDLOCK_BIN" "$sandbox/copy"
	run --separate-stderr elsewhere "$install_other"'"$@"' "$sandbox/copy" status -r "redis://localhost:$port"
	exits 0
}

@test "a symbolic link elsewhere, also by PATH, finds the other program" {
	needs_elsewhere
	mkdir "$sandbox/links"
	ln -s "$REDLOCK_BIN" "$sandbox/links/redlock"
	run --separate-stderr elsewhere 'PATH=$1:$PATH && cd / && redlock status -r "$2"' "$sandbox/links" "redis://localhost:$port"
	exits 0
}

@test "without /proc the installed program is found" {
	needs_elsewhere
	hide_proc='mount -t tmpfs none /proc && '
	run --separate-stderr elsewhere "$install_other$hide_proc"'"$@"' "$REDLOCK_BIN" status -r "redis://localhost:$port"
	exits 0
	run --separate-stderr elsewhere "$hide_proc"'"$@"' "$REDLOCK_BIN" status -r "redis://localhost:$port"
	exits 125
	says "the work of $REDLOCK_LIBEXEC/redlock/redlock"
}

@test "this program in the other one's place does not execute itself for ever" {
	needs_elsewhere
	run --separate-stderr elsewhere 'install -D "$REDLOCK_BIN" "$REDLOCK_LIBEXEC/redlock/redlock" &&
		timeout 60 "$REDLOCK_LIBEXEC/redlock/redlock" status -r "$1"' "redis://localhost:$port"
	exits 125
}

@test "a program with another user's rights does not look beside itself" {
	[ "$EUID" = 0 ] || skip "needs root"
	mkdir -p "$sandbox/tree/bin" "$sandbox/tree/libexec/redlock"
	chmod 755 "$sandbox"
	cp "$REDLOCK_BIN" "$(command -v id)" "$sandbox/tree/bin/"
	printf '#!/bin/sh\necho chosen\n' >"$sandbox/tree/libexec/redlock/redlock"
	chmod 755 "$sandbox/tree/libexec/redlock/redlock"
	as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	[ "$("${as_nobody[@]}" "$sandbox/tree/bin/redlock" status -r redis://localhost:1)" = chosen ]
	chmod 4755 "$sandbox/tree/bin/redlock" "$sandbox/tree/bin/id"
	[ "$("${as_nobody[@]}" "$sandbox/tree/bin/id" -u)" = 0 ] || skip "the file system knows no setuid"
	run --separate-stderr "${as_nobody[@]}" "$sandbox/tree/bin/redlock" status -r redis://localhost:1
	[ "$status" -ne 0 ]
	[[ $output != *chosen* ]]
}

@test "what is only shown needs no other program" {
	command -v strace >/dev/null || skip "needs strace"
	strace -f -qq -e trace=execve -o "$sandbox/calls" "$REDLOCK_BIN" config show -r redis://example.org
	[ "$(grep -c execve "$sandbox/calls")" = 1 ]
}

@test "a configuration that can be read only once is read by one program" {
	for host in localhost 127.0.0.1; do
		run --separate-stderr rl status --config <(echo "url = redis://$host:$port")
		exits 0
		echo "url = redis://$host:$port" | REDLOCK_CONFIG=/dev/stdin rl status
	done
	REDLOCK_CONFIG=/dev/null rl status -r "redis://localhost:$port"
}

@test "a password that can be read only once is read by one program" {
	on_node 2 config set requirepass s3cret
	run --separate-stderr rl status -r "redis://localhost:$port" --password-file <(echo s3cret)
	echo s3cret | rl status -r "redis://localhost:$port" --password-file /dev/stdin || status=$?
	redis-cli -s "$(node_dir 2)/redis.sock" -a s3cret --no-auth-warning config set requirepass ''
	exits 0
}

@test "which forms of a URL are addresses" {
	needs_elsewhere
	cp "$REDLOCK_BIN" "$sandbox/lonely"
	alone() {
		elsewhere '"$@"' "$sandbox/lonely" status --node-timeout 2s -r "$1"
	}
	for url in "redis://[::1]:1" "redis://127.0.0.1:1/3" "valkey://user:p@127.0.0.1:1" "redis://:p%40@[::1]:1" \
		"unix:///nowhere" "redis://127.0.0.1:1,unix:///nowhere"; do
		run alone "$url"
		exits 69
	done
	for url in "redis://[::1%lo]:1" "rediss://127.0.0.1:1" "valkeys://[::1]:1" "redis://127.0.0.1.example:1" \
		"redis://127.0.0.1@localhost:1" "redis://127.1:1" "unix:///nowhere,redis://localhost:1"; do
		run alone "$url"
		exits 125
	done
}
