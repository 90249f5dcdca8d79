#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The rule that `redlock help acl` prints suffices for everything, and each right that it calls needed is.
load helper

setup() {
	start_cluster 3
	unset REDLOCK_URLS REDISCLI_AUTH REDLOCK_AUTH
	nodes=(--user redlock --prefix app:)
	for node in 1 2 3; do
		nodes+=(-r "$(node_url "$node")")
	done
	# A rule is some lines, each of which adds to the user; the first one resets it.
	mapfile -t rules < <("$REDLOCK_BIN" help acl | sed -n 's/^  ACL SETUSER redlock //p' | tr '\n' ' ' | sed 's/ *reset/\nreset/g' | sed 1d)
	rules=("${rules[@]/>PASSWORD/>pw}")
	rules=("${rules[@]//PREFIX/app:}")
	rule=${rules[0]} scriptless=${rules[1]}
	export REDLOCK_AUTH=pw
}

give() { # RULE [USER]
	local words
	read -ra words <<<"$1"
	on_nodes "1 2 3" acl setuser "${2-redlock}" "${words[@]}"
}

everything_works() {
	want 0 rl acquire "${nodes[@]}" job
	token=$output
	want 0 rl check "${nodes[@]}" job "$token"
	want 0 rl extend "${nodes[@]}" -t 50s job "$token"
	want 0 rl status "${nodes[@]}" job
	[[ $output == "job: held by"* ]]
	want 0 rl release "${nodes[@]}" job "$token"
	[ -z "$stderr" ]
	want 0 rl run "${nodes[@]}" -t 6s --renew 200ms job -- sleep 0.7
	echo "$stderr" # a busy machine may be told of a late node
	[[ $stderr != *NOPERM* && $stderr != *permit* && $stderr != *"ACL"* ]]
	want 0 rl status "${nodes[@]}"
	[[ $output != *unknown* ]]
	want 0 rl bench "${nodes[@]}" --pairs 100
	on_nodes "1 2 3" hset app:hash 8743c9c0-1111-2222-3333-444455556666:1 1
	want 0 rl status "${nodes[@]}" hash
	[[ $output == *Redisson* || $output == *"type hash"* ]] # its fields are read by script only
	want 0 rl acquire "${nodes[@]/.sock/.sock?db=1}" -n job
}

@test "a server that may not say who it is: status warns that it cannot be told from another name of it" {
	give "$rule"
	want 0 rl status "${nodes[@]}"
	[ -z "$stderr" ]
	on_node 2 acl setuser redlock -info
	want 0 rl status "${nodes[@]}"
	says "warning: 1 of the nodes do not say who they are (permit +info)"
	run --separate-stderr rl status -q "${nodes[@]}"
	[ -z "$stderr" ]
}

@test "a right that only a script needs is named by run, and the key that stays is warned of" {
	give "$rule"
	rl init -q "${nodes[@]}" --max-ttl 10s --fresh
	for right in set get; do
		give "${rule/ +$right / }"
		want 76 rl run "${nodes[@]}" -n "job-${right}0" -- true
		says "the user lacks the rights +$right: permit them on each node: ACL SETUSER redlock +$right"
	done
	# Two of the three must have been asked before the refusals end the attempt, which takes turns on a busy machine.
	for ((try = 0; try < 20; try++)); do
		[[ $stderr != *"may keep the key 'job-get$try' until its TTL ends and keep others out"* ]] || return 0
		want 76 rl run "${nodes[@]}" -n "job-get$((try + 1))" -- true
	done
	false
}

