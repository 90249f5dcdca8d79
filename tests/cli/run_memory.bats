#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A job leaves this after its end: the metrics of a run, the marker on the servers, and runs that it prevents.
load run_helper

# ---- --metrics-textfile ----

metric() { # NAME: its value for this test's job
	sed -n "s/^redlock_job_last_$1{job=\"$job\",host=\"$(uname -n)\"} //p" job.prom
}

between() { # LEAST VALUE MOST
	/usr/bin/python3 -c 'import sys; least, value, most = map(float, sys.argv[1:]); sys.exit(not least <= value <= most)' "$@"
}

@test "--metrics-textfile: times, exit code and loss of the last run, in one step and readable by all" {
	begin=$EPOCHREALTIME
	(umask 077 && gives 3 rl_run --metrics-textfile job.prom "$job" -c 'sleep 0.3; exit 3')
	end=$EPOCHREALTIME
	cat job.prom
	between "$begin" "$(metric start_timestamp_seconds)" "$end"
	between "$(metric start_timestamp_seconds)" "$(metric end_timestamp_seconds)" "$end"
	between 0.3 "$(metric duration_seconds)" 60
	between 0 "$(metric wait_seconds)" 60
	[ "$(metric exit_code)" = 3.000 ]
	[ "$(metric lost)" = 0.000 ]
	[ -z "$(metric busy_timestamp_seconds)$(metric failure_timestamp_seconds)" ]
	[ "$(stat -c %a job.prom)" = 644 ]
	[ "$(ls)" = "$(printf 'job.prom\nstderr\nstdout')" ]
}

@test "--metrics-textfile: a lost lock, a busy one and too few nodes leave the other series as they are" {
	start_run -t 2s --node-timeout 400ms --metrics-textfile job.prom "$job" -- sleep 30
	until_true has_keys 5 "$all" "$job"
	busy
	ends_lost
	free
	[ "$(metric exit_code) $(metric lost)" = "79.000 1.000" ]
	start=$(metric start_timestamp_seconds)
	busy
	gives 0 rl_run -n -E 0 --metrics-textfile job.prom "$job" -- true
	between "$start" "$(metric busy_timestamp_seconds)" "$EPOCHREALTIME"
	gives 78 env REDLOCK_URLS=bad://x "$REDLOCK_BIN" run --metrics-textfile job.prom "$job" -- true
	between "$(metric busy_timestamp_seconds)" "$(metric failure_timestamp_seconds)" "$EPOCHREALTIME"
	[ "$(metric start_timestamp_seconds) $(metric exit_code)" = "$start 79.000" ]
	free
}

ends_lost() {
	await "$run_pid" 79
	until_true nobody_left
}

@test "--metrics-textfile: promtool finds nothing to say, of no name" {
	command -v promtool || skip "promtool is missing: apt-get install prometheus"
	for name in "$job" $'a "quoted"\n\e[31mname\xff\\' '<b>'; do
		rm -f job.prom
		gives 0 rl_run --metrics-textfile job.prom "$name" -- true
		promtool check metrics <job.prom >found 2>&1 || { cat found job.prom; return 1; }
		[ ! -s found ]
		[ "$(wc -l <job.prom)" = 18 ]
	done
}

@test "--metrics-textfile: a path that cannot be written is one line, and does not change how the job ends" {
	mkdir dir
	mkfifo fifo
	for path in none/job.prom dir fifo /dev/null "$(printf '%05000d' 0)"; do
		gives 3 rl_run --metrics-textfile "$path" "$job" -c 'exit 3'
		[ "$(wc -l <<<"$stderr")" = 1 ]
		says "the metrics of this run are not written"
	done
	[ -c /dev/null ]
	[ -p fifo ]
	gives 64 rl_run --metrics-textfile '' "$job" -- touch ran
	[ ! -e ran ]
}

# ---- --once-per, --remember and last ----

once() { # PERIOD OPTION... -- COMMAND...
	local period=$1
	shift
	rl_run --once-per "$period" "${@:1:$#-2}" "$job" "${@: -2}"
}

runs() { # COUNT: so many runs have written a line to `ran`
	[ "$(wc -l 2>/dev/null <ran || echo 0)" -eq "$1" ]
}

marker_nodes() { # COUNT: so many nodes have the marker
	has_keys "$1" "$all" "{$job}:redlock:last"
}

note='echo >>ran'

