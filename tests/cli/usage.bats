#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What needs no server: help, versions, wrong command lines, wrong URLs.
load helper

setup() { make_sandbox; }

teardown() {
	rm -rf "$sandbox"
}

@test "help, with and without a command" {
	want 0 "$REDLOCK_BIN" --help
	for word in acquire extend release check status doctor init cluster bench REDLOCK_URLS 69 75 128; do
		[[ $output == *"$word"* ]]
	done
	[ -z "$stderr" ]
	want 0 "$REDLOCK_BIN" help acquire
	[[ $output == *"--conflict-exit-code CODE"* ]]
	help=$output
	want 0 "$REDLOCK_BIN" acquire --help
	[ "$output" = "$help" ]
	want 64 "$REDLOCK_BIN" help nosuch
}

@test "every command has a help text" {
	for verb in acquire extend release check status ls break doctor init cluster bench completion; do
		want 0 "$REDLOCK_BIN" "$verb" -h
		[[ $output == "usage: redlock $verb"* ]]
	done
}

@test "help troubleshooting has a next step for each result, vote and exit code; a word chooses rows" {
	want 0 "$REDLOCK_BIN" help troubleshooting
	page=$output
	results=$BATS_TEST_DIRNAME/../../include/redlock/results.h
	names=$(sed -nE 's/^\tX\(([A-Z_]+), -?[0-9]+, .*/\1/p' "$results" | grep -vxE 'PENDING|YES|NO')
	[ "$(wc -l <<<"$names")" -gt 40 ]
	for name in $names; do
		grep -A1 "^$name ([0-9]*): " <<<"$page" | tail -n 1 | grep -q '^    ' || { echo "$name" && false; }
	done
	want 0 "$REDLOCK_BIN" help troubleshooting "not reachable"
	[[ $output == *"DOWN (69): not reachable"*"start the nodes that are down"* && $output != *NOPERM* ]]
	want 0 "$REDLOCK_BIN" help troubleshooting AUTH
	[[ $output == *"AUTH (77): "* && $output != *authors* ]]
	want 0 "$REDLOCK_BIN" help troubleshooting TIMEOUT
	[[ $output == *"TIMEOUT (69): "* && $output != *ON_CHANGE* ]]
	want 0 "$REDLOCK_BIN" help troubleshooting reachab # no row has it whole
	want 1 "$REDLOCK_BIN" help troubleshooting no-such-word
	says "is about 'no-such-word'"
	want 69 "$REDLOCK_BIN" acquire --json -r redis://127.0.0.1:1 -n job
	json_is 'j["reason"] == "DOWN" and j["hint"].startswith("start the nodes")'
	want 64 "$REDLOCK_BIN" help nosuch
}

@test "each message is a row of the table: help has it with its next step, and a line that was printed finds it" {
	tools=$BATS_TEST_DIRNAME/../../tools/redlock
	find "$tools" -name '*.c' ! -name message.c -exec cat {} + | tr -s ' \t\n' ' ' >"$sandbox/code"
	calls=$(grep -oE '\b(complain|say|say_now|init_refuse)\( ?[^)]' "$sandbox/code" | wc -l)
	# Besides the two lines that pass on what init_refuse() was given.
	[ "$(grep -oE '\bMSG\(' "$sandbox/code" | wc -l)" = $((calls - 2)) ]
	sed -nE 's/^MESSAGE\(([A-Z_]+),.*/\1/p' "$tools/message_rows.h" | sort >"$sandbox/rows"
	[ "$(wc -l <"$sandbox/rows")" -gt 200 ]
	# message.c has a message of its own, about those that it dropped.
	grep -ohE '\bMSG\([A-Z_]+' "$sandbox/code" "$tools/message.c" | cut -c5- | sort -u | diff "$sandbox/rows" -
	# Words of `status` are no messages.
	"$REDLOCK_BIN" help troubleshooting | sed -E '/^status: the word/,/^doctor: /{/^[A-Z]+: /d}' | sed -nE 's/^([A-Z_]+): .*/\1/p' |
		sort -u | diff "$sandbox/rows" -
	want 0 "$REDLOCK_BIN" help troubleshooting "redlock: 'nightly' could not be renewed so far; the command gets TERM in 3.2 s"
	[[ $output == *"LATE: "*"mend the nodes"* ]]
	[ "$(grep -c '^[A-Z_]*: ' <<<"$output")" = 1 ]
}

@test "with --json each message is an object, also one about the options" {
	want 64 "$REDLOCK_BIN" acquire --json --bogus
	/usr/bin/python3 -c 'import json, sys; m = json.loads(sys.argv[1]); assert m["message"] == "OPTION_WORD" and "--bogus" in m["text"], m' "$stderr"
	want 69 "$REDLOCK_BIN" acquire --json -n -r redis://127.0.0.1:1 job
	/usr/bin/python3 -c 'import json, sys; a, b = map(json.loads, sys.argv[1].splitlines()); assert a["message"] == "NO_QUORUM" and a["next"] and b["message"] == "HINT"' "$stderr"
}

