#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Configuration: files, environment, flags, their order, and errors with file and line.
load helper

setup() {
	make_sandbox
	unset REDLOCK_TTL REDLOCK_WAIT REDLOCK_CLUSTER REDLOCK_CONFIG REDLOCK_PREFIX REDLOCK_USER
	file=$sandbox/config/redlock/redlock.conf
	mkdir -p "$sandbox/config/redlock"
	install -m 600 /dev/null "$file"
}

teardown() {
	rm -rf "$sandbox"
}

show() { # OPTION...
	run --separate-stderr "$REDLOCK_BIN" config show "$@"
}

shows() { # KEY VALUE SOURCE
	if ! grep -qE "^$1 += $2 +# $3\$" <<<"$output"; then
		echo "not shown: $1 = $2 # $3"
		echo "$output"
		return 1
	fi
}

# The file with this text must be refused, with line and reason.
refused() { # TEXT LINE REASON
	printf '%b' "$1" >"$file"
	show
	exits 78
	says "$file:$2: $3"
	[ -z "$output" ]
}

@test "defaults, file, environment, flags: the later one counts" {
	show
	exits 0
	shows ttl 30s default
	echo 'ttl = 1m' >"$file"
	show
	shows ttl 1m "$file:1"
	REDLOCK_TTL=2m show
	shows ttl 2m REDLOCK_TTL
	REDLOCK_TTL=2m show --ttl 3m
	shows ttl 3m --ttl
}

@test "a password of the environment is told with its variable, and never shown; a file goes before it" {
	show
	[[ $output != *password\ *\*\*\** && $output == *"# guarded sets are remembered in $STATE_DIRECTORY/redlock"* ]]
	for variable in REDLOCK_AUTH REDISCLI_AUTH VALKEYCLI_AUTH; do
		run --separate-stderr env "$variable=s3cret" "$REDLOCK_BIN" config show
		grep -qE "^# password +\*\*\* +# $variable\$" <<<"$output" || { echo "$output" && return 1; }
		[[ $output != *s3cret* ]]
		echo "$output" >"$file" # it is a configuration
		show
		exits 0
		: >"$file"
	done
	REDLOCK_AUTH=s3cret show --json
	json_is '[(s["value"], s["from"]) for s in j["settings"] if s["key"] == "password"] == [("***", "REDLOCK_AUTH")]' 'j["memory"].startswith("/")'
	[[ $output != *s3cret* ]]
	REDLOCK_AUTH=s3cret show --password-file /dev/null
	[[ $output != *REDLOCK_AUTH* ]] || { echo "$output" && return 1; }
}

@test "a cluster is chosen by flag, environment or file" {
	cat >"$file" <<-'END'
		ttl = 1m
		cluster = two
		[cluster one]
		url = redis://127.0.0.1:1
		url = redis://127.0.0.1:2, redis://127.0.0.1:3
		ttl = 11s
		[cluster two]
		url = redis://127.0.0.2
	END
	show
	shows url redis://127.0.0.2 "$file:8"
	shows ttl 1m "$file:1"
	REDLOCK_CLUSTER=one show
	shows url redis://127.0.0.1:1 "$file:4"
	shows url 'redis://127.0.0.1:2, redis://127.0.0.1:3' "$file:5"
	shows ttl 11s "$file:6"
	# The environment is above a cluster of a file, and below one that was asked for by a flag.
	REDLOCK_URLS=redis://h REDLOCK_CLUSTER=one show
	shows url redis://h REDLOCK_URLS
	REDLOCK_URLS=redis://h show -C one
	shows url redis://127.0.0.1:1 "$file:4"
	show -C one -r redis://g -t 5s
	shows url redis://g --url
	shows ttl 5s --ttl
	show -C three
	exits 78
	says "no section [cluster three]"
}