@test "--once-per: a second run within the period is skipped, quietly and with 0; after the period it runs" {
	gives 0 once 3s -c "$note"
	marker_nodes 5
	gives 0 once 3s -c "$note"
	[ -z "$stderr$output" ]
	runs 1
	gives 0 once 3s -v --report-fd 7 -c "$note" 7>report
	says "not run again within 3.0 s: the last run began "
	output=$(<report)
	json_is 'j["skipped"] and not j["acquired"] and j["exit_code"] == 0 and j["token"] is None'
	until_true has_keys 0 "$all" "$job"
	sleep 3
	gives 0 once 3s -c "$note"
	runs 2
	gives 64 rl_run --retry-failed "$job" -c "$note"
	for option in --shared '--slots 2' --reentrant; do
		# shellcheck disable=SC2086 # two words
		gives 64 rl_run --once-per 1h $option "$job" -c "$note"
		says "exclude each other"
	done
	runs 2
}

@test "--once-per: of ten runs that wait for each other one runs; a metric counts the skips" {
	for _ in {1..10}; do
		rl_run --once-per 1h -w 60s "$job" -c "$note; sleep 0.3" &
	done
	wait
	gives 0 once 1h --metrics-textfile job.prom -c "$note"
	runs 1
	[ -n "$(metric skip_timestamp_seconds)" ]
}

@test "--once-per: hosts whose clocks are a day apart agree about the period" {
	python3 -c 'import sys; open(sys.argv[1], "wb").write((-86400 * 10**9).to_bytes(8, "little", signed=True))' off
	LD_PRELOAD=$REDLOCK_CLOCK FAULTS_CLOCK=$place/off ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		gives 0 once 1h -c "$note"
	want 0 rl last --json "$job"
	json_is "j['start_ms'] < ${EPOCHREALTIME/[.,]*/}000 - 80000000 and j['age_ms'] < 60000"
	gives 0 once 1h -c "$note"
	runs 1
}

@test "--once-per: a job that fails counts, unless --retry-failed; one that could not be started never does" {
	gives 127 once 1h -- none-such
	gives 1 rl last "$job"
	[ "$output" = "no run is known: only \`redlock run\` with --remember or --once-per leaves a marker of its run" ]
	gives 3 once 1h -c "$note; exit 3"
	gives 0 once 1h -c "$note"
	runs 1
	gives 1 rl last --succeeded "$job"
	gives 127 once 1h --retry-failed -- none-such
	want 0 rl last "$job"
	[[ $output == *", exit code 3 after "* ]]
	gives 0 once 1h --retry-failed -c "$note"
	gives 0 once 1h --retry-failed -c "$note"
	runs 2
	gives 0 rl last --succeeded "$job"
}

@test "--once-per: a run whose redlock is killed counts, as nobody knows how far it came" {
	start_run --once-per 1h "$job" -c "$note; sleep 30"
	until_true runs 1
	kill -s KILL "$run_pid"
	await "$run_pid" 137
	until_true nobody_left
	gives 0 once 1h --retry-failed -c "$note"
	runs 1
	want 0 rl last "$job"
	[[ $output == *", its end is not known" ]]
	free
}

@test "--once-per: nodes that were wiped are given the marker by the next run; all nodes wiped: it runs again" {
	gives 0 once 1h -c "$note"
	for nodes in '1 2' '3 4' '5'; do
		on_nodes "$nodes" flushall
		gives 0 once 1h -c "$note"
		until_true marker_nodes 5
	done
	runs 1
	on_nodes "$all" flushall
	gives 0 once 1h -c "$note"
	runs 2
}

@test "--once-per: two nodes that hang, or whose clocks were set, change nothing" {
	gives 0 once 1h -c "$note"
	kill_nodes STOP 1 2
	gives 0 once 1h -c "$note"
	kill_nodes CONT 1 2
	on_nodes '1' pexpire "{$job}:redlock:last" 1000
	on_nodes '2' pexpire "{$job}:redlock:last" 99999999999
	gives 0 once 1h -c "$note"
	runs 1
	want 0 rl last --within 1h "$job"
	sleep 1.1
	kill_nodes STOP 1 2
	gives 0 rl_run --once-per 1s "$job" -c "$note"
	kill_nodes CONT 1 2
	runs 2
}

