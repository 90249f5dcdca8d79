#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What redlock run tells: its report, the command's environment, messages for people and for service managers.
load run_helper

@test "busy without -w: it waits until the lock is free, and says for whom when it is asked to" {
	busy
	start_run -v "$job" -- touch ran
	hears "waiting for '$job', place 1 of 1, held by 'somebody' of another client for "
	[ ! -e ran ]
	free
	ends 0
	[ -e ran ]
	says "acquired '$job' after"
}

# Which node is the gate goes by the name and the servers' run_ids, so each of them lacks the key once.
@test "a node that lacks the holder's key: the waiter has a place all the same" {
	for node in 1 2 3; do
		token=$("$REDLOCK_BIN" acquire -n --node-timeout 1s -t 60s --owner somebody "$job")
		on_node "$node" del "$job"
		start_run -v --node-timeout 1s "$job" -- true
		hears "place 1 of 1, held by somebody for "
		"$REDLOCK_BIN" release --node-timeout 1s "$job" "$token"
		ends 0
	done
}

@test "-v: a line when holder or place change; the last ones are in the JSON" {
	token=$("$REDLOCK_BIN" acquire -n --node-timeout 5s -t 60s --owner somebody "$job")
	start_run -v --node-timeout 5s "$job" -c 'while [ ! -e end ]; do sleep 0.05; done'
	hears "place 1 of 1"
	"$REDLOCK_BIN" acquire -v --json --node-timeout 5s "$job" >second.json 2>second.err 3>&- &
	second=$!
	until_true grep -qF "waiting for '$job', place 2 of 2, held by somebody for " second.err
	"$REDLOCK_BIN" release --node-timeout 5s "$job" "$token" # to the first in line
	until_true grep -q "place 1 of 1, held by .*:$run_pid for .* s at least, its key expires in [123][0-9]\.[0-9] s" second.err
	sleep 1.2
	touch end
	await "$run_pid" 0
	await "$second" 0
	[ "$(grep -c "held by" second.err)" = 2 ]
	output=$(<second.json)
	json_is 'j["place"] == 1 and j["waiting"] == 1 and j["waited_ms"] > 1000 and j["result"] == "OK"'
	free
}

@test "a holder that was seen to extend its key is told as one that renews, another one is not" {
	on_nodes "$all" set "$job" "0123456789abcdef0123456789abcdef01234567|web-1:42" px 60000
	start_run -v -w 8s "$job" -- true
	hears "held by web-1:42 for "
	"$REDLOCK_BIN" acquire --node-timeout 1s -w 2s "$job" >/dev/null 2>second.err || [ "$?" = 75 ]
	grep -q "busy: held by web-1:42 on .* s at least, its key expires in " second.err
	on_nodes "$all" pexpire "$job" 120000
	await "$run_pid" 75
	[[ $(<err) =~ "busy: held by web-1:42 on "[^,]*", for "[0-9.]*" s at least and renewed, its key expires in 11" ]]
	free
}

@test "a wait for keys that are split names no holder, until one has a quorum" {
	local node
	for node in $all; do on_node "$node" set "$job" "$(printf '%040d' "$node")|web-$node:1" px 60000; done
	start_run -v "$job" -- true
	hears "waiting for '$job', place 1 of 1, split: "
	[[ $(<err) == *" different holders, none on a quorum ("* && $(<err) != *"held by"* ]] || { cat err && return 1; }
	on_nodes "$all" set "$job" "$(printf '%040d' 7)|web-7:1" px 60000
	hears "held by web-7:1"
	free
	ends 0
}

@test "no right to the queue: the nodes are asked once who has the lock, and the place is not known" {
	busy
	on_nodes "$all" acl setuser default -eval -evalsha
	start_run -v --report-fd 7 "$job" -- true 7>report
	hears "waiting for '$job', held by 'somebody' of another client"
	free
	ends 0
	on_nodes "$all" acl setuser default +eval +evalsha
	output=$(<report)
	json_is 'j["place"] is None and j["waiting"] is None and j["waited_ms"] >= 300'
}

