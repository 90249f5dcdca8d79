#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # a shell of redlock expands it
# Runs the examples of fencing tokens, fence.c and fence.sql, on a guarded set of three servers of its own: a holder
# that is paused for longer than its TTL writes late, and is refused.
#
#   run_fence.sh DIRECTORY-OF-THE-PROGRAMS REDLOCK REDIS-SERVER REDIS-CLI
set -uo pipefail
(($# == 4)) || { echo "usage: $0 DIRECTORY REDLOCK REDIS-SERVER REDIS-CLI" >&2; exit 64; }
bin=$1 redlock=$2 server=$3 cli=$4
sql=$(dirname "$(realpath "$0")")/fence.sql
work=$(mktemp -d /tmp/rl-fence.XXXXXX) || exit # not in TMPDIR: the user of PostgreSQL must get there
export STATE_DIRECTORY=$work/state # where redlock remembers guarded sets
pids=() urls=()

cleanup() {
	local pid
	for pid in "${pids[@]}"; do
		kill -INT "$pid" && kill -CONT "$pid" && wait "$pid"
	done 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

until_true() { # COMMAND...
	local try
	for ((try = 0; try < 200; try++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	echo "never true: $*"
	exit 1
}

checks=0 failures=0
check() { # WHAT WANTED-CODE CODE WANTED GOT
	checks=$((checks + 1))
	[[ $2 == "$3" ]] && grep -qE -- "$4" <<<"$5" && return
	failures=$((failures + 1))
	printf 'FAILED: %s\n  wanted: %s, code %s\n  got: %s, code %s\n' "$1" "$4" "$2" "$5" "$3"
}

# ---- A guarded set, as `redlock init` makes it -----------------------------------------------------------------------

ask() { # NODE COMMAND...
	"$cli" -s "$work/$1.sock" "${@:2}"
}

for node in 0 1 2; do
	"$server" --port 0 --unixsocket "$work/$node.sock" --dir "$work" --save '' --appendonly no >"$work/$node.log" 2>&1 &
	pids+=($!)
	urls+=("unix://$work/$node.sock")
	until_true ask "$node" PING
done
for node in 0 1 2; do
	run_id=$(ask "$node" INFO server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')
	ask "$node" HSET redlock:set version 1 mode guard set 00112233445566aa step 1 config 8899aabbccddeeff ttl 60000 \
		quorum 2 members "unix:$work/0.sock/0 unix:$work/1.sock/0 unix:$work/2.sock/0" floor 1000 gmax 1000 \
		node "unix:$work/$node.sock/0" pass "$run_id:8899aabbccddeeff" >/dev/null
done

# ---- A file ----------------------------------------------------------------------------------------------------------

out=$("$bin/fence" "$work/file" first job "${urls[@]}" 2>&1)
check "a write" 0 $? 'acquired with 1[0-9]+' "$out"
"$bin/fence" "$work/file" late job "${urls[@]}" >"$work/out" 2>&1 &
paused=$!
until_true grep -q acquired "$work/out"
kill -STOP "$paused"
out=$("$bin/fence" "$work/file" second job "${urls[@]}" 2>&1) # it waits until the TTL is over
check "the next holder" 0 $? 'acquired with' "$out"
kill -CONT "$paused"
wait "$paused"
check "the late write is refused" 1 $? 'refused: 1[0-9]+ is late, 1[0-9]+ has written' "$(<"$work/out")"
check "it is not in the file" 0 0 '^second$' "$(sed -n 2p "$work/file")"

# ---- A table ---------------------------------------------------------------------------------------------------------

programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
[[ -x $programs/postgres ]] || programs=$(dirname "$(command -v postgres || echo /nowhere/postgres)")
if [[ ! -x $programs/initdb ]] || ! command -v psql >/dev/null; then
	echo "$((checks - failures)) of $checks checks passed; no PostgreSQL here: apt-get install postgresql"
	exit $((failures > 0))
fi
as=()
if ((EUID == 0)); then # PostgreSQL does not run as root
	as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	chmod 711 "$work"
fi
mkdir "$work/pg"
((EUID != 0)) || chown postgres "$work/pg"
cd / || exit
"${as[@]}" "$programs/initdb" -D "$work/pg/data" -U redlock -A trust --no-sync >"$work/initdb.log" 2>&1 ||
	{ cat "$work/initdb.log" && exit 1; }
"${as[@]}" "$programs/postgres" -D "$work/pg/data" -k "$work/pg" -c listen_addresses= >"$work/pg.log" 2>&1 &
pids+=($!)
export PGHOST=$work/pg PGUSER=redlock PGDATABASE=postgres
until_true psql -c 'SELECT 1'

write() { # FENCE STATE
	psql -qAt -v fence="$1" -v state="$2" -f "$sql" 2>&1
}

run=("$redlock" run --guard=require --fence -t 2s)
export -f write
export sql REDLOCK_URLS
REDLOCK_URLS=$(IFS=, && echo "${urls[*]}")
out=$("${run[@]}" report -- bash -c 'write "$REDLOCK_FENCE" first' 2>&1)
check "a write" 0 $? 'written by 1' "$out"
read -r _ late < <("$redlock" acquire --guard=require --fence -t 2s report) # and then this holder sleeps
out=$("${run[@]}" report -- bash -c 'write "$REDLOCK_FENCE" second' 2>&1)
check "the next holder" 0 $? 'written by 1' "$out"
out=$(write "$late" late)
check "the late write is refused" 3 $? "refused: $late is late" "$out"
check "it is not in the table" 0 $? '^second$' "$(psql -qAt -c 'SELECT state FROM report')"

echo "$((checks - failures)) of $checks checks passed"
((failures == 0))