@test "no line of any help text is longer than 80 columns" {
	for verb in "" run acquire extend release check status ls break doctor init cluster bench config completion acl last elect troubleshooting; do
		# shellcheck disable=SC2086 # nothing, or a word
		"$REDLOCK_BIN" help $verb >"$sandbox/help"
		[ "$(wc -l <"$sandbox/help")" -gt 8 ]
		run ! grep -nE '^.{81}' "$sandbox/help"
	done
	"$(dirname "$REDLOCK_BIN")/rflock" --help >"$sandbox/help"
	run ! grep -nE '^.{81}' "$sandbox/help"
}

@test "a word that is nearly right is told" {
	for pair in aquire:acquire acquier:acquire relase:release stauts:status rnu:run chekc:check; do
		want 64 "$REDLOCK_BIN" "${pair%:*}" job
		says "did you mean \`${pair#*:}\`?"
	done
	run --separate-stderr "$REDLOCK_BIN" help aquire
	says "did you mean \`acquire\`?"
	for word in frobnicate x ""; do
		want 64 "$REDLOCK_BIN" "$word"
		[[ $stderr != *"did you mean"* ]]
	done
	want 64 "$REDLOCK_BIN" acquire --node-timeuot=1s job
	says "did you mean \`--node-timeout\`?"
	want 64 "$REDLOCK_BIN" run --ttl
	says "--ttl needs a value"
}

@test "the value of an option that takes none, or of an unknown one, is not repeated: it may be a password" {
	for option in --askpass --quiet; do
		want 64 "$REDLOCK_BIN" run "$option=S3cret" job true
		says "redlock run: $option takes no value; see"
		[[ $stderr != *S3cret* ]]
	done
	want 64 "$REDLOCK_BIN" run --passwort=S3cret job true
	says "--passwort is not an option of this command"
	[[ $stderr != *S3cret* ]]
	want 64 "$REDLOCK_BIN" run --quiet -Zq job true
	says "-Z is not an option of this command"
}

@test "nobody's name is said twice, and a directory is no configuration" {
	for options in "run --on-loss x a true" "acquire --nosuch a" "--nosuch" "config nosuch" "cluster nosuch"; do
		# shellcheck disable=SC2086 # words
		want 64 "$REDLOCK_BIN" $options
		[[ $stderr == "redlock"* && $stderr != "redlock: redlock"* ]]
	done
	want 78 "$REDLOCK_BIN" acquire --config "$sandbox" -r unix:///none job
	says "$sandbox: is a directory, not a configuration file"
}

@test "options that exclude each other: each pair is told, before any node is asked" {
	wrong() { # PAIRS, with commas between them, OPTION...
		local verb=run words=(job true) pair
		[[ " ${*:2}" != *" --token"* ]] || verb=acquire words=(job)
		want 64 "$REDLOCK_BIN" "$verb" -r unix:///none "${@:2}" "${words[@]}"
		IFS=, read -ra pairs <<<"$1"
		for pair in "${pairs[@]}"; do
			says "redlock $verb: ${pair/+/ and } exclude each other: "
		done
		[ "$(wc -l <<<"$stderr")" -eq "${#pairs[@]}" ]
	}
	wrong --shared+--fence --fence --shared
	wrong --shared+--fence,--shared+--slots,--slots+--fence --fence --slots 2 --shared
	wrong --slots+--also,--reentrant+--slots --reentrant --also b --slots 2
	wrong --shared+--also,--shared+--compat,--compat+--also --compat setnx-safe --also b --shared
	wrong "--compat+--fence,--slots+--fence,--slots+--compat,--compat setnx+--guard=require" --slots 2 --guard=require \
		--compat setnx --fence
	wrong "--slots+--token,--token+--also,--slots+--also" --token x --slots 2 --also b
	wrong "--fence+--token,--compat+--fence,--compat setnx-safe+--token,--compat setnx-safe+--owner" --fence --token x \
		--compat setnx-safe --owner me
	REDLOCK_GUARD=require want 64 "$REDLOCK_BIN" acquire -r unix:///none --compat setnx job
	says "--compat setnx does not work with a guard, which REDLOCK_GUARD asks for: give --guard=off"
}

@test "of a name that is given twice, and of a word that is not known, the message says which" {
	for command in "acquire job" "run job true" "check job token"; do
		for also in "a --also job" "job --also a" "b --also job --also b"; do
			# shellcheck disable=SC2086 # words
			want 64 "$REDLOCK_BIN" ${command%% *} -r unix:///none --also $also ${command#* }
			says "redlock: --also job: this name is given twice; give each name once"
		done
	done
	want 64 "$REDLOCK_BIN" acquire -r unix:///none --also "" job
	says "redlock: --also: the name is empty"
	want 64 "$REDLOCK_BIN" acquire --guard job
	says "redlock acquire: --guard job: give off, auto or require"
	want 64 "$REDLOCK_BIN" run --compat job true
	says "redlock run: --compat job: give off, setnx or setnx-safe"
}