@test "errors are named with file and line" {
	refused 'ttl = 1m\ntll = 2m\n' 2 "unknown key 'tll'; redlock(1), CONFIGURATION, has the keys"
	refused '# x\n\nttl = 30\n' 3 "ttl: 30: add a unit"
	refused 'ttl = 1ms\n' 1 "ttl: 1ms: out of range: 10ms to 30d"
	refused 'quorum = many\n' 1 "quorum: many: not a number"
	refused 'url redis://a\n' 1 "neither [section] nor key = value"
	refused 'words\n' 1 "neither [section] nor key = value"
	refused '[nodes]\nurl = redis://a\n' 1 "unknown section [nodes]"
	refused 'ttl = 1m\n[clusters a]\n' 2 "unknown section [clusters a]"
	refused '[]\nttl = 1m\n' 1 "unknown section []"
	refused '[cluster a] x\nurl = redis://a\n' 1 "[cluster a]: nothing but a comment may follow"
	refused 'ttl = 1m\nprefix = a\0b\n' 2 "the line has a NUL byte"
	refused '[cluster a]\ncluster = b\n' 2 "unknown key 'cluster'"
	refused 'json = yes\n' 1 "unknown key 'json'"
	refused "user = $(printf 'x%.0s' {1..9000})\n" 1 "the line is longer than"
	refused "user = $(printf 'x%.0s' {1..4090})\n" 1 "the line is longer than 4096 bytes"
	printf 'user = %s\n[cluster a] ; ours\nurl = redis://a\n' "$(printf 'x%.0s' {1..4089})" >"$file"
	show
	exits 0
	show --config "$sandbox/none"
	exits 78
	says "$sandbox/none: No such file or directory"
}

@test "a comment may follow a value, and what config show prints is a configuration" {
	printf '# a = b # c\nurl = redis://h:6379 # local\nurl = redis://i\t; and ; this\nprefix = #a#b;c %s\nttl= 1m # = 2m\n' "# $(printf 'x%.0s' {1..300})" >"$file"
	show
	exits 0
	shows url redis://h:6379 "$file:2"
	shows url redis://i "$file:3"
	shows prefix '#a#b;c' "$file:4"
	shows ttl 1m "$file:5"
	printf '%s\n' "$output" >"$sandbox/pasted"
	before=$(sed 's/#.*//; s/ *$//' "$sandbox/pasted")
	show --config "$sandbox/pasted"
	exits 0
	[ "$(sed 's/#.*//; s/ *$//' <<<"$output")" = "$before" ]
}

@test "errors that only the library finds are named with file and line too" {
	cannot() { # TEXT LINE REASON
		printf '%b' "$1" >"$file"
		want 78 "$REDLOCK_BIN" status -C a
		says "$file:$2: $3"
	}
	cannot '[cluster a]\nurl = redis://h, redis://i\nurl = redis://j:99999\n' 3 "redis://j:99999: the URL of node 3: the port must be"
	cannot '[cluster a]\nurl = redis://h, htp://i\nurl = redis://j\n' 2 "htp://i: the URL of node 2: "
	cannot '[cluster a]\nurl = redis://h\nquorum = 2\n' 3 "a quorum of 2 among 1 nodes is not between"
	refused 'ttl = 1m\nurl =\n' 2 "url: is empty"
	: >"$file"
	REDLOCK_URLS=redis://u:hunter2@h:x want 78 "$REDLOCK_BIN" status
	says "REDLOCK_URLS: redis://u:*******@h:x: the URL of node 1: the port must be"
	[[ $output$stderr != *hunter2* ]]
	want 64 "$REDLOCK_BIN" status -r redis://h --quorum 2
	says "--quorum: a quorum of 2 among 1 nodes"
}

@test "a node twice in one cluster is refused, whatever its user, database or spelling" {
	refused '[cluster a]\nurl = redis://h\nurl = valkey://u:p@H:6379/3\n' 3 "url: this node is listed twice"
	refused 'url = redis://h:1,redis://h:2,redis://h:1\n' 1 "url: this node is listed twice"
	refused 'url = unix:///a.sock\nurl = unix:///a.sock\n' 2 "url: this node is listed twice"
	refused 'url = redis://[::1]\nurl = redis://[::1]:6379\n' 2 "url: this node is listed twice"
	printf '[cluster a]\nurl = redis://h\n[cluster b]\nurl = redis://h\n' >"$file"
	show
	exits 0
}

