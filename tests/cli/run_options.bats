#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Options and exit codes of redlock run.
load run_helper

now_and() { # COMMAND..., and how long it took: $took, milliseconds
	local begin
	begin=$(now_ms)
	"$@"
	took=$(($(now_ms) - begin))
}

@test "busy: -n and -w give 75, -E another code; the command is not started" {
	busy
	gives 75 rl_run -n "$job" -- touch ran
	says "'$job'"
	gives 75 rl_run -w 0 "$job" -- touch ran
	now_and capture rl_run -w 300ms "$job" -- touch ran
	exits 75
	[ "$took" -ge 300 ]
	gives 9 rl_run -n -E 9 "$job" -- touch ran
	gives 0 rl_run --nonblock --conflict-exit-code 0 -q "$job" -- touch ran
	[ -z "$stderr" ]
	[ ! -e ran ]
	free
}

@test "usage errors are 64, and nothing is run" {
	usage() { # WHAT, ARGUMENT...
		local what=$1
		shift
		gives 64 "$REDLOCK_BIN" run "$@"
		says "$what"
		[ ! -e ran ]
	}
	usage "an argument is missing"
	usage "an argument is missing" name
	usage "the command is missing" name --
	usage "options go in front of NAME" name -n touch ran
	usage "-c needs exactly one argument" name -c
	usage "-c needs exactly one argument" name -c 'touch ran' more
	usage "is not an option" --no-such name touch ran
	usage "--ttl 0: out of range" -t 0 name touch ran
	usage "add a unit" -t 30 name touch ran
	usage "unknown unit" -t 30x name touch ran
	usage "give kill, term or warn" --on-loss panic name touch ran
	usage "--json: stdout belongs to the command" --json name touch ran
	for fd in {3..12}; do # which redlock may have opened itself by then
		(eval "exec $fd>&-" && usage "--report-fd $fd: Bad file descriptor" --report-fd "$fd" name touch ran)
	done
	usage "--report-fd 2: out of range" --report-fd 2 name touch ran
	usage "out of range: 0 to 255" -E 256 name touch ran
	usage "--min-hold is longer than --max-hold" --min-hold 2s --max-hold 1s name touch ran
	usage "NAME is empty" '' touch ran
}

