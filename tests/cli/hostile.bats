#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Servers that answer with what controls a terminal: nothing of it reaches one, nor a log, nor systemd, nor JSON.
load helper

judge=("/usr/bin/python3" "$BATS_TEST_DIRNAME/hostile.py")

setup() {
	make_sandbox
	servers=()
	urls=()
	written=()
}

teardown() {
	end_processes "${servers[@]}"
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

# The output of a command, in text and in JSON, which is not empty, is kept in files that `judged` reads.
ask() { # VERB ARGUMENT...
	local verb=$1 kind out
	shift
	for kind in text json; do
		local options=(-v --trace)
		[ "$kind" = text ] || options=(--json)
		[ "$verb $kind" != "run json" ] || options=(--report-fd 4)
		out=$sandbox/out-${#written[@]}
		"$REDLOCK_BIN" "$verb" --node-timeout 500ms "${options[@]}" "${urls[@]}" "$@" >"$out" 2>"$out.err" 4>"$out.report" || true
		[ -s "$out" ] || [ -s "$out.err" ]
		written+=("$kind" "$out" text "$out.err" json "$out.report")
	done
}

# All that was written since is clean. One Python for all: its start takes longer than a command.
judged() {
	"${judge[@]}" judge "${written[@]}"
	written=()
}

@test "whatever servers answer, to every command" {
	for mode in type value token hash error lost; do
		urls=()
		hostile "$mode"
		ask status job
		ask status
		ask ls
		ask ls --prefix $'\e'
		ask break --yes job
		ask break --yes --waiters job
		ask doctor
		ask doctor --prefix x
		ask acquire -w 400ms job
		ask extend job token
		ask release job token
		ask check job token
		ask run -w 600ms job -- true
		ask run -n -t 1s -k 50ms --node-timeout 100ms --renew 200ms job -- sleep 2
		ask bench --pairs 1
	done
	judged
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
		ask status
		ask status job
		ask acquire -n job
		ask config show
	done
	urls=(-r unix:///none)
	ask acquire -n --config $'/none\e[31m\u009b' job
	ask acquire -n --cacert $'/none\e[31m\u009b' -r rediss://127.0.0.1:1 job
	ask acquire -n --password-file $'/none\e[31m\u009b' job
	ask run -n --on-loss $'\e[31m\u009b' job -- true
	ask $'\e[31m\u009b'
	ask acquire --$'\e[31m\u009b'
	ask acquire -t $'\e[31m\u009b' job
	judged
}