@test "--once-per without the right to the marker runs nothing, and says why; --remember runs" {
	on_nodes "$all" acl setuser default resetkeys "~$job"
	gives 76 once 1h -c "$note"
	says "not started: too few nodes told or took the marker {$job}:redlock:last: node " "NOPERM" \
		"hint: give the user the rights of"
	on_nodes "$all" acl setuser default '~*' -pttl # GET is permitted, and says nothing of an age
	gives 76 once 1h -c "$note"
	on_nodes "$all" acl setuser default +pttl resetkeys "~$job"
	gives 0 rl_run --remember 1h "$job" -c "$note"
	says "too few nodes took the marker {$job}:redlock:last"
	gives 76 rl last "$job"
	says "too few nodes told the marker {$job}:redlock:last: 0 of 3 needed" "hint: give the user the rights of" \
		"; node 1 unix://" "; node 2 unix://" "; node 3 unix://" "; node 4 unix://" "; node 5 unix://"
	on_nodes "$all" acl setuser default '~*'
	runs 1
	until_true has_keys 0 "$all" "$job"
	marker_nodes 0
}

@test "last: --within, --json and exit codes; it needs a quorum" {
	want 1 rl last --json "$job"
	json_is 'j["known"] is False and j["host"] is None and j["exit_code"] == 1'
	gives 4 rl_run --remember 1h --owner night "$job" -c 'sleep 0.2; exit 4'
	want 0 rl last --json --within 1h "$job"
	json_is 'j["known"] and j["owner"] == "night" and j["command_exit_code"] == 4 and 200 <= j["took_ms"] <= j["age_ms"]' \
		'j["answered"] == 5 and j["quorum"] == 3'
	want 1 rl last --within 100ms "$job"
	[[ $output == "began "*" s ago on "*" (night), exit code 4 after "*" s" ]]
	want 0 rl last -q "$job"
	[ -z "$output$stderr" ]
	kill_nodes STOP 1 2 3
	gives 69 "$REDLOCK_BIN" last --node-timeout 200ms "$job"
	kill_nodes CONT 1 2 3
	says "too few nodes told the marker {$job}:redlock:last: 2 of 3 needed" "hint: check the nodes that hang"
	gives 77 rl last --password-file <(echo wrong) --user nobody "$job"
	says "WRONGPASS" "hint: check user and password"
}

@test "last: markers that a hostile server or another program wrote do no harm" {
	key="{$job}:redlock:last" rest='start_ms=1 took_ms=1 exit=0'
	on_node 1 set "$key" "last/1 run=99 keep_ms=90000000 $rest host="$'\e[31m label=a\nb' px 3600000
	on_node 2 set "$key" "last/1 run=999999999999999999999 keep_ms=1 $rest host=a label=b" px 3600000
	on_node 3 set "$key" "last/1 run=100 keep_ms=1 $rest host=$(printf '%0999d' 0) label=b" px 3600000
	on_node 4 set "$key" "last/1 run=101 keep_ms=1 $rest host=without label=expiry"
	on_node 5 lpush "$key" a
	want 0 rl last "$job"
	[[ $output == 'began 1 d 0 h ago on \x1b[31m (a\x0ab), exit code 0 after 0.0 s' ]] || { echo "$output" && false; }
	want 0 rl last --json "$job"
	json_is 'j["host"] == "\x1b[31m" and j["run"] == 99'
	gives 0 once 1h -c "$note"
	runs 1
	want 0 rl last "$job"
	[[ $output == *" on $(uname -n) "* ]]
}

@test "--once-per on a guarded set: a node in quarantine keeps the marker" {
	want 0 rl init --max-ttl 30s --fresh
	gives 0 once 1h -c "$note"
	on_nodes '1 2' flushall
	gives 0 once 1h -c "$note"
	runs 1
	until_true marker_nodes 5
}

@test "examples/crontab: no run is told from nodes that do not answer" {
	local line wanted
	line=$(sed -nE 's/^([0-9*]+ +){5}(redlock last .*)/\2/p' "$BATS_TEST_DIRNAME/../../examples/crontab")
	mkdir -p "$sandbox/stub"
	for wanted in "0:" "1:no backup in 26 hours" "69:not known whether the backup ran"; do
		printf '#!/bin/sh\nexit %s\n' "${wanted%%:*}" >"$sandbox/stub/redlock"
		chmod +x "$sandbox/stub/redlock"
		[ "$(PATH=$sandbox/stub:$PATH sh -c "$line")" = "${wanted#*:}" ]
	done
}
