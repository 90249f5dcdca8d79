#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Clients of the old SETNX protocol, in Python and with redis-cli, and --compat. (Their steps one by one:
# integration_setnx.)
load helper

setup_file() {
	start_cluster 3
	one=$(node_dir 1)/redis.sock
	three=$one,$(node_dir 2)/redis.sock,$(node_dir 3)/redis.sock
	export one three
}

old() { # SOCKETS VERB NAME ...
	/usr/bin/python3 "$BATS_TEST_DIRNAME/setnx_client.py" "$@"
}

# The protocol of the page in a shell, on node 1.
shell_take() { # NAME SECONDS: prints the value
	local value=$(($(date +%s) + $2 + 1)) found
	if [ "$(on_node 1 setnx "$1" "$value")" = 0 ]; then
		found=$(on_node 1 get "$1")
		[ "$found" -lt "$(date +%s)" ] || return 1
		found=$(on_node 1 getset "$1" "$value")
		[ "$found" -lt "$(date +%s)" ] || return 1
	fi
	echo "$value"
}

shell_release() { # NAME VALUE
	[ "$(date +%s)" -ge "$2" ] || on_node 1 del "$1"
}

nodes_of() { # SOCKETS
	[ "$1" = "$one" ] && echo "unix://$one" || echo local
}

@test "Python: each excludes the other, on one node and on three" {
	for sockets in "$one" "$three"; do
		urls=$(nodes_of "$sockets")
		value=$(old "$sockets" acquire py 60)
		want 75 rl acquire -n -r "$urls" --compat setnx py
		want 75 rl acquire -n -r "$urls" py
		old "$sockets" release py "$value"
		token=$(rl acquire -r "$urls" --compat setnx py)
		[ "$(old "$sockets" acquire py 60)" = busy ]
		rl check -r "$urls" --compat setnx py "$token"
		rl extend -r "$urls" --compat setnx py "$token"
		rl release -r "$urls" --compat setnx py "$token"
		want 1 rl release -r "$urls" --compat setnx py "$token"
		value=$(old "$sockets" acquire py 60)
		[ "$value" != busy ]
		old "$sockets" release py "$value"
	done
}

@test "redis-cli: each excludes the other, and takes over what has ended" {
	value=$(shell_take sh 60)
	want 75 rl acquire -n -r "unix://$one" --compat setnx sh
	shell_release sh "$value"
	token=$(rl acquire -r "unix://$one" --compat setnx sh)
	run ! shell_take sh 60
	rl release -r "unix://$one" --compat setnx sh "$token"
	shell_take sh 0 >/dev/null # and dies
	token=$(rl acquire -w 10s -t 10s -r "unix://$one" --compat setnx sh)
	lives_longer 1 sh 1000
	run ! shell_take sh 60
	on_node 1 set sh $(($(date +%s) - 1)) # as if ten seconds had passed, and its expiry had not come
	value=$(shell_take sh 60)
	want 1 rl release -r "unix://$one" --compat setnx sh "$token"
	has_value 1 sh "$value"
	on_node 1 del sh
}

# A holder that finds another one in the critical section fails: mkdir, or os.mkdir().
crowds() { # for 4 seconds
	until=$(($(date +%s) + 4))
	jobs=()
	for worker in 1 2 3; do
		old "$three" work crowd 1 "$until" "$sandbox/place" >>"$sandbox/old-$worker" 3>&- &
		jobs+=($!)
	done
	for worker in 1 2 3; do
		while [ "$(date +%s)" -lt "$until" ]; do
			rl run -w 5s -t 10s --node-timeout 900ms --compat setnx crowd -- \
				sh -c "mkdir '$sandbox/place' && sleep 0.002 && rmdir '$sandbox/place' && echo held" || [ $? -eq 75 ]
		done >>"$sandbox/new-$worker" 2>"$sandbox/err-$worker" 3>&- &
		jobs+=($!)
	done
	for job in "${jobs[@]}"; do
		await "$job" 0
	done
}

both_held() {
	[ "$(cat "$sandbox"/old-? | awk '{ held += $1 } END { print held }')" -gt 5 ] && [ "$(cat "$sandbox"/new-? | grep -c held)" -gt 5 ]
}

@test "crowds of both, some of whom die, are never two in one place" {
	crowds
	for round in 1 2 3 4 5 6 7 8 9; do # how often somebody holds it in 4 seconds is up to the machine
		both_held || crowds
	done
	both_held
}

@test "run: renewed, and shown by status for what it is" {
	rl run -t 3s --node-timeout 500ms --compat setnx job -- sh -c "until [ -e '$sandbox/end' ]; do sleep 0.1; done" 3>&- &
	run=$!
	until_true has_keys 3 "1 2 3" job
	until=$(on_node 1 get job)
	want 0 rl status job
	[[ $output == *"lock of the old SETNX protocol"*"expires at "* ]]
	until_true has_changed 1 job "$until"
	[ "$(old "$three" acquire job 1)" = busy ]
	touch "$sandbox/end"
	await "$run" 0
	until_true has_keys 0 "1 2 3" job
	until_true has_keys 0 "1 2 3" "{job}:redlock:setnx"
}