@test "times that cannot work are refused, with the sum" {
	refused() { # SUM OPTION...
		local sum=$1
		shift
		gives 64 "$REDLOCK_BIN" run "$@" "$job" -- touch ran
		says "these times cannot work: $sum" "give a longer --ttl, or a shorter --renew, --kill-after or --node-timeout"
		[ ! -e ran ]
	}
	refused "renew 10s + node timeout 200ms + kill-after 20s + drift 302ms = 30502ms, which must be less than the ttl 30s" \
		-k 20s
	refused "renew 28s + node timeout 200ms + kill-after 5s + drift 302ms = 33502ms, which must be less than the ttl 30s" \
		--renew 28s
	refused "renew 1s + node timeout 1500ms + kill-after 500ms + drift 32ms = 3032ms, which must be less than the ttl 3s" \
		-t 3s --node-timeout 1500ms
	printf 'url = local\nttl = 3s\nrenew = 2800ms\n' >times.conf
	for wanted in "run -n $job touch ran" "rflock -n L touch ran" "rflock -n 9"; do
		# shellcheck disable=SC2086 # words
		REDLOCK_CONFIG=$PWD/times.conf gives 78 "${REDLOCK_BIN%redlock}"${wanted/#run/redlock run} 9>L
		says "these times cannot work: renew 2800ms ($PWD/times.conf:3) + node timeout 200ms + kill-after 500ms + drift 32ms" \
			"less than the ttl 3s ($PWD/times.conf:2)"
		[ ! -e ran ]
	done
	REDLOCK_CONFIG=$PWD/times.conf gives 64 "$REDLOCK_BIN" run -n -t 2s "$job" touch ran # a part was typed
	says "renew 2800ms ($PWD/times.conf:3)" "less than the ttl 2s;"
	REDLOCK_NODE_TIMEOUT=40s gives 78 "$REDLOCK_BIN" acquire -n "$job"
	says "REDLOCK_NODE_TIMEOUT: the default lock options: node timeout + drift must be less than ttl"
	REDLOCK_NODE_TIMEOUT=20s REDLOCK_TTL=10s gives 78 "$REDLOCK_BIN" acquire -n "$job"
	says "the TTL of REDLOCK_TTL is too short: it must be longer than node timeout of REDLOCK_NODE_TIMEOUT and drift"
	refused "renew 1s + node timeout 200ms + kill-after 500ms + drift 1502ms = 3202ms, which must be less than the ttl 3s" \
		-t 3s --drift-ppm 500000
	# One millisecond less than what is refused works.
	refused "renew 2268ms + node timeout 200ms + kill-after 500ms + drift 32ms = 3s, which must be less than the ttl 3s" \
		-t 3s --renew 2268ms
	gives 0 "$REDLOCK_BIN" run -t 3s --renew 2267ms "$job" -- true
}

@test "--renew: so often, no less" {
	start_run -t 60s --renew 100ms "$job" -- sleep 30
	until_true has_keys 5 "$all" "$job"
	on_nodes "$all" pexpire "$job" 30000
	until_true lives_longer 1 "$job" 59000
	kill -s TERM "$run_pid"
	ends 143
	start_run -t 60s "$job" -- sleep 30
	until_true has_keys 5 "$all" "$job"
	on_nodes "$all" pexpire "$job" 30000
	sleep 0.5
	run ! lives_longer 1 "$job" 30000
	kill -s TERM "$run_pid"
	ends 143
}

@test "-k: the time from TERM to KILL" {
	# TERM is ignored from the beginning, by redlock and the command.
	now_and capture env "$mark" env --ignore-signal=TERM "$REDLOCK_BIN" run -k 900ms --max-hold 100ms "$job" -- sleep 30
	exits 124
	[ "$took" -ge 850 ]
}

@test "--max-hold: 124, whatever the command does about TERM; not when it is done before" {
	gives 124 rl_run --max-hold 100ms "$job" -c 'trap "exit 0" TERM; while :; do sleep 0.02; done'
	says "--max-hold is reached: the command gets TERM, and KILL in 5.0 s"
	gives 3 rl_run --max-hold 30s "$job" -c 'exit 3'
	[ -z "$stderr" ]
}

@test "--min-hold: the lock is kept when the command is done, renewed, for so long" {
	now_and capture rl_run --min-hold 1800ms -t 1500ms --node-timeout 400ms "$job" -c 'exit 5'
	exits 5
	[ "$took" -ge 1800 ]
	# A command that takes longer is not kept from ending.
	now_and capture rl_run --min-hold 1ms "$job" -- sleep 0.1
	exits 0
}

@test "refusals of the nodes: 69 76 77 78" {
	gives 69 rl_run -w 300ms -r unix:///tmp/none-1 -r unix:///tmp/none-2 "$job" -- touch ran
	says "no quorum: 0 of 2 nodes voted, 2 are needed"
	for node in $all; do
		on_node "$node" acl setuser reader on '>Nw4y' '~*' '+@read' '+ping' '+hello' >/dev/null
	done
	urls=$(for node in $all; do echo "unix://reader:Nw4y@$(node_dir "$node")/redis.sock"; done | paste -sd,)
	REDLOCK_URLS=$urls gives 76 rl_run -w 2s "$job" -- touch ran
	REDLOCK_URLS=${urls//Nw4y/wrong} gives 77 rl_run -w 2s "$job" -- touch ran
	REDLOCK_URLS="" gives 78 rl_run "$job" -- touch ran
	REDLOCK_URLS="$(node_url 1),$(node_url 1)" capture rl_run "$job" -- touch ran
	exits 78
	[ ! -e ran ]
}

@test "--quorum, --prefix and --help" {
	kill_nodes STOP 5
	capture rl_run --quorum 5 -w 300ms "$job" -- touch ran
	kill_nodes CONT 5
	exits 69
	[ ! -e ran ]
	gives 0 rl_run --prefix p: "$job" -- redis-cli -s "$(node_dir 1)/redis.sock" exists "p:$job"
	[ "$output" = 1 ]
	gives 0 "$REDLOCK_BIN" run --help
	for option in --ttl --renew --wait --nonblock --conflict-exit-code --min-hold --max-hold --owner --kill-after \
		--on-loss --foreground --report-fd --url --quiet --verbose --json; do
		[[ $output == *"$option"* ]]
	done
}
