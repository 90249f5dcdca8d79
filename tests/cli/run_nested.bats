#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redlock run under runs of the same and of other names: what REDLOCK_RUNS tells, and who is believed.
load run_helper

nested() { # OPTION... NAME -- COMMAND...: words for the command of a run
	printf '%s run --node-timeout 1s ' "$REDLOCK_BIN"
	printf '%q ' "$@"
}

@test "a run that could not stop this one does not count, whatever guard is above" {
	start_run "$job" -- sh -c 'env -0 | grep -z ^REDLOCK_ >given.new && mv given.new given; sleep 3'
	until_true test -s given
	# As a queue's worker under a lock of its own, whose job brings the variables of who has sent it.
	gives 75 rl_run other-"$job" -- bash -c 'mapfile -d "" sent <given; exec env "${sent[@]}" "$@"' bash \
		"$REDLOCK_BIN" run -n --reentrant "$job" touch ran
	[ ! -e ran ]
	says "run '$job': busy: held by"
	gives 75 rl_run other-"$job" -- bash -c 'mapfile -d "" sent <given; exec env "${sent[@]}" "$@"' bash \
		"$REDLOCK_BIN" run -w 1s "$job" touch ran
	says "run '$job': busy: held by" # it may wait: not for itself
	ends 0
}

@test "a root that may not stop processes of others is no guard of theirs" {
	[ "$(id -u)" = 0 ] || skip "needs to become another user"
	url=redis://127.0.0.1:$(node_port 1)
	inner=(setpriv --reuid 65534 --regid 65534 --clear-groups env -u XDG_RUNTIME_DIR -u XDG_CONFIG_HOME HOME=/
		"$REDLOCK_BIN" run -n --reentrant -r "$url" "$job" echo ran)
	gives 0 rl_run -r "$url" "$job" -- "${inner[@]}"
	[ "$output" = ran ]
	gives 75 setpriv --bounding-set=-kill "$REDLOCK_BIN" run -r "$url" "$job" -- "${inner[@]}"
	says "run '$job': busy: held by"
}

@test "another lock in between hides neither the run above nor that it would wait for itself" {
	gives 7 timeout 5 "$REDLOCK_BIN" run --also c "$job" -c "$(nested b -- sh -c "$(nested --reentrant "$job" -- sh -c 'exit 7')")"
	gives 0 timeout 5 "$REDLOCK_BIN" run --also c "$job" -c "$(nested b -- sh -c "$(nested --reentrant --also b --also c "$job" -- touch ran)")"
	[ -e ran ]
	gives 75 timeout 5 "$REDLOCK_BIN" run "$job" -- "$REDLOCK_BIN" run b -- "$REDLOCK_BIN" run "$job" -- touch hung
	says "'$job' is held by the command that this one runs under: it would wait for itself"
	gives 75 timeout 5 "$REDLOCK_BIN" run "$job" -- "$REDLOCK_BIN" run b -- "$REDLOCK_BIN" run --also "$job" c -- touch hung
	says "'$job' is held by the command that this one runs under: it would wait for itself"
	[ ! -e hung ]
	nothing_left
}

@test "the report of a wait for itself that is refused is that of a busy lock" {
	gives 75 timeout 5 "$REDLOCK_BIN" run q2 -- "$REDLOCK_BIN" run --also q1 --also q2 --report-fd 7 "$job" -- true 7>report
	says "'q2' is held by the command that this one runs under: it would wait for itself"
	[[ $stderr != *busy* ]]
	output=$(<report)
	json_is 'j["result"] == "BUSY" and j["busy_name"] == "q2" and j["holder"]["state"] == "held" and j["exit_code"] == 75'
	gives 75 timeout 5 "$REDLOCK_BIN" run "$job" -- "$REDLOCK_BIN" run --report-fd 7 "$job" -- true 7>report
	output=$(<report)
	json_is 'j["result"] == "BUSY" and j["holder"]["state"] == "held"'
}

@test "a lost lock further above is not entered" {
	cat >lose <<-END
		for node in $all; do redis-cli -s \$XDG_RUNTIME_DIR/redlock/cluster/node-\$node/redis.sock del $job; done >out
		$(nested --reentrant "$job" touch ran)
	END
	gives 79 rl_run --on-loss warn "$job" -c "$(nested b -- sh ./lose)"
	says "does not hold '$job' any more"
	[ ! -e ran ]
}