@test "passwords are not shown, and a file that others can read is warned of" {
	echo 'url = redis://me:hunter2@127.0.0.1:1,redis://127.0.0.1:2' >"$file"
	show
	exits 0
	shows url 'redis://me:\*\*\*@127.0.0.1:1,redis://127.0.0.1:2' "$file:1"
	[[ $output$stderr != *hunter2* ]]
	[ -z "$stderr" ]
	show --json
	json_is 'next(s for s in j["settings"] if s["key"] == "url")["value"] == "redis://me:***@127.0.0.1:1,redis://127.0.0.1:2"'
	chmod 644 "$file"
	show
	says "can be read by others"
	# An error about a URL does not show it either.
	echo 'url = redis://me:hunter2@127.0.0.1:1x' >"$file"
	want 78 "$REDLOCK_BIN" status
	[[ $output$stderr != *hunter2* ]]
}

@test "REDLOCK_CONFIG and --config read one file only" {
	echo 'ttl = 1m' >"$file"
	echo 'wait = 7s' >"$sandbox/other.conf"
	REDLOCK_CONFIG=$sandbox/other.conf show
	shows wait 7s "$sandbox/other.conf:1"
	shows ttl 30s default
	show --config "$sandbox/other.conf"
	shows wait 7s "$sandbox/other.conf:1"
}

@test "REDIS_URL is for when nothing else names a node" {
	REDIS_URL=redis://one show
	shows url redis://one REDIS_URL
	echo 'url = redis://two' >"$file"
	REDIS_URL=redis://one show
	shows url redis://two "$file:1"
}

@test "the system's file is read, below the user's" {
	echo 'ttl = 1m' >"$file"
	mkdir "$sandbox/etc"
	printf 'ttl = 9m\nwait = 3s\n' >"$sandbox/etc/redlock.conf"
	# A file system of its own over /etc, for this command only.
	run --separate-stderr unshare -m sh -c '
		mkdir "$1/upper" "$1/work" && mkdir -p "$1/upper/redlock" && cp "$1/etc/redlock.conf" "$1/upper/redlock/" &&
		mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" /etc && : >"$1/mounted" &&
		exec "$2" config show' sh "$sandbox" "$REDLOCK_BIN"
	[ -e "$sandbox/mounted" ] || skip "mounts are not permitted: $stderr"
	exits 0
	shows ttl 1m "$file:1"
	shows wait 3s /etc/redlock/redlock.conf:2
}

@test "a job runs with the nodes of its cluster" {
	"$REDLOCK_BIN" cluster start -q --nodes 3
	printf 'ttl = 17s\n[cluster here]\nurl = local\n' >"$file"
	want 0 "$REDLOCK_BIN" run -C here job -c 'echo $REDLOCK_TTL_MS'
	[ "$output" = 17000 ]
	REDLOCK_CLUSTER=here want 0 "${REDLOCK_BIN%/*}/rflock" job echo flocked
	[ "$output" = flocked ]
	want 78 "$REDLOCK_BIN" run job true
	stop_cluster
}

@test "the local cluster takes no password, guard or quorum that a file has for other nodes" {
	"$REDLOCK_BIN" cluster start -q --nodes 3
	printf 'url = redis://127.0.0.1:1\nuser = me\npassword-file = %s/none\nguard = require\nquorum = 1\n' "$sandbox" >"$file"
	want 0 "$REDLOCK_BIN" run -r local job echo ran
	[ "$output" = ran ]
	REDLOCK_URLS=local want 0 "${REDLOCK_BIN%/*}/rflock" job echo flocked
	[ "$output" = flocked ]
	show -r local
	shows guard auto default
	# A guard of the environment, a password file of the command line, and a file that names `local` itself still count.
	REDLOCK_GUARD=require want 76 "$REDLOCK_BIN" acquire -n -r local job
	want 78 "$REDLOCK_BIN" acquire -n -r local --password-file "$sandbox/none" job
	printf 'url = local\nguard = require\n' >"$file"
	want 76 "$REDLOCK_BIN" acquire -n job
	stop_cluster
}

