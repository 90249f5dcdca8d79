#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Upkeep: after commands of all kinds, ended or killed, every key on the nodes ends by itself.
load helper

all='1 2 3'

setup_file() { start_cluster 3; }

setup() {
	on_nodes "$all" flushall
	jobs=()
	cd "$sandbox" || return
}

teardown() {
	kill -s KILL "${jobs[@]}" 2>/dev/null || true
	unset REDLOCK_USER REDLOCK_AUTH
	on_nodes "$all" flushall
}

begin() { # VERB OPTION...: in the background
	"$REDLOCK_BIN" "$1" --node-timeout 2s "${@:2}" >/dev/null 2>&1 3>&- &
	jobs+=($!)
}

has_key_like() { # PATTERN: some node has such a key
	local node
	for node in $all; do
		[ -z "$(on_node "$node" --scan --pattern "$1")" ] || return 0
	done
	return 1
}

# A command that has its quorum may end before the last node has heard of it: that node then has no key.
is_on_most() { # NAME
	local node count=0
	for node in $all; do
		[ "$(on_node "$node" exists "$1")" = 0 ] || count=$((count + 1))
	done
	[ "$count" -ge 2 ]
}

# The guard's record alone may stay for ever. At least so many keys are on two nodes, or the test looks at nothing.
all_end() { # LEAST
	local node count=0
	for node in $all; do
		on_node "$node" eval "local all, endless = redis.call('keys', '*'), {}
			for _, key in ipairs(all) do
				if key ~= 'redlock:set' and redis.call('pttl', key) == -1 then table.insert(endless, key) end
			end
			return {#all, table.concat(endless, ' ')}" 0 >keys
		count=$((count + $(head -n 1 keys)))
		[ -z "$(tail -n +2 keys)" ] || { echo "node $node, without expiry: $(<keys)" && return 1; }
	done
	[ "$count" -ge $((2 * $1)) ] || { echo "too few keys: $count" && return 1; }
}

kill_jobs() {
	kill -s KILL "${jobs[@]}"
	wait "${jobs[@]}" 2>/dev/null || true
	jobs=()
}

# With -v the command waits for the last node. If a waiter got the key of a node that the holder has not reached, it would
# need no place in the queue.
take() { # OPTION... NAME
	rl acquire -v --node-timeout 5s -w 60s -t 5m "$@"
}

# The kinds that need no scripts: locks that are held and waited for, by commands that then die.
hold_and_wait() {
	take two
	take one
	begin acquire -w 60s one
	begin run -t 5s --once-per 1h --metrics-textfile once.prom once -- sleep 60
	begin elect -t 5s --status-file leader.status --on-gain true leader
	until_true has_keys 3 "$all" leader
	begin elect -t 5s --status-file follower.status --on-gain true leader
	"$(dirname "$REDLOCK_BIN")/rflock" "$sandbox/file" -c 'sleep 60' >/dev/null 2>&1 3>&- &
	jobs+=($!)
	for name in '{once}:redlock:last' once; do
		until_true is_on_most "$name"
	done
	until_true has_key_like '*/file'
}

# The other kinds.
hold_and_wait_by_scripts() {
	take --shared shared
	take --also second first
	take --slots 2 pool
	take --slots 2 pool
	take --fence fenced
	begin acquire -w 60s --shared one
	begin acquire -w 60s --slots 2 pool
	begin acquire -w 60s --also third first
	begin acquire -w 60s --fence fenced
	begin run -t 5s --shared readers -- sleep 60
	begin run -t 5s --slots 2 workers -- sleep 60
	begin run -t 5s --also right left -- sleep 60
	for name in readers workers left right; do
		until_true is_on_most "$name"
	done
	for name in one pool leader fenced; do
		until_true has_key_like "{$name}:redlock:queue"
	done
}

end_some() {
	token=$(rl acquire -w 60s -t 5m short)
	rl extend -t 5m short "$token"
	rl release short "$token"
	rl run --remember 1h remembered true
	rl run --once-per 1h skipped true
	rl run --once-per 1h skipped true
	rl run --once-per 1h never none-such-command || [ $? = 127 ]
	want 0 rl break --yes two
}

# First: clients remember the guarded set of the other test.
@test "a plain set whose user may not run scripts: no key without an expiry" {
	on_nodes "$all" acl setuser few reset on nopass '~*' '&*' +@all -eval -evalsha
	export REDLOCK_USER=few REDLOCK_AUTH=any
	hold_and_wait
	all_end 6
	end_some
	all_end 6
	kill_jobs
	all_end 4
}

@test "a guarded set: no key without an expiry but the record, while commands work and after they were killed" {
	want 0 rl init --max-ttl 5m --fresh
	hold_and_wait
	hold_and_wait_by_scripts
	all_end 15
	end_some
	until_true rl break --yes --waiters pool
	want 0 rl break --yes fenced # a client takes it over
	all_end 15
	kill_jobs
	all_end 8
	on_nodes "$all" del redlock:set # SETNX is refused on a guarded set
	for options in "--compat setnx old" "--compat setnx-safe safe" "--token own own"; do
		# shellcheck disable=SC2086 # words
		rl acquire -w 60s -t 5m --guard=off $options
	done
	all_end 8
}
