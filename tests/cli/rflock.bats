#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rflock beside the flock of util-linux: which paths are the same lock, and the exit codes.
load helper

setup_file() {
	start_cluster 3
	mkdir -p "$sandbox/files/sub/deep"
	(
		cd "$sandbox/files" || exit 1
		touch there
		ln -s there link
		ln -s "$PWD/link" sub/link-to-link
		ln -s sub/deep deep
		ln -s later dangling
		ln -s ../later sub/dangling
		ln -s loop loop
		ln -s "$PWD/nothing/later" astray
	)
}

setup() {
	cd "$sandbox/files" || return 1
	rflock="${REDLOCK_BIN%/*}/rflock"
	export REDLOCK_NODE_TIMEOUT=2s # a busy machine may answer late
}

code_of() { # COMMAND...
	local code=0
	"$@" >/dev/null 2>"$sandbox/err" || code=$?
	echo "$code"
}

@test "the same files are the same lock, as with flock" {
	there="there ./there $PWD/there sub/../there deep/../../there link ./link sub/link-to-link //$PWD//./there"
	later="later $PWD/later dangling sub/dangling deep/../dangling"
	others="sub sub/ ./sub/. deep/.. / ../files/other sub/there deep/there"
	for one in $there $later $others; do
		for two in there later sub deep/there "$PWD/other"; do
			with_flock=$(code_of flock "$one" flock -n "$two" true)
			rm -f later other # which flock has made
			for _ in 1 2 3; do # 71: a busy machine had no quorum in the default 200 ms
				with_rflock=$(code_of "$rflock" "$one" "$rflock" -n "$two" true)
				[ "$with_rflock" = 71 ] || break
			done
			[ "$with_rflock" = "$with_flock" ] || { echo "$one $two: $with_flock $with_rflock"; false; }
		done
	done
	[ ! -e later ] # by rflock
}

@test "the name is the real path, from wherever it is called" {
	cd sub
	for path in ../there ../link link-to-link ../sub/../there "$sandbox/files/there"; do
		[ "$("$rflock" "$path" printenv REDLOCK_NAME)" = "$(realpath "$path")" ]
	done
	[ "$(cd / && "$rflock" "${sandbox#/}/new" printenv REDLOCK_NAME)" = "$(realpath "$sandbox")/new" ]
	[ "$(cd / && "$rflock" redlock-new printenv REDLOCK_NAME)" = /redlock-new ]
}

@test "exit codes as flock's" {
	want 69 "$rflock" there /nonexistent
	says "rflock: cannot execute '/nonexistent': "
	printf '#!/nonexistent\n' >script
	chmod +x script
	same_code() { # ARGUMENT...
		local with_flock with_rflock
		with_flock=$(code_of flock "$@")
		with_rflock=$(code_of "$rflock" "$@")
		[ "$with_rflock" = "$with_flock" ] || { echo "$*: $with_flock $with_rflock: $(cat "$sandbox/err")"; false; }
	}
	same_code there true
	same_code there sh -c 'exit 69'
	same_code there -c 'exit 3'
	same_code there no-such-command
	same_code there ./script
	same_code nothing/lock true
	same_code astray true
	same_code loop true
	same_code nothing/ true
	same_code there/lock true
	same_code ''
	same_code there
	same_code -q9
	long=$(printf '%05000d' 1)
	same_code "$long" true
	for seconds in . '' 1. .5 0 0.0 5x 5s 1:2 1.5.5 1,5 0.0000001; do
		same_code -w "$seconds" there true
	done
	for code in 256 -1 abc '' 7x 0x7 7; do
		same_code -E "$code" there true
	done
	same_code -F there true
	same_code -o there true
	same_code -Fo there true
	same_code --wait=1 there true
	same_code --time 1 there true
	same_code --nonblocking there true
	same_code --timeout there true
	same_code there --close true
	same_code there -- true
	same_code -- there true
	same_code there -c
	same_code there -c true true
	same_code there --command true
	same_code --no-such there true
	same_code -?
}

@test "a wait of less than a millisecond is one whole attempt, as -w 0" {
	for seconds in 0 0.0000001; do
		kill_nodes STOP 1 2 3
		(
			sleep 0.3
			kill_nodes CONT 1 2 3
		) &
		REDLOCK_NODE_TIMEOUT=10s want 0 "$rflock" -w "$seconds" whole true
		wait
	done
}

@test "no quorum is 71: 69 is a command that cannot be executed" {
	kill_nodes STOP 1 2
	run --separate-stderr "$rflock" -w 0.5 there true
	kill_nodes CONT 1 2
	exits 71
}

@test "without nodes nothing is said of options that rflock does not have" {
	unset REDLOCK_URLS
	want 78 "$rflock" there true
	says "no nodes: set REDLOCK_URLS" "REDLOCK_URLS=local"
	[[ $stderr != *" -r "* ]]
	want 78 "$REDLOCK_BIN" run there true
	says "no nodes: give -r redis://" "then -r local"
}