@test "without -v and a terminal: one line after 5 s, and no other for a change within the minute; -q: none" {
	busy
	start_run "$job" -- true
	first=$run_pid
	"$REDLOCK_BIN" acquire -q -t 2s "$job" >/dev/null 2>quiet 3>&- & # either may be first, and nothing releases this one
	quiet=$!
	sleep 3
	[ ! -s err ]
	hears "waiting for '$job', place "
	for node in $all; do on_node "$node" set "$job" another px 60000; done
	sleep 2
	[ "$(grep -c "waiting for" err)" = 1 ]
	free
	await "$first" 0
	await "$quiet" 0
	[ ! -s quiet ]
	free
}

@test "as many nodes as may be lost are down from the start: told once, not again at the second renewal" {
	kill_nodes KILL 4 5
	start_run -t 6s --renew 300ms "$job" -- sleep 1.5
	await "$run_pid" 0
	stderr=$(<err)
	[ "$(wc -l <err)" = 1 ]
	says "degraded: 2 of 5 nodes have no vote, 3 votes are needed: one more failure ends it; nodes 4, 5: not reachable: "
	"$REDLOCK_BIN" cluster start -q
}

@test "nodes without a vote are told once while the command runs, with the reason; -q: not" {
	kill_nodes KILL 5
	start_run -t 3s "$job" -- sleep 4
	await "$run_pid" 0
	stderr=$(<err)
	[ "$(wc -l <err)" = 1 ]
	says "degraded: 1 of 5 nodes has no vote, 3 votes are needed; node 5 unix://" "not reachable: "
	start_run -q "$job" -- true
	await "$run_pid" 0
	[ ! -s err ]
	"$REDLOCK_BIN" cluster start -q
}

@test "-q: not a word, also when there is something to say" {
	start_run -q --max-hold 200ms "$job" -- sleep 30
	ends 124
	[ -z "$stderr" ]
	start_run -q "$job" -c "for n in $all; do redis-cli -s $(dirname "$(node_dir 1)")/node-\$n/redis.sock del $job; done >&2"
	ends 79
	[[ $stderr != *redlock* ]]
}

@test "a descriptor for the report that can only be read is refused" {
	gives 64 rl_run --report-fd 8 "$job" -- touch ran 8</dev/null
	says "Bad file descriptor; open it: --report-fd 3 3>FILE"
	[ ! -e ran ]
}

@test "--report-fd: one JSON object at the end, not the command's" {
	gives 6 rl_run --json --report-fd 7 "$job" -c 'echo to stdout; ls /proc/$$/fd; exit 6' 7>report
	[[ $output = "to stdout"* ]]
	[[ $output != *7* ]]
	output=$(<report)
	json_is 'j["verb"] == "run" and j["name"].startswith("job-") and j["result"] == "OK" and j["acquired"] is True'
	json_is 'j["exit_code"] == 6 and j["command_exit_code"] == 6 and j["command_signal"] is None'
	json_is 'len(j["token"]) >= 40 and j["ttl_ms"] == 30000 and j["held_ms"] >= 0 and j["waited_ms"] >= 0'
	json_is 'j["quorum"] == 3 and len(j["nodes"]) == 5'
	gives 137 rl_run --report-fd 7 "$job" -c 'kill -9 $$' 7>report
	output=$(<report)
	json_is 'j["exit_code"] == 137 and j["command_exit_code"] is None and j["command_signal"] == 9'
	gives 127 rl_run --report-fd 7 "$job" -- none-such 7>report
	output=$(<report)
	json_is 'j["exit_code"] == 127 and j["command_exit_code"] is None and j["acquired"] is True'
	busy
	gives 75 rl_run -n --report-fd 7 "$job" -- true 7>report
	output=$(<report)
	json_is 'j["exit_code"] == 75 and j["acquired"] is False and j["token"] is None and j["result"] == "BUSY"'
	json_is 'j["place"] is None and j["waiting"] is None and j["holder"]["held_for_ms"] is None'
	gives 75 rl_run -w 1s --report-fd 7 "$job" -- true 7>report
	output=$(<report)
	json_is 'j["place"] == 1 and j["waiting"] == 1 and j["waited_ms"] >= 900 and 100 < j["holder"]["held_for_ms"] <= j["waited_ms"] + 500'
	free
}