has_changed() { # N KEY VALUE
	! has_value "$@"
}

# The numbers that C, awk, Lua, JavaScript, Perl and Ruby make of the digits that a value begins with.
@test "a safe token is a time in the far future for every reader" {
	export XDG_CONFIG_HOME=$sandbox/labelled
	mkdir -p "$XDG_CONFIG_HOME/redlock"
	echo 'owner = me' >"$XDG_CONFIG_HOME/redlock/redlock.conf" # for other locks
	token=$(rl acquire --compat setnx-safe safe)
	[[ $token =~ ^9223372034707292159\.[0-9]{20}$ ]]
	rl check safe "$token"
	rl extend safe "$token"
	kill_nodes STOP 3 # a token of redlock is never used again: no answer is waited for
	SECONDS=0
	want 0 rl check --compat setnx-safe safe "$token"
	want 0 rl extend --compat setnx-safe safe "$token"
	want 0 rl release --compat setnx-safe safe "$token"
	[ -z "$stderr" ]
	[ "$SECONDS" -lt 8 ]
	kill_nodes CONT 3
	now=$(date +%s)
	awk -v v="$token" -v n="$now" 'BEGIN { exit !(v + 0 > n * 1000000000) }'
	perl -e 'exit !($ARGV[0] > $ARGV[1] * 1000000000)' "$token" "$now"
	on_node 1 eval 'return tostring(tonumber(ARGV[1]) > ARGV[2] * 1000000000)' 0 "$token" "$now" | grep -qx true
	/usr/bin/python3 -c 'import ctypes, sys
token, now = sys.argv[1].encode(), int(sys.argv[2])
c = ctypes.CDLL(None)
c.strtoll.restype = ctypes.c_longlong
c.strtod.restype = ctypes.c_double
c.strtod.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
assert c.strtoll(token, None, 10) > now * 10**9 and c.atoi(token) > now
assert c.strtod(token, None) > now * 10**9 and float(token) > now * 10**9' "$token" "$now"
}

@test "the time is no token, and is not taken for one" {
	token=$(rl acquire --compat setnx timed)
	for verb in check extend release; do
		want 1 rl "$verb" --compat setnx timed "$(on_node 1 get timed)"
		[ "$stderr" = "redlock: $verb 'timed': that is the time at which the lock ends, not a token: give the token that acquire printed" ]
	done
	want 1 rl release --compat setnx timed 12345
	[[ $stderr == *"not held by this token: held by a lock of the old SETNX protocol"* ]]
	rl release --compat setnx timed "$token"
}

@test "the holder of a key that is not a time is named, too: a shared lock, and keys of other kinds" {
	for compat in setnx setnx-safe off; do
		rl run --shared z -- bash -c '"$@" 2>"$sandbox/said" || echo $?' bash \
			"$REDLOCK_BIN" run --node-timeout 2s -n --compat "$compat" z -- true >"$sandbox/code"
		[ "$(<"$sandbox/code")" = 75 ]
		grep -q "busy: shared by 1 holder (owner .* of 3 nodes" "$sandbox/said"
	done
	on_nodes "1 2 3" rpush list element
	for compat in setnx setnx-safe off; do
		want 75 rl run -n --compat "$compat" list -- true
		says "busy: held by a key of type list, which is not a known lock"
	done
	rl acquire --slots 2 list
	slot=$(on_node 1 --scan --pattern '*list*:1')
	on_nodes "1 2 3" del "$slot"
	on_nodes "1 2 3" rpush "$slot" element
	want 0 rl status list
	[[ $output == *"slot 1: held by a key that is no string, which is not a known lock"* ]]
	on_nodes "1 2 3" flushall
}

@test "options that exclude --compat" {
	want 64 rl acquire --compat setnx --guard require job
	[[ $stderr == *"--compat setnx and --guard=require exclude each other"* ]]
	want 64 rl acquire --compat setnx --guard auto --fence job
	[[ $stderr == *"--compat and --fence exclude each other"* ]]
	want 64 rl acquire --compat setnx-safe --token x job
	[[ $stderr == *"redlock makes"* ]]
	want 64 rl acquire --compat setnx-safe --owner me job
	[[ $stderr == *"--compat setnx-safe and --owner exclude each other"* ]]
	want 64 rl run --compat setnx-safe --owner me job true
	want 0 rl run --compat setnx-safe --owner= job -c 'test ${#REDLOCK_TOKEN} = 40'
	want 0 rl run --compat setnx-safe job -c 'test ${#REDLOCK_TOKEN} = 40'
	want 64 rl acquire --compat other job
}
