#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What is known of a job after its end: the metrics of a run, the marker on the servers, and runs that it prevents.
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