@test "refusals of the servers are reported, whether the run above has the lock or not" {
	on_nodes "$all" acl setuser full reset on '>pw' '~*' '&*' +@all
	# The password is not for commands.
	gives 77 env REDLOCK_AUTH=pw "$REDLOCK_BIN" run --user full "$job" -c "$(nested -v --user full --reentrant "$job" touch ran)"
	says "whether the run above this one holds '$job' is unknown" "node 1 unix:" "WRONGPASS" "hint: check user and password"
	on_nodes "$all" acl setuser few reset on '>pw' '~*' '&*' +@all -type -get -getrange -eval -evalsha
	echo pw >password
	chmod 600 password
	gives 76 rl_run "$job" -c "$(nested --user few --password-file "$PWD/password" --reentrant "$job" touch ran)"
	says "no quorum: 0 of 5 nodes voted" "NOPERM" "hint: give the user the rights of"
	on_nodes "$all" acl deluser full few
	[ ! -e ran ]
}

# The shell has become it: what it starts now is the asking process, no sleep(1).
is_redlock() { # PID
	[ "$(cat "/proc/$1/comm")" = redlock ]
}

@test "while it asks, TERM and HUP end it, USR1 and USR2 do not" {
	kill_nodes CONT 1 2 3
	for signal in TERM:143 HUP:129; do
		rm -f asks go
		start_run "$job" -- sh -c "echo \$\$ >asks; until [ -e go ]; do sleep 0.02; done
			exec '$REDLOCK_BIN' run --node-timeout 8s --kill-after 1s --reentrant '$job' touch ran"
		until_true test -s asks
		kill_nodes STOP 1 2 3
		touch go
		until_true is_redlock "$(cat asks)"
		until_true child_of "$(cat asks)"
		kill -s USR1 "$(cat asks)"
		kill -s USR2 "$(cat asks)"
		sleep 0.1
		started=$(now_ms)
		kill -s "${signal%:*}" "$(cat asks)"
		until_true is_gone "$(cat asks)"
		took=$(($(now_ms) - started))
		kill_nodes CONT 1 2 3
		ends "${signal#*:}"
		[ "$took" -lt 4000 ] || { echo "after $took ms" && return 1; }
	done
	[ ! -e ran ]
}

@test "a fencing token is that of the nearest run, if it has one" {
	gives 64 rl_run "$job" -c "$(nested --reentrant --fence "$job" touch ran)"
	says "the run above this one holds '$job' without --fence"
	gives 64 rl_run "$job" -c "$(nested b -- sh -c "$(nested --reentrant --fence "$job" touch ran)")"
	says "its fencing token is not known here"
	[ ! -e ran ]
}

@test "names are whole keys, and may have any character" {
	gives 0 rl_run --prefix p: "$job" -c "$(nested --reentrant "$job" -- sh -c 'redis-cli -s $XDG_RUNTIME_DIR/redlock/cluster/node-1/redis.sock exists $REDLOCK_NAME p:$REDLOCK_NAME')"
	[ "$output" = 2 ] # both
	gives 0 rl_run --prefix p: "$job" -c "token=\$REDLOCK_TOKEN; $(nested --reentrant p:"$job" -- sh -c 'echo $REDLOCK_NAME')"
	[ "$output" = "$job" ] # as above
	gives 0 rl_run --also $'x\n'"$job" b -c "$(nested -n --reentrant "$job" -- sh -c 'echo $REDLOCK_NAME')"
	[ "$output" = "$job" ] # of its own
	gives 0 rl_run --also $'x, %41|'"$job" b -c "$(nested -n --reentrant $'x, %41|'"$job" -- sh -c 'echo $REDLOCK_NAME')"
	[ "$output" = b ]
	nothing_left
}

@test "--compat setnx: entered by the same kind alone, and never waited for" {
	gives 0 rl_run --compat setnx "$job" -c "$(nested --compat setnx --reentrant "$job" true)"
	gives 64 rl_run --compat setnx "$job" -c "$(nested --reentrant "$job" true)"
	says "holds '$job' with --compat setnx; give it to both or to neither"
	gives 64 rl_run "$job" -c "$(nested --compat setnx --reentrant "$job" true)"
	says "holds '$job' without --compat setnx; give it to both or to neither"
	for inner in setnx off; do
		gives 75 timeout 5 "$REDLOCK_BIN" run --compat setnx "$job" -- "$REDLOCK_BIN" run --compat $inner "$job" -- touch hung
		says "'$job' is held by the command that this one runs under: it would wait for itself"
	done
	[ ! -e hung ]
	nothing_left
}

@test "--compat setnx-safe under a token that an old client may take for the past is refused" {
	gives 64 rl_run "$job" -c "$(nested --compat setnx-safe --reentrant "$job" touch ran)"
	says "the run above this one holds '$job' without --compat setnx-safe"
	[ ! -e ran ]
	for inner in setnx-safe off; do
		gives 0 rl_run --compat setnx-safe "$job" -c "$(nested --compat $inner --reentrant "$job" true)"
	done
}