@test "a run inside a run of the same name says so, and does not wait for itself" {
	gives 33 rl_run "$job" -- "$REDLOCK_BIN" run -E 33 "$job" -- touch ran
	says "'$job' is held by the command that this one runs under: it would wait for itself"
	[ ! -e ran ]
	# Nor for one of several, by whichever of its names.
	gives 75 rl_run --also "$job-b" "$job" -- timeout 5 "$REDLOCK_BIN" run "$job-b" touch ran
	says "'$job-b' is held by the command that this one runs under: it would wait for itself"
	gives 75 rl_run --also "$job-b" "$job" -- timeout 5 "$REDLOCK_BIN" run --also "$job-c" "$job-b" touch ran
	[ ! -e ran ]
	# Another name is no problem.
	gives 0 rl_run "$job" -- "$REDLOCK_BIN" run "$job-inner" -- sh -c 'echo "$REDLOCK_NAME"'
	[ "$output" = "$job-inner" ]
	until_true has_keys 0 "$all" "$job"
}

@test "the token of a run works with the other verbs" {
	gives 0 rl_run -t 60s "$job" -c '"$REDLOCK_BIN" check "$REDLOCK_NAME" "$REDLOCK_TOKEN" && "$REDLOCK_BIN" status "$REDLOCK_NAME"'
	gives 0 rl_run --owner me@here "$job" -c 'echo "$REDLOCK_TOKEN"'
	[[ $output == *'|me@here' ]]
}

@test "sd_notify: READY=1 when the lock is held, not before, and a status line for each step" {
	listen() { # SOCKET LAST
		rm -f notes # of the one before, which listened too
		/usr/bin/python3 "$BATS_TEST_DIRNAME/notify_listener.py" "$1" "$2" >notes 3>&- &
		listener=$!
		patience=60 until_true grep -q listening notes
	}
	busy
	listen "$place/notify" READY=1
	NOTIFY_SOCKET=$place/notify start_run "$job" -- true
	until_true grep -q "STATUS=waiting for '$job', held by 'somebody' of another client" notes
	run ! grep -q READY=1 notes
	free
	await "$listener" 0
	grep -q "STATUS=holding '$job'" notes
	ends 0
	# An abstract address, as containers have it.
	listen "@$place/notify" STOPPING=1
	NOTIFY_SOCKET=@$place/notify start_run --max-hold 200ms "$job" -- sleep 30
	await "$listener" 0
	grep -q "READY=1" notes
	ends 124
	# Nobody listens: nothing happens.
	NOTIFY_SOCKET=$place/none start_run "$job" -- true
	ends 0
}

@test "-v: the wait and the votes are told; --trace shows every step" {
	busy
	gives 75 rl_run -v -n "$job" -- true
	says "node 5 unix:"
	free
	gives 0 rl_run -v "$job" -- true
	says "acquired '$job' after"
	gives 0 rl_run --trace "$job" -- true
	says "trace:"
}

@test "a report that nobody reads: a signal ends redlock, with the command's exit code" {
	open_full_pipe "$place/full"
	start_run --report-fd 7 "$job" -- touch "$place/ran"
	until_true test -e "$place/ran"
	until_true has_only_the_report
	kill -s TERM "$run_pid"
	exec 7>&-
	ends 0
	says "the report could not be written"
}

# The run's guard has gone, the lock is given back: only the report is left.
has_only_the_report() {
	! child_of "$run_pid" >"$place/children" && has_keys 0 "$all" "$job"
}