@test "version" {
	want 0 "$REDLOCK_BIN" --version
	[[ $output =~ ^redlock\ [0-9]+\.[0-9]+\.[0-9]+ ]]
	version=$output
	want 0 "$REDLOCK_BIN" version
	[ "$output" = "$version" ]
	want 64 "$REDLOCK_BIN" version x
	says "too many arguments"
}

@test "wrong command lines are 64 and say so on stderr alone" {
	wrong() {
		want 64 "$REDLOCK_BIN" "$@"
		[ -z "$output" ]
		[ -n "$stderr" ]
	}
	wrong
	wrong nosuch
	wrong --nosuch
	wrong acquire
	wrong acquire a b
	wrong acquire --nosuch a
	says "--nosuch"
	wrong -C x status
	says "-C goes after the command: redlock COMMAND"
	wrong --cluster=x status
	says "--cluster goes after the command"
	wrong run -c 'echo hi' x
	says "-c goes after the name of the lock: redlock run NAME -c"
	for word in -u --server --servers --nodes --host --uri; do # as other commands have it
		wrong run "$word" redis://127.0.0.1 job true
		says "$word is not an option: -r URL names a node"
	done
	wrong acquire -Z a
	says "-Z"
	wrong acquire a -t
	says "needs a value"
	wrong extend a
	wrong release a
	wrong check a b c
	wrong status a b
	wrong cluster
	wrong cluster nosuch
	wrong cluster start --nodes 0
	wrong cluster start --nodes 32
	wrong bench --concurrency 0
	wrong acquire -E 256 a
	wrong acquire -E x a
	wrong acquire --quorum -1 a
}

@test "durations need a unit, and are checked" {
	wrong() { # WHAT TEXT
		want 64 "$REDLOCK_BIN" acquire -r local -t "$2" a
		says "$1"
	}
	wrong "add a unit" 30
	wrong "unknown unit" 30x
	wrong "--ttl '': not a duration" ""
	wrong "not a duration" -5s
	wrong "not a duration" s
	wrong "not a duration" 1.s
	wrong "not a duration" .5s
	wrong "not a duration" 1.0000000001s
	wrong "add a unit" 1.5
	wrong "unknown unit" 1.5.2s
	wrong "out of range" 9ms
	wrong "10ms to 30d" 31d
	wrong "out of range" 0
	wrong "not a duration" 99999999999999999999999s
	wrong "out of range" 18446744073709551615d
	for pair in 1.5s:1500ms 0.25m:15s 1.0005s:1001ms 1.5d:36h; do
		want 0 "$REDLOCK_BIN" config show -t "${pair%:*}"
		[[ $output == *"= ${pair#*:} "* ]]
	done
}

@test "no nodes: 78, and how to name them" {
	want 78 "$REDLOCK_BIN" acquire job
	says REDLOCK_URLS "redlock cluster start"
	want 78 "$REDLOCK_BIN" status -r local
	says "redlock cluster start"
}

@test "URLs that cannot be used are 78" {
	wrong() {
		want 78 "$REDLOCK_BIN" check -r "$1" job token
		[ -z "$output" ]
		[ -n "$stderr" ]
	}
	wrong http://127.0.0.1 # all of them: unit_url
	says "--url: http://127.0.0.1: the URL of node 1: the scheme must be"
	wrong localhost
	says "--url: localhost: the URL of node 1: the scheme is missing: redis://localhost"
	wrong redis://h,redis://u:hunter2@h:x
	says "--url: redis://u:*******@h:x: the URL of node 2: "
	for secret in 'redis://u:hunter2,x@h' ':hunter2@h' 'hunter2@h:1' 'redis://u:hunt,er2@h:x'; do
		wrong "$secret"
		[[ $stderr != *hunt* ]]
	done
	wrong redis://127.0.0.1:1,
	says "--url: an empty URL"
	wrong redis://127.0.0.1:1,,redis://127.0.0.1:2
	wrong local,redis://127.0.0.1:1
}

@test "a quorum below a majority, or above all nodes, is refused" {
	want 64 "$REDLOCK_BIN" check --quorum 1 -r unix:///a,unix:///b,unix:///c job token
	want 64 "$REDLOCK_BIN" check --quorum 4 -r unix:///a,unix:///b,unix:///c job token
}

@test "names, tokens, owners and TTLs out of range are 64" {
	wrong() {
		want 64 "$REDLOCK_BIN" "$@"
		[ -n "$stderr" ]
	}
	wrong acquire -r unix:///none ""
	says "NAME is empty"
	wrong acquire -r unix:///none "$(printf '%065537d' 1)"
	says "65536"
	wrong acquire -r unix:///none --prefix x "$(printf '%065536d' 1)"
	wrong check -r unix:///none job ""
	wrong check -r unix:///none job "$(printf '%0513d' 1)"
	says "512"
	wrong acquire -r unix:///none --owner "no blanks" job
	wrong acquire -r unix:///none --node-timeout 1s -t 1s job
	says "TTL is too short"
}

@test "an empty --sni or --config is a mistake, not the absence of one" {
	for option in sni config; do
		want 64 "$REDLOCK_BIN" status "--$option" '' -r redis://127.0.0.1:1
		says "--$option is empty"
	done
}
