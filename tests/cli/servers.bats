#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# docs/servers.md: the table has a row for each server that tests/servers knows, and the row of this server is true.
load helper

page=$BATS_TEST_DIRNAME/../../docs/servers.md

setup_file() {
	start_cluster 3
}

# version_of NODE: as the table writes it, "Valkey 9.1".
version_of() {
	on_node "$1" info server | tr -d '\r' | sed -nE 's/^(redis|valkey)_version:([0-9]+\.[0-9]+)\..*/\u\1 \2/p' | tail -n 1
}

# cell NODE COLUMN: of the row of the server of this node.
cell() {
	awk -F ' *[|] *' -v name="$(version_of "$1")" -v column="$2" '$2 == name { print $(column + 1); found = 1 } END { exit !found }' "$page"
}

# without_scripts NODE: the URL of a user of this node who may run no scripts.
without_scripts() {
	on_node "$1" acl setuser plain on '>secret' '~*' '&*' +@all -@scripting >"$sandbox/acl"
	echo "unix://plain:secret@$(node_dir "$1")/redis.sock"
}

@test "the table has the servers that tests/servers knows, each with its suite, and that of Debian 12" {
	local known
	known=$(sed -nE "s/^\t\[(redis|valkey)-(.*)\]='?([a-z-]+).*/\u\1 \2 \3/p" "$BATS_TEST_DIRNAME/../servers" | LC_ALL=C sort)
	[ "$(wc -l <<<"$known")" -ge 5 ]
	run -0 awk -F ' *[|] *' '/^\| (Redis|Valkey) [0-9]/ { print $2, $3 }' "$page"
	[ "$output" = "$(printf '%s\n' "Redis 7.0 bookworm" "$known" | LC_ALL=C sort)" ]
}

@test "release without scripts" {
	local node wanted
	for node in 1 2 3; do
		wanted=$(cell "$node" 3)
		REDLOCK_URLS=$(without_scripts "$node")
		on_node "$node" config resetstat
		rl run job -- true
		run -0 on_node "$node" info commandstats
		[[ $output != *cmdstat_eval:calls=[1-9]* && $output != *cmdstat_evalsha:calls=[1-9]* ]]
		case $wanted in
		DELEX | DELIFEQ) [[ $output == *"cmdstat_${wanted,,}:calls=1"* && $output != *cmdstat_del:* ]] ;;
		'WATCH, MULTI') [[ $output == *cmdstat_del:calls=1* && $output != *cmdstat_delex:* && $output != *cmdstat_delifeq:* ]] ;;
		*) false ;;
		esac
	done
}

@test "renewal without scripts on a full server" {
	local node token wanted
	for node in 1 2 3; do
		wanted=$(cell "$node" 4)
		REDLOCK_URLS=$(without_scripts "$node")
		token=$(rl acquire -t 60s job)
		on_node "$node" config set maxmemory 1
		run rl extend -t 60s job "$token"
		on_node "$node" config set maxmemory 0
		case $wanted in
		works) [ "$status" -eq 0 ] ;;
		refused) [ "$status" -ne 0 ] ;;
		*) false ;;
		esac
		rl release job "$token"
	done
}

@test "the event of a key that PEXPIRE removes" {
	local node
	for node in 1 2 3; do
		on_node "$node" config set notify-keyspace-events Kgx
		redis-cli -s "$(node_dir "$node")/redis.sock" psubscribe '__keyspace@*' >"$sandbox/events-$node" 3>&- &
		until_true grep -q psubscribe "$sandbox/events-$node"
		on_node "$node" set gone 1
		on_node "$node" pexpire gone -1
		until_true grep -qxE 'del|expired' "$sandbox/events-$node"
		kill "$!"
		grep -qx "$(cell "$node" 5)" "$sandbox/events-$node"
	done
}

@test "the doctor names the defects of the version" {
	local node phrase wanted
	for node in 1 2 3; do
		wanted=$(cell "$node" 6)
		run rl doctor -v -r "$(node_url "$node")"
		for phrase in "answers twice" crashes "may leave an AUTH"; do
			[[ $wanted == *"$phrase"* ]] && [[ $output == *"$phrase"* ]] && continue
			[[ $wanted != *"$phrase"* && $output != *"$phrase"* ]]
		done
	done
}