@test "a slot is waited for under a run that has the first one, but not under runs that have all" {
	start_run --slots 2 "$job" -- sh -c "touch outer; until [ -e go ]; do sleep 0.02; done
		$(nested --slots 2 "$job" touch ran)"
	until_true test -e outer
	rl_run --slots 2 "$job" -- sh -c 'touch go; sleep 1.5'
	ends 0
	[ -e ran ]
	gives 75 timeout 5 "$REDLOCK_BIN" run --slots 2 "$job" -- "$REDLOCK_BIN" run --slots 2 "$job" -- "$REDLOCK_BIN" run --slots 2 "$job" -- touch hung
	says "'$job' is held by the command that this one runs under: it would wait for itself"
	# A name of which a run above has another slot than the first hides no other name.
	busy
	gives 75 timeout 5 "$REDLOCK_BIN" run --slots 2 "$job" -- "$REDLOCK_BIN" run b -- "$REDLOCK_BIN" run --also b "$job" -- touch hung
	says "'b' is held by the command that this one runs under: it would wait for itself"
	free
	[ ! -e hung ]
}

# Which nodes have the queue of the lock. A waiter that does not know all of them yet may move to another one.
queue_nodes() {
	for node in $all; do
		! has_keys 1 "$node" "{$job}:redlock:queue" || echo "$node"
	done
}

has_settled() {
	local before
	before=$(queue_nodes)
	sleep 1
	[ -n "$before" ] && [ "$before" = "$(queue_nodes)" ]
}

@test "a share is refused, not waited for, after a waiter that waits for it" {
	start_run --shared "$job" -- sh -c "until [ -e go ]; do sleep 0.02; done
		timeout 5 $(nested --shared "$job" touch hung)"
	until_true has_keys 5 "$all" "$job"
	rl_run -v "$job" touch wrote 2>writer &
	writer_pid=$!
	until_true grep -q "waiting for '$job'" writer
	until_true has_settled
	touch go
	ends 75
	await "$writer_pid" 0
	says "it would wait for itself"
	[ ! -e hung ]
}

@test "whatever stands in REDLOCK_RUNS, it is no lock" {
	long=$(printf '%070000d' 0)
	for list in '' ' ' ',' 'x' 'token,plain,0,1,0' "token,plain,0,1,0,$job" "token,plain,0,$$,0,$job" \
		"token,plain,0,99999999999999999999,0,$job" "token,odd,0,1,1,$job" "$long" "$long,plain,0,1,0,$job"; do
		gives 0 env REDLOCK_RUNS="$list" "$REDLOCK_BIN" run --reentrant "$job" -- sh -c 'echo $REDLOCK_NAME'
		[ "$output" = "$job" ]
	done
	# An ancestor's id with another birth is another process's that had it before.
	for edit in 's/x/x/' 's/^([^,]*,plain,0,[0-9]+,[0-9]+)/\10/' 's/^([^,]*,plain,0),[0-9]+/\1,1/' 's/^[^,]*/token/'; do
		gives 0 rl_run "$job" -c "REDLOCK_RUNS=\$(printf %s \"\$REDLOCK_RUNS\" | sed -E '$edit'); $(nested -n -q --reentrant "$job" true); echo \$?"
		echo "$output" >>codes
	done
	[ "$(tr '\n' ' ' <codes)" = "0 75 75 79 " ]
	# A malformed list is not continued either; its well-formed part is.
	gives 0 env REDLOCK_RUNS="t1,plain,0,1,5,a nonsense b,plain,0,1,5,b" "$REDLOCK_BIN" run "$job" -c 'echo "${REDLOCK_RUNS#* }"'
	[ "$output" = "t1,plain,0,1,5,a" ]
}

# The asking process has the nodes' sockets; its parent becomes the command.
asks() {
	asker=$(marked_pids | while read -r pid; do
		[ "$(cut -d' ' -f4 "/proc/$pid/stat")" != "$(cat inner 2>/dev/null)" ] || echo "$pid"
	done)
	[ -n "$asker" ]
}

@test "--reentrant: the process that asks the nodes is killed: 125, and why" {
	start_run -t 30s "$job" -c "echo \$\$ >inner; until [ -e go ]; do sleep 0.05; done; exec $(nested --node-timeout 9s --reentrant "$job" touch ran)"
	until_true test -s inner
	kill_nodes STOP 1 2 3
	touch go
	until_true is_redlock "$(<inner)"
	until_true asks
	kill -s KILL "$asker"
	kill_nodes CONT 1 2 3
	ends 125
	says "the process that asks them was killed"
	[ ! -e ran ]
}
