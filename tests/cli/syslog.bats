#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --syslog: messages in the system's log, one line each, from a process that never waits for the log.
load helper

setup_file() { start_cluster 3; }

setup() {
	{ [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; } || skip "a /dev/log of its own needs root and a mount namespace"
	on_nodes "1 2 3" flushall
	rm -rf "${sandbox:?}/dev" "$sandbox/log"
	mkdir "$sandbox/dev"
	cp -a /dev/null /dev/urandom /dev/random "$sandbox/dev"
	ln -s "$sandbox/log" "$sandbox/dev/log"
}

teardown() { kill "$daemon" 2>/dev/null || true; }

# A log daemon: it writes what it is sent, or reads nothing and has no room left.
log_daemon() { # reads|hangs
	/usr/bin/python3 - "$sandbox/log" "$1" >"$sandbox/lines" 3>&- <<-'PYTHON' &
		import os, socket, sys, time
		listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		listener.bind(sys.argv[1] + ".new")
		if sys.argv[2] == "hangs":
		    full = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		    full.setblocking(False)
		    try:
		        while True:
		            full.sendto(b"x", sys.argv[1] + ".new")
		    except BlockingIOError:
		        pass
		os.rename(sys.argv[1] + ".new", sys.argv[1])
		while sys.argv[2] == "hangs":
		    time.sleep(60)
		while True:
		    os.write(1, listener.recv(65536) + b"\n")
	PYTHON
	daemon=$!
	until_true test -S "$sandbox/log"
}

logging() { # COMMAND...: with that daemon's socket as /dev/log
	# shellcheck disable=SC2016 # of the inner shell
	run --separate-stderr unshare -m sh -c 'mount --bind "$1/dev" /dev && shift && exec "$@"' - "$sandbox" "$@"
}

@test "the log has each message in one line, with its identifier and whether it needs an eye" {
	log_daemon reads
	logging "$REDLOCK_BIN" run --syslog -v $'job\n\e' true
	[ "$status" = 0 ]
	[[ $stderr == *"acquired 'job"* ]]
	until_true grep -qE "^<14>[A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} redlock\[[0-9]+\]: ACQUIRED: acquired 'job.*x1b' after" "$sandbox/lines"
	logging "$REDLOCK_BIN" acquire --syslog -q -n -r redis://:secret@127.0.0.1:1 job
	[ "$status" = 69 ]
	[ -z "$stderr" ]
	until_true grep -qE "^<12>.* redlock\[[0-9]+\]: NO_QUORUM: no quorum: 0 of 1" "$sandbox/lines"
	run ! grep -vE '^<1[24]>' "$sandbox/lines"
	run ! grep secret "$sandbox/lines"
}

@test "a log daemon that hangs, or that is not there, holds no run up" {
	logging "$REDLOCK_BIN" run --syslog -v -t 2s job true
	[ "$status" = 0 ]
	log_daemon hangs
	logging timeout -s KILL 60 "$REDLOCK_BIN" run --syslog -v -t 2s job sleep 3
	[ "$status" = 0 ]
	logging timeout -s KILL 60 "$REDLOCK_BIN" break --yes job
	[ "$status" = 1 ]
}
