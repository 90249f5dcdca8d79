# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # helper.bash and bats share variables
# Node sets that init makes, and locks that are held while it changes them.

setup() {
	start_cluster 5
	jobs=() contenders=()
}

teardown() {
	kill -s CONT "${jobs[@]}" 2>/dev/null || true
	kill -s TERM "${jobs[@]}" 2>/dev/null || true
	kill_nodes CONT 1 2 3 4 5 2>/dev/null || true
	stop_cluster
}

# The URLs of nodes, as a list.
urls() { # N...
	local node list=
	for node; do list+=,$(node_url "$node"); done
	echo "${list#,}"
}

member() { # N
	echo "unix:$(node_dir "$1")/redis.sock/0"
}

record() { # N FIELD
	on_node "$1" hget redlock:set "$2"
}

# A run has begun to make a set of the node, or to add it, and has not ended.
is_noted() { # N
	[ -n "$(record "$1" founding)" ]
}

# init CODE "N..." [OPTION...]
init() {
	local nodes=$2
	# shellcheck disable=SC2086
	want "$1" rl init -r "$(urls $nodes)" "${@:3}"
}

made() { # "N...": a set of these nodes, in an instant
	init 0 "$1" --max-ttl 2s --fresh
}

# locked "N..." NAME [OPTION...] COMMAND...: run with the guard.
guarded() { # "N..." [OPTION...] NAME COMMAND...
	local nodes=$1
	# shellcheck disable=SC2086
	"$REDLOCK_BIN" run --guard=require -r "$(urls $nodes)" --node-timeout 400ms -t 2s "${@:2}"
}

# Holds a lock until its file is removed. With the TTL of 2 s it is renewed so often, and gets TERM so late, that a busy
# machine may keep it waiting for more than a second.
hold() { # "N..." NAME [OPTION...]
	local often=()
	(($# > 2)) || often=(--renew 200ms --node-timeout 900ms -k 100ms)
	touch "$sandbox/$2.run"
	# shellcheck disable=SC2016
	guarded "$1" "${often[@]}" "${@:3}" "$2" sh -c 'touch "$1.held"; while [ -e "$1.run" ]; do sleep 0.05; done' - "$sandbox/$2" 3>&- &
	jobs+=($!)
	until_true test -e "$sandbox/$2.held"
}

drop() { # NAME: the last one that holds, which must have held it all the time
	rm "$sandbox/$1.run"
	await "${jobs[-1]}" 0
}

unknown_everywhere() {
	guarded "1 2 3" -t 1s -n job true 2>>"$sandbox/unknown"
	[ "$(rl status -r "$(urls 1 2 3)" | grep -c 'admitted, fencing not known')" = 3 ]
}

unknown_at_two() {
	guarded "1 2 3" -t 1s -n job true 2>>"$sandbox/unknown"
	[ "$(rl status -r "$(urls 1 2 3)" | grep -c 'admitted, fencing')" = 3 ]
}

all_admitted() {
	guarded "1 2 3" -t 1s -n job true 2>>"$sandbox/unknown"
	[ "$(rl status -r "$(urls 1 2 3)" | grep -c 'admitted, fencing known')" = 3 ]
}

# Starts jobs of one name, by clients of each of these lists; each job must be the only one.
contend() { # "N..."... with $kinds of guards, $each times
	local i list kind
	for ((i = 0; i < ${each:-5}; i++)); do
		for list; do for kind in ${kinds:-require}; do
			# shellcheck disable=SC2016
			guarded "$list" --guard="$kind" -w 60s shared sh -c 'mkdir "$1" && sleep 0.05 && rmdir "$1" || touch "$1.twice"' \
				- "$sandbox/critical" 3>&- &
			contenders+=($!)
		done; done
	done
}

nobody_met() {
	local pid
	for pid in "${contenders[@]}"; do patience=60 await "$pid" 0; done
	contenders=()
	[ ! -e "$sandbox/critical.twice" ]
}

is_record() { # N FIELD VALUE
	[ "$(record "$1" "$2")" = "$3" ]
}

# A token that may not be handed over any more is there too, with an empty value.
is_offered() { # NAME
	local node
	for node in 1 2 3; do
		[ -z "$(on_node "$node" hvals "{$1}:redlock:offers")" ] || return 0
	done
	return 1
}