@test "a guarded set without +info: run, status and doctor name that right, and no quarantine" {
	give "$rule"
	rl init -q "${nodes[@]}" --max-ttl 10s --fresh
	on_nodes "1 2 3" acl setuser redlock -info
	want 76 rl run "${nodes[@]}" -n job -- true
	says "it does not report its run_id: permit +info" "hint: give the user the rights of \`redlock help acl\`"
	[[ $stderr != *"give the nodes"* ]]
	want 76 rl status "${nodes[@]}"
	[ "$(grep -c "guard: .* not seen whether it votes: the user lacks +info" <<<"$output")" = 3 ]
	[[ $output != *quarantine* ]]
	want 2 rl doctor "${nodes[@]}"
	[[ $output == *"permit +info"* && $output != *quarantine* ]] || { echo "$output" && return 1; }
}

@test "advice on rights names the user: that of the URLs, the default user, or none where the nodes have different ones" {
	advises() { # CODE TEXT URL...
		local code=$1 text=$2 urls=()
		for url in "${@:3}"; do urls+=(-r "$url"); done
		run --separate-stderr rl doctor --prefix app: "${urls[@]}"
		[[ $output == *"$text"* ]] || { echo "not advised: $text" && echo "$output" && return 1; }
	}
	give "${rule/ +get / }"
	give "${rule/ +get / }" other
	urls=("$(node_url 1)" "$(node_url 2)" "$(node_url 3)")
	advises 2 "ACL SETUSER redlock +get" "${urls[@]/'unix://'/'unix://redlock:pw@'}"
	advises 2 "ACL SETUSER USER +get" "${urls[0]/'unix://'/'unix://redlock:pw@'}" "${urls[@]:1}"
	advises 2 "ACL SETUSER USER +get" "${urls[@]/'unix://'/'unix://redl%6Fck:pw@'}"
	on_nodes "1 2 3" config set requirepass pw
	export REDISCLI_AUTH=pw
	on_nodes "1 2 3" acl setuser default -get
	advises 2 "ACL SETUSER default +get" "${urls[@]}"
	advises 2 "ACL SETUSER default +get" "${urls[@]/'unix://'/'unix://:pw@'}"
}

@test "the rule without a prefix" {
	rule=$(sed 's/ ~\(app:\|{app:\|redlock:\)[^ ]*//g; s/ >pw/ >pw ~*/; s/app://g' <<<"$rule")
	[[ $rule == "reset on >pw ~* &redlock:wake:* &__keyspace@*__:* +set "* ]]
	give "$rule"
	nodes=("${nodes[@]/app:/}")
	rl init -q "${nodes[@]}" --fresh
	want 0 rl run "${nodes[@]}" --guard=require -t 5s --fence job -- true
	[ -z "$stderr" ]
}

@test "everything works with just that rule" {
	give "$rule"
	everything_works
	want 0 rl run "${nodes[@]}" --also other several -- true
	[ -z "$stderr" ]
}

@test "everything works without scripts, with just that rule" {
	[[ $scriptless != *eval* ]]
	give "$scriptless"
	everything_works
}

@test "without scripts, beside a node that hangs: the others vote" {
	give "$scriptless"
	kill_nodes STOP 3
	want 0 rl acquire "${nodes[@]}" -n job
	token=$output
	want 0 rl extend "${nodes[@]}" -t 50s job "$token"
	want 0 rl release "${nodes[@]}" job "$token"
	kill_nodes CONT 3
}

@test "keys outside of the prefix are out of reach" {
	give "$rule"
	want 76 rl acquire --user redlock -r "$(node_url 1)" -n job
	says "help acl"
}

renews_quietly() { # USER
	rl run "${nodes[@]:2}" --user "$1" -n -t 3s --node-timeout 500ms --renew 200ms "$1" -- sleep 2.3 2>"$sandbox/err-$1" 3>&- &&
		[ ! -s "$sandbox/err-$1" ]
}

each_is_needed() { # RULE RIGHT...: users who have all but one, beside one another
	local right running=()
	give "$1"
	renews_quietly redlock
	for right in "${@:2}"; do
		give "${1/$right /}" "without$right"
		renews_quietly "without$right" &
		running+=("$!=$right")
	done
	for right in "${running[@]}"; do
		! wait "${right%%=*}" || { echo "not needed: ${right#*=}" && return 1; }
	done
}

