#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs each example on three servers of its own and checks what it prints and how it ends.
#
#   run_examples.sh DIRECTORY-OF-THE-PROGRAMS REDIS-SERVER REDIS-CLI
set -uo pipefail
(($# == 3)) || { echo "usage: $0 DIRECTORY REDIS-SERVER REDIS-CLI" >&2; exit 64; }
bin=$1 server=$2 cli=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/rl-ex.XXXXXX") || exit
pids=()
urls=()
background=

cleanup() {
	local pid
	{
		for pid in ${background:+"$background"} "${pids[@]}"; do
			kill -KILL "$pid" # also those that are stopped
		done
		wait
	} 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# ---- Servers ---------------------------------------------------------------------------------------------------

ask() { # NODE COMMAND...
	local node=$1
	shift
	"$cli" -s "$work/$node.sock" "$@"
}

start_server() { # NODE
	"$server" --port 0 --unixsocket "$work/$1.sock" --dir "$work" --save '' --appendonly no \
		>"$work/$1.log" 2>&1 &
	pids[$1]=$!
	urls[$1]=unix://$work/$1.sock
	local try
	for try in {1..100}; do
		[[ $(ask "$1" PING 2>/dev/null) == PONG ]] && return
		sleep 0.1
	done
	echo "server $1 did not start (try $try):"
	cat "$work/$1.log"
	exit 1
}

on_all() { # COMMAND...: its answers, sorted, in one line
	local node
	for node in 0 1 2; do
		ask "$node" "$@"
	done | sort | paste -sd ' '
}

# ---- Checks ----------------------------------------------------------------------------------------------------

checks=0
failures=0
check() { # WHAT WANTED GOT: the expression WANTED is found in GOT
	checks=$((checks + 1))
	grep -qE -- "$2" <<<"$3" && return
	failures=$((failures + 1))
	printf 'FAILED: %s\n  wanted: %s\n  got: %s\n' "$1" "$2" "$3"
}

# A program may end when a quorum has answered: the last node takes a moment more.
check_keys() { # WHAT WANTED COMMAND...: the same for the nodes' answers to a command, soon
	local what=$1 wanted=$2 try
	shift 2
	for try in {1..40}; do
		grep -qE -- "$wanted" <<<"$(on_all "$@")" && break
		sleep 0.05
	done
	check "$what (try $try)" "$wanted" "$(on_all "$@")"
}

ended() { # WHAT CODE: the program's output is in $work/out, and it ended with CODE
	out=$(<"$work/out")
	check "$1: exit code ($out)" "^$2\$" "$status"
}

run() { # WHAT CODE PROGRAM ARGUMENT...
	local what=$1 code=$2 program=$3
	shift 3
	"$bin/$program" "$@" >"$work/out" 2>&1
	status=$?
	ended "$what" "$code"
}

# Begins a program and waits until it has printed TEXT.
begin() { # TEXT PROGRAM ARGUMENT...
	local text=$1 program=$2 try
	shift 2
	: >"$work/out" # what the last program printed does not count
	"$bin/$program" "$@" >>"$work/out" 2>&1 &
	background=$!
	for try in {1..200}; do
		grep -q -- "$text" "$work/out" && return
		sleep 0.05
	done
	check "$program begins (try $try)" "$text" "$(<"$work/out")"
}

finish() { # WHAT CODE
	wait "$background"
	status=$?
	background=
	ended "$1" "$2"
}

for node in 0 1 2; do
	start_server "$node"
done

# ---- blocking --------------------------------------------------------------------------------------------------

# The configuration: a file, and a value of the environment before it.
export REDLOCK_CONFIG=$work/redlock.conf
unset REDLOCK_URLS REDLOCK_CLUSTER REDIS_URL
printf 'url = %s\n' "${urls[@]}" >"$REDLOCK_CONFIG"
printf '%s\n' 'ttl = 2s' 'wait = 1m' 'node-timeout = 500ms' >>"$REDLOCK_CONFIG"
export REDLOCK_WAIT=1s

REDLOCK_URLS=${urls[0]},http://localhost run "a bad URL" 1 blocking job
check "a bad URL is named" 'node 2: the scheme must be' "$out"
REDLOCK_TTL=2 run "a bad configuration" 1 blocking job
check "a bad configuration: the variable is named" 'REDLOCK_TTL: 2: add a unit' "$out"
run "a bad name" 1 blocking job:redlock:queue
check "a bad name: the reason is told" '^blocking: INVAL: the name is reserved' "$out"

run "blocking" 0 blocking job
check "blocking: validity" '^acquired, to be relied on for 1[5-9][0-9]{2} ms$' "$out"
check_keys "blocking leaves nothing" '^0 0 0$' EXISTS job

on_all SET job other PX 60000 >/dev/null
run "a busy lock" 1 blocking job
check "a busy lock" '^blocking: BUSY: busy: held by ' "$out"
check_keys "a busy lock stays" '^other other other$' GET job
on_all DEL job >/dev/null

begin acquired blocking job
kill -STOP "$background"
sleep 2.2
kill -CONT "$background"
finish "blocking, stopped for more than its TTL" 1
check "a lapse is seen" '^blocking: GONE: ' "$out"
unset REDLOCK_CONFIG REDLOCK_WAIT

# ---- keeper ----------------------------------------------------------------------------------------------------

run "keeper" 0 keeper job 3000 "${urls[@]}"
check "keeper: outlives its TTL" '^worked for 3000 ms, [1-9][0-9]* ms left$' "$out"
check_keys "keeper leaves nothing" '^0 0 0$' EXISTS job

begin acquired keeper job 30000 "${urls[@]}"
on_all DEL job >/dev/null
finish "keeper, robbed" 1
check "keeper: loss" '^lost: ' "$out"

begin acquired keeper job 30000 "${urls[@]}"
kill -STOP "${pids[0]}" "${pids[1]}"
finish "keeper, no quorum" 1
check "keeper: danger" '^danger: [1-9][0-9]* ms left' "$out"
kill -CONT "${pids[0]}" "${pids[1]}"
on_all DEL job >/dev/null

# ---- poll_loop -------------------------------------------------------------------------------------------------

run "poll_loop" 0 poll_loop 200 job "${urls[@]}"
check "poll_loop" '^200 acquired, 200 released, 0 failed$' "$out"
on_all SET job-2 other PX 60000 >/dev/null
run "poll_loop, one busy" 1 poll_loop 3 job "${urls[@]}"
check "poll_loop, one busy" '^2 acquired, 2 released, 1 failed$' "$out"
on_all DEL job-2 >/dev/null

# ---- hand_over -------------------------------------------------------------------------------------------------

token=$("$bin/hand_over" take job "${urls[@]}")
check_keys "hand_over: the keys stay under the token" "^$token $token $token\$" GET job
run "hand_over, a wrong token" 1 hand_over finish job "${urls[@]}" <<<"not-the-token"
check "hand_over, a wrong token" 'the lock was already gone' "$out"
run "hand_over, no token" 1 hand_over finish job "${urls[@]}" </dev/null
check "hand_over, no token" 'an argument is out of its range' "$out"
run "hand_over" 0 hand_over finish job "${urls[@]}" <<<"$token"
check "hand_over: extended" '^extended, 9[0-9]{3} ms left$' "$out"
check "hand_over: released" '^released: OK$' "$out"
check_keys "hand_over leaves nothing" '^0 0 0$' EXISTS job
"$bin/hand_over" take job "${urls[@]}" 2>&1 >/dev/full | grep -q 'standard output'
check "hand_over, nowhere to write: fails" '^1 0$' "${PIPESTATUS[*]}"
check_keys "hand_over, nowhere to write: releases" '^0 0 0$' EXISTS job

# ---- transfer --------------------------------------------------------------------------------------------------

accounts=("$work/alice" "$work/bob")
echo 1000 | tee "${accounts[@]}" >/dev/null
run "transfer, an account twice" 1 transfer "${accounts[0]}" "${accounts[0]}" 1 "${urls[@]}"
run "transfer, more than there is" 1 transfer "${accounts[@]}" 1001 "${urls[@]}"
check "transfer: says so" 'nothing was moved' "$out"
for ((i = 0; i < 10; i++)); do
	"$bin/transfer" "${accounts[1]}" "${accounts[0]}" 3 "${urls[@]}" &
	background=$!
	run "transfer $i" 0 transfer "${accounts[@]}" 10 "${urls[@]}"
	wait "$background"
done
background=
check "transfer, in both directions at once" '^930 1070$' "$(paste -sd ' ' "${accounts[@]}" | paste -sd ' ')"

# ---- licence ---------------------------------------------------------------------------------------------------

# Which of them some node has: a holder has a majority, and not always the same one.
licences_in_use() {
	local slot node key=licences
	for slot in 0 1 2; do
		[ "$slot" = 0 ] || key="{licences}:redlock:slot:$slot"
		[[ $(for node in 0 1 2; do ask "$node" EXISTS "$key"; done) != *1* ]] || echo "$slot"
	done | paste -sd ' '
}

users=()
for i in 1 2 3; do
	"$bin/licence" 3 3 "${urls[@]}" >"$work/licence-$i" &
	users+=($!)
done
for ((i = 0; i < 100; i++)); do
	[ "$(licences_in_use)" != '0 1 2' ] || break
	sleep 0.05
done
check "licence: three at a time" '^0 1 2$' "$(licences_in_use)"
run "licence, a fourth one waits" 0 licence 3 0 "${urls[@]}"
wait "${users[@]}"
check "licence: each had its own" '^used licence 0 used licence 1 used licence 2$' "$(sort "$work"/licence-[123] | paste -sd ' ')"
run "licence, another number" 0 licence 2 0 "${urls[@]}"

# ---- migrate ---------------------------------------------------------------------------------------------------

echo 1 >"$work/schema"
run "migrate, alone" 0 migrate "$work/schema" 2 "${urls[@]}"
check "migrate: upgrades" '^migrates .* to 2, ' "$out"
check "migrate: and serves" '^serves .* at version 2$' "$out"
run "migrate, nothing to do" 0 migrate "$work/schema" 2 "${urls[@]}"
servers=()
for ((i = 0; i < 6; i++)); do
	"$bin/migrate" "$work/schema" 3 "${urls[@]}" >"$work/server-$i" 2>&1 &
	servers+=($!)
done
for ((i = 0; i < 6; i++)); do
	wait "${servers[i]}" || check "migrate: server $i" '^$' "$(cat "$work/server-$i")"
done
check "migrate, many at once: one moves it forward" '^1$' "$(cat "$work"/server-? | grep -c '^migrates ')"
check "migrate, many at once: all serve" '^6$' "$(cat "$work"/server-? | grep -c 'at version 3$')"

# ---- votes -----------------------------------------------------------------------------------------------------

run "votes" 0 votes job "${urls[@]}"
check "votes: had" '^OK: success$' "$out"
ask 0 SET job other >/dev/null
ask 1 HSET job client:1 1 >/dev/null
ask 1 PEXPIRE job 60000 >/dev/null
{ kill -KILL "${pids[2]}" && wait "${pids[2]}"; } 2>/dev/null # the shell would tell of it
run "votes, busy" 1 votes job "${urls[@]}"
check "votes: result" '^BUSY: somebody else holds the lock' "$out"
check "votes: no" "^  ${urls[0]}: NO, no: the key is missing or is somebody else's, after " "$out"
check "votes: down" "^  ${urls[2]}: DOWN, not reachable.* \\(Connection refused\\)$" "$out"
check "votes: no expiry" '^  node 1: a string without expiry, it blocks for ever$' "$out"
check "votes: a hash" '^  node 2: a hash of 10 bytes for [0-9]+ ms more$' "$out"
check "votes: no answer" '^  node 3: did not answer$' "$out"

echo "$((checks - failures)) of $checks checks passed"
((failures == 0))
