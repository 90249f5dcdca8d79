#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# break: ends a lock by the token that nodes show, asks first, wakes the next client, and logs who did it.
load helper

all='1 2 3'

setup_file() {
	start_cluster 3
	echo "node-timeout = 900ms" >"$sandbox/redlock.conf"
	export REDLOCK_CONFIG=$sandbox/redlock.conf
}

setup() {
	on_nodes "$all" flushall
	jobs=()
}

teardown() {
	kill_nodes CONT 1 2 3
	kill "${jobs[@]}" 2>/dev/null || true
}

waits() { # COUNT: so many wait for some lock
	rl ls --json | grep -q "\"waiting\":$1,"
}

# Answers on a terminal: $output has what it shows.
answer() { # CODE ANSWER COMMAND...
	run /usr/bin/python3 - "${@:2}" <<-'PYTHON'
		import os, pty, sys
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execvp(sys.argv[2], sys.argv[2:])
		shown = b""
		try:
		    while more := os.read(terminal, 65536):
		        if b"[y/N]" not in shown and b"[y/N]" in shown + more:
		            os.write(terminal, sys.argv[1].encode() + b"\n")
		        shown += more
		except OSError:
		    pass
		sys.stdout.write(shown.decode())
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PYTHON
	exits "$1"
}

# `break job` on a terminal, whose question is answered with yes after this command at these nodes. $output ends with the
# exit code.
break_after() { # NODES COMMAND...
	local sockets=() node
	for node in $1; do sockets+=("$(node_dir "$node")/redis.sock"); done
	output=$(/usr/bin/python3 - "$REDLOCK_BIN" "${sockets[*]}" "${@:2}" <<-'PYTHON'
		import os, pty, sys, redis
		program, sockets, command = sys.argv[1], sys.argv[2].split(), sys.argv[3:]
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execvp(program, [program, "break", "job"])
		shown = b""
		try:
		    while more := os.read(terminal, 65536):
		        if b"[y/N]" not in shown and b"[y/N]" in shown + more:
		            for path in sockets:
		                redis.Redis(unix_socket_path=path).execute_command(*command)
		            os.write(terminal, b"y\n")
		        shown += more
		except OSError:
		    pass
		print(shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PYTHON
	)
}

@test "without a terminal it needs --yes; on a terminal it shows the status and asks" {
	rl acquire -n -t 1m --owner a:1 job
	until_true has_keys 3 "$all" job
	want 64 rl break job </dev/null
	says "give --yes"
	[[ $output == *"job: held by "*"(owner a:1) on 3 of 3 nodes"* ]]
	has_keys 3 "$all" job
	answer 1 n "$REDLOCK_BIN" break job
	[[ $output == *"job: held by "*"(owner a:1) on 3 of 3 nodes"*"node 3 "*"may still be working"*"nothing was changed"* ]]
	has_keys 3 "$all" job
	answer 0 y "$REDLOCK_BIN" break job
	[[ $output == *"broke lock 'job' of a:1 on 3 of 3 nodes"*"the holder may still be working"* ]]
	has_keys 0 "$all" job
	want 1 rl break --yes job
	says "nobody holds it"
}

@test "the holder's run learns it at its next renewal, and the next client has the lock" {
	"$REDLOCK_BIN" run -t 3s job -- sleep 60 2>"$sandbox/err" 3>&- &
	jobs+=($!)
	until_true has_keys 3 "$all" job
	"$REDLOCK_BIN" run -w 30s job -- touch "$sandbox/next" 3>&- &
	jobs+=($!)
	until_true waits 1
	want 0 rl break --yes job
	await "${jobs[0]}" 79
	await "${jobs[1]}" 0
	[ -e "$sandbox/next" ]
}

@test "of several holders one has to be named, and only that one is ended" {
	for slot in 0 1; do rl acquire -n -t 1m --slots 3 pool; done
	for owner in a b; do rl acquire -n -t 1m --shared --owner "$owner:1" many; done
	until_true has_keys 3 "$all" '{pool}:redlock:slot:1'
	shares() { [ "$(on_node 3 zcard many)" = 2 ]; }
	until_true shares
	for name in pool many; do
		want 64 rl break --yes $name
		says "2 holders: name one with --holder TOKEN"
	done
	want 0 rl status --json pool
	for slot in 0 1; do json_is "len(j['slots'][$slot]['token']) >= 40"; done
	json_is "j['slots'][1]['token'] == '$(on_node 1 get '{pool}:redlock:slot:1')'" 'j["slots"][2]["token"] is None'
	want 0 rl break --yes --holder "$(on_node 1 get '{pool}:redlock:slot:1')" pool
	has_keys 0 "$all" '{pool}:redlock:slot:1'
	has_keys 3 "$all" pool
	want 0 rl break --json --yes --holder "$(on_node 1 zrange many 0 -1 | grep a:1)" many
	json_is 'j == {"verb": "break", "name": "many", "what": "holder", "done": True, "deleted": 3}'
	[[ $(on_node 1 zrange many 0 -1) == *"|b:1" ]]
	want 0 rl break --yes many
	want 1 rl break --yes --holder nobody pool
	says "no node has this token: held by"
	has_keys 3 "$all" pool
}

@test "leftovers, keys of others and keys that are no locks" {
	state() { # CODE MESSAGE, after the commands on stdin as "NODE COMMAND..."
		on_nodes "$all" flushall
		while read -r node words; do
			# shellcheck disable=SC2086 # words
			on_node "$node" $words
		done
		want "$1" rl break --yes job
		says "$2"
	}
	state 0 "on 1 of 3 nodes" <<<"2 set job left px 60000"
	has_keys 0 "$all" job
	state 0 "on 1 of 3 nodes" <<<$'1 set job x px 60000\n2 set job y'
	has_keys 0 "$all" job
	state 0 "on 3 of 3 nodes" <<<$'1 set job 1999999999\n2 set job 1999999999\n3 set job 1999999999'
	has_keys 0 "$all" job
	state 0 "deleted the key 'job' of type list on 2 of 3 nodes" <<<$'1 rpush job x\n2 rpush job x'
	has_keys 0 "$all" job
	state 0 "deleted the key 'job' of type hash on 1 of 3 nodes" <<<$'1 set job x px 60000\n2 hset job f 1'
	has_keys 0 "$all" job
	state 0 "deleted the key '{job}:redlock:slots' of type string on 2 of 3 nodes" <<<$'1 set {job}:redlock:slots 3\n2 set {job}:redlock:slots 3'
	has_keys 0 "$all" '{job}:redlock:slots'
	state 1 "nobody holds it" <<<$'1 set {job}:redlock:fence 3\n2 set {job}:redlock:slots 3 px 60000'
	has_keys 1 "$all" '{job}:redlock:fence'
	has_keys 1 "$all" '{job}:redlock:slots'
	on_nodes "$all" del job
	on_nodes "$all" rpush job x
	on_nodes "$all" acl setuser part reset on '>x' '~*' '&*' +@all -dump
	want 76 rl break --yes --user part --password-file <(echo x) job
	says "help acl"
	want 64 rl break --yes '{a}:redlock:queue'
}

@test "a lock that has passed to another holder is not ended" {
	rl acquire -n -t 1m --owner a:1 job
	until_true has_keys 3 "$all" job
	break_after "1 2 3" SET job another PX 60000
	[[ $output == *"break 'job': "*" 1" ]]
	has_value 1 job another
}

@test "a foreign key that is not the one that was shown stays" {
	on_nodes "$all" rpush job x
	break_after 2 LSET job 0 y
	[[ $output == *"Delete it? Its program may still need it."*"the key 'job' on node 2 "*" is not the one that was shown, and stays"* ]]
	[[ $output == *"deleted the key 'job' of type list on 2 of 3 nodes"*" 0" ]]
	has_keys 1 "$all" job
}

@test "--waiters clears a queue and leaves the lock; clients that wait line up anew" {
	rl acquire -n -t 1m job
	token=$(on_node 1 get job)
	"$REDLOCK_BIN" acquire -w 30s job >/dev/null 3>&- &
	jobs+=($!)
	until_true waits 1
	want 0 rl break --yes --waiters job
	# The waiter also takes a place at another node if the first one is slow to answer.
	[[ $stderr == *"cleared the queue of lock 'job', which was on "[123]" of 3 nodes"* ]]
	has_value 1 job "$token"
	rl release job "$token"
	await "${jobs[0]}" 0
	want 1 rl break --yes --waiters nobody-waits
	says "break 'nobody-waits': nobody waits for it: no queue on the 3 of 3 nodes that answered"
	[[ $stderr != *cleared* ]]
	want 64 rl break --yes --waiters --holder x job
	on_nodes "$all" acl setuser part reset on nopass '~*' '&*' +@all -del
	want 76 rl break --yes --waiters --user part --password-file <(echo x) job
	says "help acl"
}

@test "a lock that a silent node may complete is not called split, nor a leftover: it is no lock to break" {
	token=$(rl acquire -n -t 1m --owner web-1:1 job)
	until_true has_keys 3 "$all" job
	on_node 2 set job "$(printf '%040d' 7)|db-1:1" px 60000
	kill_nodes STOP 3
	for foreign in yes no; do
		[ "$foreign" = yes ] || on_node 2 del job
		run --separate-stderr "$REDLOCK_BIN" status job
		[[ $output == *"maybe held by "*" has 1 of 3 nodes, and 1 node did not answer, which may have its key too"* ]]
		[[ $output != *split* && $output != *nobody* && $output != *"redlock break"* ]]
		want 0 rl ls --json job
		json_is 'j["state"] == "unknown" and j["odd"] == []'
	done
	kill_nodes CONT 3
	rl check job "$token"
}

@test "with too few nodes it says which, and ends what it can reach" {
	rl acquire -n -t 1m job
	until_true has_keys 3 "$all" job
	kill_nodes STOP 3
	want 0 "$REDLOCK_BIN" break --yes job
	says "broke lock 'job'" "node 3 unix://" " did not confirm, and may keep the key: no answer in time"
	kill_nodes STOP 2
	want 69 "$REDLOCK_BIN" break --yes job
	says "no quorum: 1 of 3 nodes voted"
	[[ $stderr != *broke* ]]
	kill_nodes CONT 2
	rl acquire -n -t 1m other
	until_true has_keys 2 "1 2" other
	on_nodes 1 acl setuser part reset on nopass '~*' '&*' +@all
	on_nodes 2 acl setuser part reset on nopass '~*' '&*' +@all -@write # DEL, and DELEX of newer servers
	want 76 "$REDLOCK_BIN" break --yes --user part --password-file <(echo x) other
	says "may not run" "did not end lock 'other' of" "its key was deleted on 1 of 3 nodes: node 1 unix://"
	[[ $stderr != *broke* ]]
}

@test "syslog has the lock, its holder, the user and the reason, in one line without control characters" {
	{ [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; } || skip "a /dev/log of its own needs root and a mount namespace"
	rl acquire -n -t 1m --owner a:1 $'job\e'
	until_true has_keys 3 "$all" $'job\e'
	mkdir "$sandbox/dev"
	cp -a /dev/null /dev/urandom /dev/random "$sandbox/dev"
	/usr/bin/python3 - "$sandbox/log" >"$sandbox/line" 3>&- <<-'PYTHON' &
		import socket, sys
		listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		listener.bind(sys.argv[1])
		sys.stdout.buffer.write(listener.recv(65536))
	PYTHON
	jobs+=($!)
	until_true test -S "$sandbox/log"
	ln -s "$sandbox/log" "$sandbox/dev/log"
	# shellcheck disable=SC2016 # of the inner shell
	SUDO_USER=alice unshare -m sh -c 'mount --bind "$1/dev" /dev && exec "$2" break --yes --reason "stuck
	for hours" "$3"' - "$sandbox" "$REDLOCK_BIN" $'job\e'
	await "${jobs[0]}" 0
	grep -E "redlock\[[0-9]+\]: broke lock 'job.*x1b' of a:1 on 3 of 3 nodes, by user root \(uid 0\) for alice, reason: stuck.x0a" "$sandbox/line"
	[ "$(wc -l <"$sandbox/line")" = 0 ]
}
