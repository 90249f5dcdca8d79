#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# From one plain server to several, while hosts take turns at one job (docs/guarded-sets.md#from-one-server-to-five).
# The file system checks that no two hosts run it at a time; the kernel frees its lock when a process ends.
load helper
load init_helper

# A host: its file list.N has the nodes that it is configured with, using.N those of the run that goes on.
host() { # N
	local list code
	while [ ! -e "$sandbox/stop" ]; do
		list=$(<"$sandbox/list.$1")
		echo "$list" >"$sandbox/using.$1"
		code=0
		# shellcheck disable=SC2016 # for the job
		"$REDLOCK_BIN" run -r "$list" -t 2s --node-timeout 400ms -w 60s job flock -n "$sandbox/critical" sh -c \
			'echo "$1" >>"$2" && sleep 0.02' - "$list" "$sandbox/ran" 2>"$sandbox/said.$1" || code=$?
		echo "$code $(tail -n 1 "$sandbox/said.$1")" >>"$sandbox/codes"
		# Hosts that never pause hand the lock to one another, and may starve those with the other list: the page says so.
		sleep "0.$((RANDOM % 5 + 1))"
	done
	: >"$sandbox/using.$1"
}

start_hosts() { # COUNT "N..."
	local i
	hosts=$1
	: >"$sandbox/ran"
	for ((i = 1; i <= hosts; i++)); do
		# shellcheck disable=SC2086
		urls $2 >"$sandbox/list.$i"
		host "$i" 3>&- &
		jobs+=($!)
	done
	have_run 10 "$2"
}

# The hosts have run the job so often with this list.
have_run() { # COUNT "N..."
	local nodes=$2
	# shellcheck disable=SC2086
	patience=60 until_true test_count "$1" "$(urls $nodes)"
}

test_count() { # COUNT LIST
	[ "$(grep -cxF "$2" "$sandbox/ran")" -ge "$1" ]
}

is_using() { # LIST: all hosts
	local i
	for ((i = 1; i <= hosts; i++)); do
		[ "$(<"$sandbox/using.$i")" = "$1" ] || return 1
	done
}

# The new list reaches one host after the other, while the others go on with the former one.
roll_out() { # "N..."
	local i list nodes=$1
	# shellcheck disable=SC2086
	list=$(urls $nodes)
	for ((i = 1; i <= hosts; i++)); do
		echo "$list" >"$sandbox/list.$i.new" && mv "$sandbox/list.$i.new" "$sandbox/list.$i"
		have_run "$i" "$1"
	done
	patience=60 until_true is_using "$list"
}

# One server more, as the page says: --add, all hosts, --finish.
grow() { # "N..." NODE [OPTION...]
	init 0 "$1" --add "$(node_url "$2")" "${@:3}"
	roll_out "$1 $2"
	init 0 "$1 $2" --finish
	have_run 20 "$1 $2"
}

# No two at a time (flock would have ended with 1), and no host was refused. A run may lose its lock to a slow machine.
end_hosts() {
	touch "$sandbox/stop"
	patience=90 until_true is_using ""
	cut -d' ' -f1 "$sandbox/codes" | sort | uniq -c
	! grep -vE '^(0|79) ' "$sandbox/codes"
}

@test "two lists without a common server: the check sees two jobs at a time" {
	start_hosts 2 1
	urls 2 >"$sandbox/list.2"
	patience=60 until_true grep -q '^1 ' "$sandbox/codes"
	touch "$sandbox/stop"
	patience=90 until_true is_using ""
}

# A client that was connected before the server was guarded, and whose list the set has outgrown when it ends.
@test "a plain server becomes three, and a lock from before is held until its list is refused" {
	start_hosts 3 1
	hold 1 old --guard=auto
	init 0 1 --max-ttl 2s --fresh --add "$(node_url 2)"
	says "both lists" "--finish"
	want 75 guarded "1 2" -n old true
	roll_out "1 2"
	drop old
	init 0 "1 2" --finish
	grow "1 2" 3
	end_hosts
	kill_nodes KILL 1
	guarded "1 2 3" -w 20s job true
}

@test "long: a plain server becomes five with eight hosts at work" {
	local nodes=1 next
	start_hosts 8 1
	for next in 2 3 4 5; do
		hold "$nodes" "old-$next" --guard=auto
		init 0 "$nodes" --max-ttl 2s --add "$(node_url "$next")"
		want 75 guarded "$nodes $next" --guard=auto -n "old-$next" true
		roll_out "$nodes $next"
		drop "old-$next"
		init 0 "$nodes $next" --finish
		nodes+=" $next"
		have_run 100 "$nodes"
	done
	end_hosts
	kill_nodes KILL 1 2
	guarded "$nodes" -w 20s job true
}
