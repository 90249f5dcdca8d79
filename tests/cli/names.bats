#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Names and values with any bytes that an argument can carry.
load helper

setup_file() { start_cluster 3; }

round_trip() { # NAME
	local token
	token=$(rl acquire -n -- "$1")
	until_true has_value 1 "$1" "$token"
	rl check -- "$1" "$token"
	rl extend -- "$1" "$token"
	rl status -- "$1" >/dev/null
	rl release -- "$1" "$token"
	until_true has_keys 0 1 "$1"
}

@test "blanks, UTF-8, quotes, control characters, bytes that are not UTF-8" {
	round_trip 'with  blanks and	tabs'
	round_trip 'Grüße, 世界 🔒'
	round_trip $'two\nlines'
	round_trip '"quoted" \back\slash'
	round_trip $'\xff\xfe\x80 not UTF-8'
	round_trip '*?[a-z]'
	round_trip '{tag}:a'
	round_trip '--help'
}

@test "--json is valid whatever the name and the token" {
	name=$'\xff\xfe "q" \\ \n \x01 世界'
	want 0 rl acquire --json --token $'t\xc3\x28"' "$name"
	json_is 'bytes.fromhex(j["name_hex"]) == b"\xff\xfe \"q\" \\ \n \x01 " + "世界".encode()'
	json_is 'j["name"] == "\ufffd\ufffd \"q\" \\ \n \x01 世界"' 'bytes.fromhex(j["token_hex"]) == b"t\xc3\x28\""'
	want 0 rl status --json "$name"
	json_is 'j["state"] == "held" and bytes.fromhex(j["token_hex"]) == b"t\xc3\x28\""'
	want 0 rl release --json "$name" $'t\xc3\x28"'
	run --separate-stderr rl acquire --json 'Grüße 世界'
	json_is 'j["name"] == "Grüße 世界" and "name_hex" not in j'
	on_nodes "1 2 3" flushall
}

@test "nothing that a name or a value holds controls the terminal" {
	on_nodes "1 2 3" set $'evil\x1b[31m' $'value\x1b]0;title\x07\xc2\x9b' px 60000
	want 0 rl status $'evil\x1b[31m'
	[[ $output == *'evil\x1b[31m: held by '* ]]
	[[ $output != *$'\x1b'* ]]
	[[ $output != *$'\xc2\x9b'* ]]
	want 75 rl acquire -n $'evil\x1b[31m'
	[[ $stderr != *$'\x1b'* ]]
}

@test "a name that is the key beside another lock is refused with a sentence, whichever command it is" {
	for name in '{a}:redlock:queue' '{a}:redlock:offers' '{a}:redlock:fence' '{a}:redlock:setnx' '{a}:redlock:last' '{a}:redlock:slots' \
		'{a}:redlock:slot:7' 'redlock:set'; do
		for verb in "acquire -n" status; do
			# shellcheck disable=SC2086 # a verb and its option
			want 64 rl $verb "$name"
			says "NAME is one of the keys that redlock keeps beside a lock's own"
			says ":redlock:queue, offers, fence, setnx, last, slots or slot:NUMBER, nor be redlock:set"
		done
		want 64 rl release "$name" token
		want 64 rl run "$name" true
	done
	want 64 rl acquire -n --prefix '{a}:redlock:' queue
	want 64 rl acquire -n --also '{a}:redlock:queue' b
	says "NAME is one of the keys"
	has_keys 0 "1 2 3" b
	round_trip 'redlock:queue'
	round_trip 'a:redlock:set'
}
