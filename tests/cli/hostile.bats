#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Servers that answer with what controls a terminal: nothing of it reaches one, nor a log, nor systemd, nor JSON.
load helper

judge=("/usr/bin/python3" "$BATS_TEST_DIRNAME/hostile.py")

setup() {
	make_sandbox
	servers=()
	urls=()
}

teardown() {
	kill "${servers[@]}" 2>/dev/null || true
	rm -rf "$sandbox"
}

hostile() { # MODE: three such servers
	local node
	for node in 1 2 3; do
		"${judge[@]}" serve "$sandbox/$1-$node" "$1" >"$sandbox/ready-$1-$node" 3>&- &
		servers+=($!)
		urls+=(-r "unix://$sandbox/$1-$node")
		until_true grep -q ready "$sandbox/ready-$1-$node"
	done
}

# The output of a command, and its messages to systemd, are clean, in text and in JSON; and they are not empty.
clean() { # VERB ARGUMENT...
	local verb=$1 kind
	shift
	for kind in text json; do
		local options=(-v --trace)
		[ "$kind" = text ] || options=(--json)
		[ "$verb $kind" != "run json" ] || options=(--report-fd 4)
		"$REDLOCK_BIN" "$verb" --node-timeout 500ms "${options[@]}" "${urls[@]}" "$@" >"$sandbox/out" 2>"$sandbox/err" 4>"$sandbox/report" || true
		"${judge[@]}" judge "$kind" "$sandbox/out" text "$sandbox/err" json "$sandbox/report"
		[ -s "$sandbox/out" ] || [ -s "$sandbox/err" ]
	done
}

@test "whatever servers answer, to every command" {
	for mode in type value token hash error lost; do
		urls=()
		hostile "$mode"
		clean status job
		clean status
		clean ls
		clean ls --prefix $'\e'
		clean break --yes job
		clean break --yes --waiters job
		clean doctor
		clean doctor --prefix x
		clean acquire -w 400ms job
		clean extend job token
		clean release job token
		clean check job token
		clean run -w 600ms job -- true
		clean run -n -t 1s -k 50ms --node-timeout 100ms --renew 200ms job -- sleep 2
		clean bench --pairs 1
	done
}

@test "status for systemd while a holder is waited for" {
	export NOTIFY_SOCKET=$sandbox/notify
	for mode in type value token hash; do
		/usr/bin/python3 "$BATS_TEST_DIRNAME/notify_listener.py" "$NOTIFY_SOCKET" waiting >"$sandbox/told" 3>&- &
		listener=$!
		until_true grep -q listening "$sandbox/told"
		urls=()
		hostile "$mode"
		"$REDLOCK_BIN" run -w 800ms --guard=off "${urls[@]}" job -- true 2>/dev/null || true
		await "$listener" 0
		"${judge[@]}" judge text "$sandbox/told"
		[ "$(wc -l <"$sandbox/told")" = 2 ]
		rm "$NOTIFY_SOCKET"
	done
}

@test "every character of Unicode that is not seen is escaped, and comes back from JSON" {
	while IFS= read -r name; do
		for kind in text json; do
			options=()
			[ "$kind" = text ] || options=(--json)
			"$REDLOCK_BIN" check "${options[@]}" -r unix:///none "$name" token >"$sandbox/out" 2>"$sandbox/err" || true
			"${judge[@]}" judge "$kind" "$sandbox/out" text "$sandbox/err"
		done
		output=$(<"$sandbox/out")
		NAME=$name json_is 'j["name"] == __import__("os").environ["NAME"]'
	done < <("${judge[@]}" all)
}

@test "addresses, file names and settings are the operator's, and escaped all the same" {
	for url in $'unix:///none\e[31m\u202e' 'unix:///none%1b%5b31m%e2%80%ae'; do
		urls=(-r "$url")
		clean status
		clean status job
		clean acquire -n job
		clean config show
	done
	urls=(-r unix:///none)
	clean acquire -n --config $'/none\e[31m\u009b' job
	clean acquire -n --cacert $'/none\e[31m\u009b' -r rediss://127.0.0.1:1 job
	clean acquire -n --password-file $'/none\e[31m\u009b' job
	clean run -n --on-loss $'\e[31m\u009b' job -- true
	clean $'\e[31m\u009b'
	clean acquire --$'\e[31m\u009b'
	clean acquire -t $'\e[31m\u009b' job
}
