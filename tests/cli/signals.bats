#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Signals while waiting: an end at once, 128+n, and nothing left behind.
load helper

setup() { start_cluster 5; }

# Starts `redlock acquire job` while others hold the nodes given, and waits until it has tried. Background jobs of a
# script ignore INT and QUIT: env gives them back.
start_waiter() { # "N..."
	on_nodes "$1" set job somebody px 600000
	env --default-signal=INT,QUIT,HUP,TERM "$REDLOCK_BIN" acquire --trace job \
		>"$sandbox/out" 2>"$sandbox/err" 3>&- &
	waiter=$!
	until_true grep -q trace "$sandbox/err"
	sleep 0.3
}

end_waiter() { # SIGNAL CODE
	kill -s "$1" "$waiter" 2>/dev/null || true # gone already, after a first signal
	await "$waiter"
	stderr=$(cat "$sandbox/err")
	exits "$2"
	[ ! -s "$sandbox/out" ]
}

@test "INT TERM HUP QUIT while the lock is busy give back partial votes" {
	for signal in INT:130 TERM:143 HUP:129 QUIT:131; do
		start_waiter "1 2 3"
		end_waiter "${signal%:*}" "${signal#*:}"
		until_true has_keys 0 "4 5" job
		until_true has_value 1 job somebody
	done
}

@test "TERM while there is no quorum" {
	kill_nodes STOP 1 2 3
	start_waiter ""
	end_waiter TERM 143
	until_true has_keys 0 "4 5" job
	kill_nodes CONT 1 2 3
}

@test "a second signal does not cut the way back short" {
	start_waiter "1 2 3"
	kill -s TERM "$waiter"
	end_waiter TERM 143
	until_true has_keys 0 "4 5" job
}

@test "an ignored signal stays ignored" {
	on_nodes "1 2 3" set job somebody px 600000
	nohup "$REDLOCK_BIN" acquire --trace job >"$sandbox/out" 2>"$sandbox/err" 3>&- &
	waiter=$!
	until_true grep -q trace "$sandbox/err"
	kill -s HUP "$waiter"
	sleep 0.3
	kill -0 "$waiter"
	on_nodes "1 2 3" del job
	await "$waiter" 0
	[ -s "$sandbox/out" ]
}

@test "a reader that is gone gets no lock" {
	run --separate-stderr bash -c '"$REDLOCK_BIN" acquire job | true; exit "${PIPESTATUS[0]}"'
	# Either the token was written before the reader ended, or the lock was given back.
	if [ "$status" -ne 0 ]; then
		exits 125
		until_true has_keys 0 "$all" job
	fi
	# For certain: the reader has closed the pipe before.
	run --separate-stderr /usr/bin/python3 -c '
import os, subprocess, sys
r, w = os.pipe()
os.close(r)
sys.exit(subprocess.run([sys.argv[1], "acquire", "-n", "job2"], stdout=w).returncode)' "$REDLOCK_BIN"
	exits 125
	until_true has_keys 0 "$all" job2
}

@test "Ctrl-C in Python, whose thread waits in the library: at once, and nothing stays" {
	[ -n "$REDLOCK_LIBRARY" ] || skip "a sanitizer is in the library"
	on_nodes "1 2 3" set busy somebody px 600000
	on_nodes "$all" set held somebody px 600000
	for place in leads follows; do
		urls=$(for node in $all; do node_url "$node"; done)
		# shellcheck disable=SC2086 # one word each
		want 0 timeout 20 /usr/bin/python3 "$BATS_TEST_DIRNAME/python_ctrl_c.py" "$REDLOCK_LIBRARY" $place $urls
		[[ $output =~ ^interrupted\ after\ ([0-9]+)\ ms$ ]]
		[ "${BASH_REMATCH[1]}" -lt 10000 ] # of `timeout 20`
		until_true has_keys 0 "4 5" busy
	done
}