@test "each right that is called needed is" {
	each_is_needed "$rule" +set +get +del +pttl +pexpire +eval
}

@test "each right that is called needed without scripts is" {
	each_is_needed "$scriptless" +set +watch +multi +exec +getrange +del +pttl +pexpire
}

# Each name is new: a release may reach the last node after its command has ended.
@test "the others are not" {
	local tries=0
	for right in +mget +time +publish +subscribe +unsubscribe '~{app:\*' '&redlock:wake:\*' '&__keyspace@\*__:app:\*' +evalsha '+client|id' '+client|kill' +info '+command|info' +select +type +strlen +getrange +hscan; do
		give "${rule/$right/}"
		rl run "${nodes[@]}" -n "job$((tries += 1))" -- true
	done
	give "${rule/'~{app:*' /}" # the keys of queues
	for options in --shared "--also b" "--compat setnx-safe"; do
		# shellcheck disable=SC2086 # two words
		want 0 rl run "${nodes[@]}" -n $options "job$((tries += 1))" -- true
	done
	for right in '+client|id' '+client|kill' ' +info' '+command|info' +select +type +strlen; do
		give "${scriptless/$right/}"
		rl run "${nodes[@]}" -n "job$((tries += 1))" -- true
	done
}

@test "without the rights of --shared alone, locks are looked at; without type as well, not" {
	[[ $("$REDLOCK_BIN" help acl | tr '\n' ' ') == *"zadd to zcount are for --shared. type and the last four are for"* ]]
	[[ $rule == *" +type +zadd "*" +zcount "* ]]
	give "${rule/ +zadd * +zcount / }"
	token=$(rl acquire "${nodes[@]}" job)
	want 0 rl check "${nodes[@]}" job "$token"
	want 0 rl status "${nodes[@]}" job
	[[ $output == "job: held by"* ]]
	give "${rule/ +type +zadd * +zcount / }"
	want 76 rl check "${nodes[@]}" job "$token"
	want 76 rl status "${nodes[@]}" job
	rl release "${nodes[@]}" job "$token"
}

# A number for several names, a shared lock, and one that is waited for.
guarded_works() {
	rl run "${nodes[@]}" --guard=require -n -t 5s --fence --also b job -- true || return
	rl run "${nodes[@]}" --guard=require -n -t 5s --shared job -- true || return
	on_nodes "1 2 3" set app:job somebody px 300
	rl run "${nodes[@]}" --guard=require -w 20s -t 5s job -- true
}

@test "the rights that guarded sets are said to need suffice, and each is needed" {
	text=$("$REDLOCK_BIN" help acl | tr '\n' ' ')
	[[ $text == *"need ~redlock:set, hmget, hget, hset, hdel, mget, time, info and eval;"* ]]
	give "$rule"
	rl init -q "${nodes[@]}" --fresh
	guarded_works
	for right in incrby evalsha; do
		give "${rule/ +$right / }"
		guarded_works
	done
	for right in hmget hget hset mget time info eval; do # hdel is for init
		give "${rule/ +$right / }"
		! guarded_works 2>"$sandbox/said" || { echo "not needed: $right" && return 1; }
		[ "$right" != mget ] || grep -q "the user may not run the command" "$sandbox/said"
		on_nodes "1 2 3" del app:job app:b
	done
}

not_started() { # RULE WORD...: what is said
	give "$1"
	want 76 rl run "${nodes[@]}" -n job -- touch "$sandbox/started"
	[ ! -e "$sandbox/started" ]
	says "not started: this user could take the lock, but not renew or release it"
	for word in "${@:2}"; do says "$word"; done
	[[ $stderr != *": yes"* ]]
	on_nodes "1 2 3" flushall
}

