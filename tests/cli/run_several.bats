#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock run with several names at once, and under a run that holds the names.
load run_helper

in_use() { # NAME
	rl run -n "$1" true
}

@test "--also: all or none, excluded by and excluding any holder of one of them" {
	gives 0 rl_run --also b-"$job" --also c "$job" -c 'echo $REDLOCK_NAME $REDLOCK_ALSO; for name in $REDLOCK_NAME $REDLOCK_ALSO; do
		$REDLOCK_BIN run -n "$name" true; echo $?; $REDLOCK_BIN check "$name" "$REDLOCK_TOKEN"; done'
	[ "$output" = "$job b-$job c"$'\n75\n75\n75' ]
	until_true has_keys 0 "$all" b-"$job"
	until_true has_keys 0 "$all" c
	token=$(rl acquire b-"$job")
	gives 75 rl_run -n -v --also c --also b-"$job" "$job" touch ran
	[ ! -e ran ]
	says "run 'b-$job': busy: held by"
	gives 75 rl_run -n --also b-"$job" --report-fd 7 "$job" true 7>report
	output=$(<report)
	json_is "j['busy_name'] == 'b-$job' and j['name'] == '$job' and j['also'] == [{'name': 'b-$job'}] and j['holder']['state'] == 'held'"
	rl release b-"$job" "$token"
	gives 0 rl_run -n --also c --also b-"$job" "$job" true
	[ -z "$stderr" ]
}

@test "--also waits for the holder of any of them, and names it" {
	start_run -t 6s --also b "$job" -c 'while [ ! -e end ]; do sleep 0.05; done'
	until_true has_keys 5 "$all" b
	(sleep 1; touch end) 3>&- &
	gives 0 rl_run -v --also b c true
	says "waiting for 'b', place 1 of 1, held by"
	gives 0 rl_run --also "$job" --also b c true
	nothing_left
}

@test "--also: keys of all names that may remain are counted" {
	on_nodes "$all" acl setuser u reset on '>pw' '~*' '&*' +@all -del
	gives 0 env REDLOCK_AUTH=pw "$REDLOCK_BIN" run --user u -t 2s --also b --also c "$job" true
	# A node that is slow may not have been asked when the command ends.
	[[ $stderr == *[345]" of 5 nodes may keep the key '$job' and 2 of --also until its TTL ends and keep others out"* ]]
}

@test "--also: what cannot be" {
	gives 64 rl_run --also "$job" "$job" true
	says "--also $job: this name is given twice"
	gives 64 rl_run --also "" "$job" true
	# shellcheck disable=SC2046 # words
	gives 64 rl_run $(printf -- '--also %s ' {1..64}) "$job" true
}

@test "--reentrant: the run above keeps the lock, and the command is run as it is" {
	export REDISCLI_AUTH=
	gives 7 rl_run --also b "$job" -c '$REDLOCK_BIN run --reentrant --also $REDLOCK_NAME b -- sh -c "echo \$REDLOCK_TOKEN; exit 7"
		code=$?; echo "$REDLOCK_TOKEN"; $REDLOCK_BIN check b "$REDLOCK_TOKEN" && exit $code'
	[ "${lines[0]}" = "${lines[1]}" ]
	[ -z "$stderr" ]
	# Another name is a lock of its own; without the option it would wait for itself.
	gives 75 rl_run "$job" -c '$REDLOCK_BIN run --reentrant other -- sh -c "$REDLOCK_BIN run -n other true" '
	gives 75 rl_run "$job" -c '$REDLOCK_BIN run -n "$REDLOCK_NAME" true'
	gives 127 rl_run "$job" -c '$REDLOCK_BIN run --reentrant "$REDLOCK_NAME" ./none'
}

@test "--reentrant: no lock above is no reason to fail, a lost one is" {
	gives 0 rl_run --reentrant "$job" -c 'test -n "$REDLOCK_TOKEN"'
	# Nor is a token that a run left behind: nobody above holds it.
	token=$(rl acquire "$job")
	gives 75 env REDLOCK_NAME="$job" REDLOCK_TOKEN="$token" "$REDLOCK_BIN" run -n --reentrant "$job" touch ran
	rl release "$job" "$token"
	on_nodes "$all" del "$job" || true
	gives 79 rl_run --on-loss warn "$job" -c "for node in $all; do redis-cli -s \$XDG_RUNTIME_DIR/redlock/cluster/node-\$node/redis.sock del $job; done >out
		\$REDLOCK_BIN run --reentrant $job touch ran"
	says "does not hold '$job' any more"
	[ ! -e ran ]
}

@test "--also: acquire has all with one token, the other verbs ask of each name" {
	token=$(rl acquire -t 1m --also b "$job")
	until_true has_value 1 b "$token"
	until_true has_value 1 "$job" "$token"
	gives 75 rl acquire -n --json --also b c
	json_is "j['busy_name'] == 'b' and j['also'] == [{'name': 'b'}] and j['holder']['state'] == 'held'"
	says "acquire 'b': busy: held by"
	gives 0 rl check --also b "$job" "$token"
	[ -z "$stderr" ]
	gives 0 rl extend "$job" "$token"
	says "extend '$job': the token is also that of 1 more name, not extended: give it with --also"
	gives 0 rl extend -t 1h --also b "$job" "$token"
	until_true lives_longer 3 b 3500000
	until_true lives_longer 3 "$job" 3500000
	rl release b "$token"
	gives 1 rl check --json --also b "$job" "$token"
	says "check 'b': not held by this token: nobody holds it"
	json_is "j['name'] == 'b' and j['result'] == 'GONE' and j['also'] == [{'name': 'b', 'result': 'GONE'}]"
	gives 1 rl release --also b "$job" "$token" # of each that is there
	until_true has_keys 0 "$all" "$job"
	gives 64 rl acquire --token x --also b "$job"
	says "--token and --also exclude each other"
	gives 64 rl check --shared --also b "$job" x
	nothing_left
}

@test "--also: who releases one name alone is told of the others, whose token it is" {
	token=$(rl acquire -t 1m --owner me --also b --also c "$job")
	[[ $token == *'|me+2' ]]
	gives 0 rl release --json --also c "$job" "$token"
	json_is "j['names_left'] == 1"
	says "release '$job': the token is also that of 1 more name, held until it is released or its TTL ends: give it with --also"
	gives 0 rl release b "$token"
	says "the token is also that of 2 more names, held until they are released or their TTL ends: give them with --also"
	token=$(rl acquire --owner= --also b "$job")
	[[ $token == ????????????????????????????????????????'|+1' ]]
	gives 0 rl release --also b "$job" "$token"
	[ -z "$stderr" ]
	nothing_left
}