@test "conflict-exit-code = 0 is for run alone: elsewhere 0 says that the lock is held" {
	"$REDLOCK_BIN" cluster start -q --nodes 3
	printf 'url = local\nconflict-exit-code = 0\nwait = 0\n' >"$file"
	rflock=${REDLOCK_BIN%/*}/rflock
	want 0 "$REDLOCK_BIN" acquire "$sandbox/job"
	want 0 "$REDLOCK_BIN" run "$sandbox/job" echo ran
	[ -z "$output" ]
	want 75 "$REDLOCK_BIN" acquire "$sandbox/job"
	[ -z "$output" ]
	want 5 "$REDLOCK_BIN" acquire -E 5 "$sandbox/job"
	want 1 "$rflock" -n "$sandbox/job" echo ran
	[ -z "$output" ]
	want 64 "$REDLOCK_BIN" acquire -E 0 "$sandbox/job"
	want 64 "$rflock" -E 0 "$sandbox/job" true
	want 0 "$REDLOCK_BIN" run -E 0 "$sandbox/job" true
	# rflock waits, whatever the configuration says: for ever, or as long as -w says.
	for options in "" "-w 30"; do
		# shellcheck disable=SC2086 # words
		"$rflock" $options "$sandbox/job" true 3>&- &
		waiter=$!
		sleep 0.5
		kill -0 "$waiter"
		kill "$waiter"
		await "$waiter" 143
	done
	stop_cluster
}

@test "a configuration may be a pipe" {
	show --config <(echo "ttl = 77s")
	shows ttl 77s '.*:1'
	show --config <(echo "ttl = 77s"; sleep 0.3; echo "wait = forever")
	shows wait forever '.*:2'
	echo "ttl = 78s" | "$REDLOCK_BIN" config show --config /dev/stdin >"$sandbox/out"
	grep -q '^ttl  *= 78s  *# /dev/stdin:1$' "$sandbox/out"
	show --config /dev/null
	shows ttl 30s default
	show --config /dev/zero
	exits 78
	says "/dev/zero: has more than 1048576 bytes"
}

has_open() { # PID FILE
	find "/proc/$1/fd" -lname "$2" 2>/dev/null | grep -q .
}

@test "a configuration that is a FIFO: its writer may come later, and TERM and INT end the wait" {
	mkfifo "$sandbox/fifo"
	for end in TERM:143 INT:130; do
		# A job in the background of a script ignores INT: env gives it back.
		env --default-signal=INT "$REDLOCK_BIN" run --config "$sandbox/fifo" job true >"$sandbox/out" 2>"$sandbox/err" 3>&- &
		until_true has_open $! "$sandbox/fifo"
		kill -s "${end%:*}" $!
		await $! "${end#*:}"
		[ ! -s "$sandbox/err" ]
	done
	"$REDLOCK_BIN" config show --config "$sandbox/fifo" >"$sandbox/out" 2>&1 3>&- &
	until_true has_open $! "$sandbox/fifo"
	echo "ttl = 76s" >"$sandbox/fifo"
	await $! 0
	grep -q '^ttl  *= 76s ' "$sandbox/out"
}

@test "sections that nobody chose are named; a password belongs into a file of its own" {
	printf '[cluster prod]\nurl = redis://a\n[cluster test]\nurl = redis://b\n' >"$file"
	want 78 "$REDLOCK_BIN" status
	says "no nodes: the configuration has [cluster prod], [cluster test]; choose one: -C prod"
	want 78 "${REDLOCK_BIN%/*}/rflock" "$sandbox/x" true
	says "choose one: REDLOCK_CLUSTER=prod"
	show -C prdo
	says "no section [cluster prdo] in the configuration; there is [cluster prod], [cluster test]"
	refused '[cluster prod]\npassword = x\n' 2 "unknown key 'password'; write the password to a file"
	says "password-file = FILE"
}

@test "options of run may stand in a file, and count for run alone" {
	printf 'ttl = 8s\nrenew = 1s\nkill-after = 700ms\n' >"$file"
	show
	shows renew 1s "$file:2"
	shows kill-after 700ms "$file:3"
	printf 'ttl = 1s\nrenew = 900ms\nurl = redis://127.0.0.1:1\n' >"$file"
	want 78 "$REDLOCK_BIN" run job true
	says "renew 900ms ($file:2)"
	want 69 "$REDLOCK_BIN" check job token
	echo 'renew = 0' >"$file" # programs do not renew; run does as by default
	show
	shows renew 0ms "$file:1"
	refused 'renew = 31d\n' 1 "renew: 31d: out of range: 0ms to 30d"
	refused 'guard = on\n' 1 "guard: on: give off, auto or require"
	refused 'quorum = 32\n' 1 "quorum: 32: out of range: 1 to 31"
}