@test "a user who could neither renew nor release is found before the command starts" {
	not_started "${rule/+eval +evalsha/}" "NOPERM" "'multi' command" "permit +eval +evalsha or +watch +multi +exec +getrange" "redlock help acl"
	not_started "${scriptless/+watch/}" "'watch' command"
	# Also while somebody else has the lock: it is hopeless to wait.
	give "${rule/+eval +evalsha/}"
	on_nodes "1 2 3" set app:job somebody
	want 76 timeout 5 "$REDLOCK_BIN" run "${nodes[@]}" job -- true
	# A minority that refuses is no reason.
	on_nodes "1 2 3" flushall
	give "$rule"
	on_nodes 1 acl setuser redlock -eval -evalsha
	rl run "${nodes[@]}" -n job -- touch "$sandbox/started" 2>/dev/null
	[ -e "$sandbox/started" ]
	# The user in the URL.
	on_nodes 1 flushall
	give "${rule/+eval +evalsha/}"
	want 76 rl run -n --prefix app: -r "unix://redlock:pw@$(node_dir 1)/redis.sock" job -- true
	says "not started"
}

@test "a key that such a user has left: who is busy names the missing right" {
	give "reset on >pw ~* &* +set +get +ping"
	want 76 rl run "${nodes[@]}" -n left true
	want 75 rl acquire "${nodes[@]}" -n left
	says "which one is unknown: only 0 of 3 nodes answered: the user may not run the command: NOPERM " "permit +eval"
}

@test "that is asked by a token of its own, whatever tokens the lock has" {
	give "${rule/+eval +evalsha/}"
	want 76 rl run "${nodes[@]}" -n --compat setnx-safe job -- touch "$sandbox/started"
	[ ! -e "$sandbox/started" ]
	says "not started: this user could take the lock, but not renew or release it"
	on_nodes "1 2 3" flushall
	give "$rule"
	for options in "" "--compat setnx-safe" "--compat setnx" --shared "--slots 2" "--also b"; do
		# shellcheck disable=SC2086 # two words
		want 0 rl run "${nodes[@]}" -n $options job -- true
		[ -z "$stderr" ]
	done
}

@test "a user that may not ask whose a key is gets an answer all the same" {
	give "$rule"
	token=$(rl acquire "${nodes[@]}" -t 1h job)
	for right in +type +strlen +getrange +pttl; do
		give "${rule/$right/}"
		want 75 rl acquire "${nodes[@]}" -n job
		run rl run "${nodes[@]}" -n -E 0 job -- echo ran
		exits 0
		[ -z "$output" ]
	done
	give "$rule"
	rl release "${nodes[@]}" job "$token"
}

