# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2034 # bats sets output, stderr and status; the tests use `all`
# What the tests of the command share: a directory and servers of their own, and short words for questions.
bats_require_minimum_version 1.5.0
: "${REDLOCK_BIN:?the path of the redlock command; ctest sets it}"

# A directory in /tmp, not in bats' own: its path must be short enough for Unix sockets.
make_sandbox() {
	made_here=1 # not exported: known to the teardown that belongs to this setup
	sandbox=$(mktemp -d /tmp/redlock-cli.XXXXXX)
	export sandbox XDG_RUNTIME_DIR=$sandbox XDG_CONFIG_HOME=$sandbox/config STATE_DIRECTORY=$sandbox/state
	unset REDLOCK_URLS REDIS_URL
}

start_cluster() { # NODES
	make_sandbox
	"$REDLOCK_BIN" cluster start -q --nodes "$1"
	export REDLOCK_URLS=local
	expect_wanted "$1"
}

# tests/servers says which servers the tests are for, as "valkey-9.1 redis-8.6": another one proves nothing.
expect_wanted() { # NODES
	local node name wanted
	read -ra wanted <<<"${REDLOCK_TEST_SERVERS-}"
	((${#wanted[@]})) || return 0
	for ((node = 1; node <= $1; node++)); do
		name=${wanted[node % ${#wanted[@]}]}
		on_node "$node" info server | grep -q "^${name%-*}_version:${name#*-}\\." || {
			echo "node $node is not $name"
			return 1
		}
	done
}

# The processes that run in the sandbox, one id per line.
sandbox_pids() {
	find /proc/[0-9]*/cwd -maxdepth 0 -lname "$sandbox/*" 2>/dev/null | cut -d/ -f3
}

# Ends processes that the test itself started, stopped ones too, and returns when they are gone: a server that is still on
# its way out would be blamed on `cluster stop`.
end_processes() { # PID...
	local pid
	for pid; do
		kill -s KILL "$pid" 2>/dev/null || continue
		until_true is_gone "$pid"
	done
}

# Stops the cluster and leaves no process, also when `cluster stop` itself fails.
stop_cluster() {
	local pid left code=0
	[ -n "$sandbox" ] || return 0
	"$REDLOCK_BIN" cluster stop -q || code=$?
	left=$(sandbox_pids)
	for pid in $left; do
		echo "still running after cluster stop: $pid"
		kill -s KILL "$pid"
		code=1
	done
	rm -rf "$sandbox"
	return "$code"
}

# The default teardown: the cluster of setup_file ends with the file, that of setup with each test.
teardown() {
	[ -z "${made_here-}" ] || stop_cluster
}

teardown_file() {
	[ -z "${made_here-}" ] || stop_cluster
}

# The command, with patience for a busy test machine. A later --node-timeout wins.
rl() { # VERB ...
	local verb=$1
	shift
	"$REDLOCK_BIN" "$verb" --node-timeout 2s "$@"
}

node_dir() { # N
	echo "$XDG_RUNTIME_DIR/redlock/cluster/node-$1"
}

node_pid() { # N
	cat "$(node_dir "$1")/redis.pid"
}

node_url() { # N
	echo "unix://$(node_dir "$1")/redis.sock"
}

kill_nodes() { # SIGNAL N...
	local signal=$1 node
	shift
	for node; do
		kill -s "$signal" "$(node_pid "$node")"
	done
	[ "$signal" = KILL ] || return 0
	for node; do
		until_true is_down "$node"
	done
}

is_down() { # N
	[ "$(redis-cli -s "$(node_dir "$1")/redis.sock" ping 2>&1)" != PONG ]
}

# redis-cli on one node.
on_node() { # N COMMAND...
	redis-cli -s "$XDG_RUNTIME_DIR/redlock/cluster/node-$1/redis.sock" "${@:2}"
}

# A free port of 127.0.0.1. Nobody else binds it for the moment that it takes to start a server.
free_port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The TCP port of a node, which it opens at the first question: `cluster start` opens none.
node_port() { # N
	[ "$(on_node "$1" config get port | tail -n 1)" != 0 ] || on_node "$1" config set port "$(free_port)" >&2
	on_node "$1" config get port | tail -n 1
}

on_nodes() { # "N..." COMMAND...
	local node nodes=$1
	shift
	for node in $nodes; do
		on_node "$node" "$@" >"$sandbox/on_nodes"
		if grep -q ERR "$sandbox/on_nodes"; then
			cat "$sandbox/on_nodes"
			return 1
		fi
	done
}

# Questions for until_true: an answer that did not have to be waited for may reach its node a moment later.
has_keys() { # COUNT "N..." KEY: so many of these nodes have the key
	local node count=0
	for node in $2; do
		count=$((count + $(on_node "$node" exists "$3")))
	done
	[ "$count" -eq "$1" ]
}

has_waiter() { # NAME
	local node
	for node in $all; do
		[ "$(on_node "$node" exists "{$1}:redlock:queue")" = 0 ] || return 0
	done
	return 1
}

has_value() { # N KEY VALUE
	[ "$(on_node "$1" get "$2")" = "$3" ]
}

lives_longer() { # N KEY MILLISECONDS
	[ "$(on_node "$1" pttl "$2")" -gt "$3" ]
}

all='1 2 3 4 5'

# Tries for 10 seconds, which is less than the TTLs in use, or for $patience; after a second less often, as each try costs
# several processes.
until_true() { # COMMAND...
	local end=$((SECONDS + ${patience:-10})) pause tries=0
	while [ "$SECONDS" -lt "$end" ]; do
		if "$@"; then
			return 0
		fi
		pause=0.05
		((++tries < 20)) || pause=0.2
		sleep "$pause"
	done
	echo "never true: $*"
	return 1
}

# Descriptor 7: a pipe that is full, and that nobody reads.
open_full_pipe() { # FILE
	mkfifo "$1"
	exec 7<>"$1"
	dd if=/dev/zero of="$1" oflag=nonblock bs=4096 count=1000 2>/dev/null || true
}

# Until a background job is no copy of bash any more: between fork and exec bash catches a signal and forgets it.
until_executed() { # PID
	local name=bash
	while [ "$name" = bash ]; do
		read -r name 2>/dev/null <"/proc/$1/comm" || name=gone
	done
}

# Waits for a background job for 10 seconds. Its exit code is in $status, and is this one.
await() { # PID [CODE]
	until_true is_gone "$1" || kill -s KILL "$1"
	status=0
	wait "$1" || status=$?
	[ $# -eq 1 ] || exits "$2"
}

is_gone() { # PID, which may be a zombie
	! grep -q '^State:	[^Z]' "/proc/$1/status" 2>/dev/null
}

# Built with AddressSanitizer, which keeps copies and cannot do without /proc.
has_asan() {
	ldd "$REDLOCK_BIN" 2>/dev/null | grep -q libasan
}

# Expressions over the JSON object `j` in $output must be true; python also checks that it is JSON.
json_is() { # EXPRESSION...
	/usr/bin/python3 -c 'import json, sys
j = json.loads(sys.argv[1])
for expression in sys.argv[2:]:
    if not eval(expression):
        sys.exit("not true: %s\n%s" % (expression, sys.argv[1]))' "$output" "$@"
}

# The exit code of the last `run`, with what it printed when it is another one.
exits() { # CODE
	if [ "$status" -ne "$1" ]; then
		echo "exit code $status, not $1"
		echo "stdout: $output"
		echo "stderr: ${stderr-}"
		return 1
	fi
}

# Runs a command that ends with this code: $output, $stderr.
want() { # CODE COMMAND...
	run --separate-stderr "${@:2}"
	exits "$1"
}

says() { # TEXT..., parts of stderr
	local text
	for text; do
		[[ $stderr == *"$text"* ]] || { echo "not said: $text" && echo "stderr: $stderr" && return 1; }
	done
}