@test "acquire whose reader takes nothing: a signal ends it, and so does the end of the lock" {
	open_full_pipe "$sandbox/full"
	for part in "" --json; do
		# shellcheck disable=SC2086 # a word or none
		"$REDLOCK_BIN" acquire -n --node-timeout 2s -t 60s $part job >&7 2>"$sandbox/err" 3>&- &
		waiter=$!
		until_true has_keys 5 "$all" job
		kill -s TERM "$waiter"
		await "$waiter" 143
		until_true has_keys 0 "$all" job
	done
	"$REDLOCK_BIN" acquire -n -t 3s job >&7 2>"$sandbox/err" 3>&- &
	await $! 79
	exec 7>&-
}

# A pipe that is writable takes 4096 bytes; this name is longer.
@test "acquire whose reader takes a part of the JSON: it ends with the lock, 79; by TERM, 143" {
	open_full_pipe "$sandbox/part"
	long=$(printf '%010000d' 1)
	for ttl in 3s 60s; do
		dd if="$sandbox/part" of=/dev/null bs=4096 count=1 2>"$sandbox/dd"
		"$REDLOCK_BIN" acquire -n --node-timeout 900ms -t $ttl --json "$long" >&7 2>"$sandbox/err" 3>&- &
		waiter=$!
		if [ $ttl = 60s ]; then
			until_true has_keys 5 "$all" "$long"
			kill -s TERM "$waiter"
		fi
		await "$waiter" "$([ $ttl = 3s ] && echo 79 || echo 143)"
		until_true has_keys 0 "$all" "$long"
	done
	exec 7>&-
}

@test "acquire whose stderr is full: the token is printed, and acquire ends" {
	open_full_pipe "$sandbox/errors"
	"$REDLOCK_BIN" acquire -n -v --node-timeout 2s -t 60s told >"$sandbox/token" 2>&7 3>&- &
	await $! 0
	exec 7>&-
	"$REDLOCK_BIN" release told "$(cat "$sandbox/token")"
}

@test "no verb waits for ever for a reader of stderr: exit codes as always, and TERM ends it at once" {
	token=$(rl acquire -t 60s busy)
	open_full_pipe "$sandbox/stuck"
	while read -r code words; do
		# shellcheck disable=SC2086 # words
		"$REDLOCK_BIN" $words >"$sandbox/out" 2>&7 3>&- &
		await $! "$code"
	done <<-END
		75 run -n --node-timeout 2s busy true
		75 acquire -n --node-timeout 2s busy
		75 acquire -n --node-timeout 2s --json busy
		1 release --node-timeout 2s busy other
		1 extend --node-timeout 2s busy other
		0 status -v --node-timeout 2s busy
		0 ls -v --node-timeout 2s
		69 status -r unix://$sandbox/none
		64 acquire --no-such-option busy
		64 nothing
		64
	END
	"$REDLOCK_BIN" acquire -v -w 60s --node-timeout 2s busy >"$sandbox/out" 2>&7 3>&- &
	waiter=$!
	until_true has_waiter busy
	kill -s TERM "$waiter"
	await "$waiter" 143
	# A shared pipe keeps its flags: O_NONBLOCK would be the shell's as well.
	[ $((8#$(sed -n 's/^flags:[[:space:]]*//p' "/proc/$$/fdinfo/7") & 8#4000)) -eq 0 ]
	exec 7>&-
	rl release busy "$token"
}

@test "a reader of stderr that goes on is told how many messages it missed" {
	open_full_pipe "$sandbox/late"
	token=$(rl acquire -t 60s busy)
	"$REDLOCK_BIN" acquire -v -w 60s --node-timeout 2s busy >"$sandbox/out" 2>&7 3>&- &
	waiter=$!
	until_true has_waiter busy
	# The line of the wait is one, and its reader has stopped for more than a second.
	sleep 5
	cat <"$sandbox/late" >"$sandbox/read" 3>&- 7>&- &
	reader=$!
	exec 7>&-
	until_true test -s "$sandbox/read" # what the pipe had, with one read
	rl release busy "$token"
	await "$waiter" 0
	await "$reader" 0
	tr -d '\0' <"$sandbox/read"
	tr -d '\0' <"$sandbox/read" | grep -E 'redlock: [0-9]+ messages? before this one dropped: stderr was full'
}