@test "the default user may have rules too: with a password, or where a node does not let INFO" {
	on_nodes "1 2 3" acl setuser admin on nopass '~*' '&*' +@all
	refused_last() { redis-cli -s "$(node_dir "$1")/redis.sock" --user admin --pass x acl log 2>/dev/null | grep -qx multi; }
	late_votes() { grep -m 3 "redlock: node [123] unix://" "$sandbox/late"; }
	all_told() { [ "$(late_votes | wc -l)" = 3 ]; }
	admin() { for node in 1 2 3; do redis-cli -s "$(node_dir "$node")/redis.sock" --user admin --pass x "$@" >/dev/null 2>&1; done; }
	nodes=(--prefix app: "${nodes[@]:4}")
	# With a password from the environment, then in the URLs; then without one.
	admin acl setuser default reset on '>pw' '~*' +@all -eval -evalsha -multi
	want 76 rl run "${nodes[@]}" -n job -- touch "$sandbox/started"
	says "not started: this user could take the lock, but not renew or release it"
	unset REDLOCK_AUTH
	admin flushall
	want 76 rl run "${nodes[@]/unix:\/\//unix://:pw@}" -n job -- touch "$sandbox/started"
	says "not started"
	admin flushall
	admin acl setuser default reset on nopass '~*' +set
	want 76 rl run "${nodes[@]}" -n job -- touch "$sandbox/started"
	says "not started" "permit +eval +evalsha or +watch +multi +exec +getrange"
	[ ! -e "$sandbox/started" ]
	# Rules that suffice.
	admin flushall
	admin acl setuser default reset on nopass '~*' +set +get +del +pttl +pexpire +eval +evalsha
	want 0 rl run "${nodes[@]}" -n job -- touch "$sandbox/started"
	[ -e "$sandbox/started" ]
	# A missing right that is not found before is reported with the reason: when the lock cannot be renewed, and at
	# the end. Newer servers have commands of their own.
	admin flushall
	admin acl setuser default reset on nopass '~*' +@all -eval -evalsha -multi
	want 79 rl run "${nodes[@]}" -n -t 6s --node-timeout 300ms job -- sleep 30
	says "node 1 unix://" ": the user may not run the command: NOPERM "
	says "permit +eval +evalsha or +watch +multi +exec +getrange"
	[[ $stderr == *"could not be renewed so far"*"permit +eval"*"so the command must stop"* ]]
	# The reason is in the last answers, also while the next try has none.
	admin flushall
	"$REDLOCK_BIN" run "${nodes[@]}" -n -t 6s --node-timeout 1900ms job sh -c 'touch "$1"; sleep 30' - "$sandbox/began" 3>&- 2>"$sandbox/late" &
	until_true test -e "$sandbox/began"
	admin acl log reset
	for node in 1 2 3; do
		until_true refused_last "$node"
	done
	kill_nodes STOP 1 2 3
	until_true grep -q "could not be renewed so far" "$sandbox/late"
	until_true all_told
	[ "$(late_votes | grep -c ": the user may not run the command: NOPERM ")" = 3 ]
	kill_nodes CONT 1 2 3
	wait
	admin flushall
	admin acl setuser default reset on nopass '~*' +@all -eval -evalsha -multi
	want 0 rl run "${nodes[@]}" -n job -- true
	if [ -n "$stderr" ]; then
		says "3 of 3 nodes may keep the key 'job' until its TTL ends and keep others out: node 1 unix://"
		says "(last error: NOPERM "
	else # a busy server may delete it a little later
		until_true has_keys 0 "1 2 3" app:job
	fi
	admin acl setuser default reset on nopass '~*' '&*' +@all
}

@test "a named user: a node that hangs at the end is neither waited for nor spoken of" {
	give "$rule"
	SECONDS=0
	run --separate-stderr rl run "${nodes[@]}" -n job -- sh -c "sleep 0.2; kill -s STOP $(node_pid 3)"
	kill_nodes CONT 3
	exits 0
	[ "$SECONDS" -lt 5 ]
	[ -z "$stderr" ]
	until_true has_keys 0 "1 2" app:job
}

@test "passwords from a file, the environment and the terminal; the wrong one is told" {
	give "$rule"
	echo pw >"$sandbox/password"
	REDLOCK_AUTH=wrong rl run "${nodes[@]}" --password-file "$sandbox/password" -n job true
	unset REDLOCK_AUTH
	REDISCLI_AUTH=pw rl run "${nodes[@]}" -n job true
	REDLOCK_AUTH=wrong want 77 rl run "${nodes[@]}" -n job true
	want 78 setsid "$REDLOCK_BIN" run "${nodes[@]}" --askpass -n job true
	says "there is no terminal"
	/usr/bin/python3 - "$REDLOCK_BIN" run --askpass "${nodes[@]}" -n job -- echo in <<-'END'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], sys.argv[1:])
		seen = b""
		while b"Password: " not in seen:
		    seen += os.read(fd, 100)
		os.write(fd, b"pw\n")
		try:
		    while data := os.read(fd, 1000):
		        seen += data
		except OSError:
		    pass
		code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		assert code == 0 and b"in" in seen and b"pw" not in seen, (code, seen)
	END
}
