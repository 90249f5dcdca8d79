#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Passwords: given in every way, wrong ones, and never shown.
load helper

setup_file() {
	start_cluster 3
	on_nodes "1 2 3" acl setuser worker on '>wOrk/er@1:x' '~*' '+@all'
	# The local cluster itself stays open; REDLOCK_URLS names the user.
	unset REDLOCK_URLS
}

# URLs of the nodes with a user part.
urls() { # USERINFO
	local node all=""
	for node in 1 2 3; do
		all+=",unix://$1@$(node_dir "$node")/redis.sock"
	done
	echo "${all#,}"
}

shows_no_secret() {
	[[ $output$stderr != *wOrk* ]]
}

@test "user and password in the URL, percent-encoded" {
	REDLOCK_URLS=$(urls worker:wOrk%2Fer%401:x) run --separate-stderr rl acquire secrets-1 -v
	exits 0
	shows_no_secret
	token=$output
	REDLOCK_URLS=$(urls worker:wOrk%2Fer%401:x) rl check secrets-1 "$token"
	REDLOCK_URLS=$(urls worker:wOrk%2Fer%401:x) rl release secrets-1 "$token"
}

@test "--user and --password-file" {
	printf 'wOrk/er@1:x\n' >"$sandbox/password"
	REDLOCK_URLS=local want 0 rl acquire --user worker --password-file "$sandbox/password" secrets-2
	shows_no_secret
	REDLOCK_URLS=local rl release secrets-2 "$output"
}

@test "password files that cannot be used are 78" {
	wrong() { # FILE WHAT
		REDLOCK_URLS=local want 78 rl acquire --password-file "$1" secrets-3
		says "$2"
		shows_no_secret
	}
	wrong "$sandbox/none" "--password-file $sandbox/none: No such file"
	REDLOCK_PASSWORD_FILE=$sandbox/none REDLOCK_URLS=local want 78 rl status
	says "redlock: REDLOCK_PASSWORD_FILE: $sandbox/none: No such file"
	: >"$sandbox/empty"
	wrong "$sandbox/empty" "is empty"
	wrong "$sandbox" "directory"
	printf 'wOrk\0x' >"$sandbox/nul"
	wrong "$sandbox/nul" "NUL"
	head -c 4097 /dev/zero | tr '\0' w >"$sandbox/long"
	wrong "$sandbox/long" "longer than 4096 bytes"
	# The line end does not count: this one is sent, and refused by the servers.
	head -c 4096 /dev/zero | tr '\0' w >"$sandbox/longest"
	printf '\r\n' >>"$sandbox/longest"
	REDLOCK_URLS=local want 77 rl acquire -n --user worker --password-file "$sandbox/longest" secrets-3
}

@test "a wrong password is 77, at once, with the nodes and the next step" {
	REDLOCK_URLS=$(urls worker:wOrkNot) run --separate-stderr rl acquire secrets-4
	exits 77
	[ -z "$output" ]
	shows_no_secret
	says "nodes 1, 2, 3: refused the user or password" "--password-file"
	for verb in extend release check; do
		REDLOCK_URLS=$(urls worker:wOrkNot) run --separate-stderr rl "$verb" --node-timeout 300ms secrets-4 token
		exits 77
		shows_no_secret
	done
	REDLOCK_URLS=$(urls worker:wOrkNot) run --separate-stderr rl status
	exits 77
	shows_no_secret
	REDLOCK_URLS=$(urls worker:wOrkNot) run --separate-stderr rl status --json secrets-4
	exits 77
	json_is 'all(n["answer"] == "AUTH" and n["type"] is None for n in j["nodes"])'
	shows_no_secret
}

@test "a wrong password on one of three nodes is one missing vote" {
	right=$(urls worker:wOrk%2Fer%401:x)
	REDLOCK_URLS=${right/wOrk/wOrkNot} want 0 rl acquire --json secrets-5
	shows_no_secret
	json_is 'j["nodes"][0]["vote"] in ("AUTH", "PENDING")'
	on_nodes "1 2 3" del secrets-5
}

@test "passwords in arguments are blanked in /proc, with a hint" {
	on_nodes "1 2 3" set secrets-6 somebody px 60000
	right=$(urls worker:wOrk%2Fer%401:x)
	one=${right%%,*} rest=${right#*,}
	"$REDLOCK_BIN" acquire --trace -r "$one" --url="$rest" secrets-6 >"$sandbox/out" 2>"$sandbox/err" 3>&- &
	waiter=$!
	until_true grep -q trace "$sandbox/err"
	tr '\0' ' ' <"/proc/$waiter/cmdline" >"$sandbox/cmdline"
	kill "$waiter"
	wait "$waiter" || true
	grep -q 'worker:\*' "$sandbox/cmdline"
	grep -q 'secrets-6' "$sandbox/cmdline"
	run grep -c -e wOrk -e er%401 "$sandbox/cmdline"
	[ "$output" = 0 ]
	grep -q "hint: .*--password-file" "$sandbox/err"
	run grep -c wOrk "$sandbox/err"
	[ "$output" = 0 ]
	want 0 rl status -q -r "$right"
	[ -z "$stderr" ]
	want 69 rl check -r redis://worker@127.0.0.1:1 secrets-6 token # a user is no password
	[[ $stderr != *"on the command line"* ]]
	want 69 rl check -r redis://worker:wOrk@127.0.0.1:1 secrets-6 token
	says "hint: a password on the command line"
	on_nodes "1 2 3" del secrets-6
}

@test "a URL that cannot be used is not repeated" {
	for url in "redis://u:wOrk@host:port" "http://u:wOrk@host" "redis://:wOrk@/" "redis://u:wOrk%zz@host" \
		"unix://u:wOrk@relative" "redis://u:wOrk/y@host" "rediss://u:wOrk@host:x"; do
		want 78 rl status -r "$url"
		shows_no_secret
	done
}

@test "NOAUTH: no password where one is needed is 77" {
	on_nodes "1 2 3" config set requirepass wOrkGate
	REDLOCK_URLS=local run --separate-stderr rl acquire -n secrets-7
	code=$status
	for node in 1 2 3; do
		redis-cli --no-auth-warning -a wOrkGate -s "$(node_dir "$node")/redis.sock" config set requirepass '' >/dev/null
	done
	status=$code exits 77
	shows_no_secret
}

# ---- passwords that change while a command runs ----

secret_to() { # FILE TEXT, at once
	printf '%s\n' "$2" >"$1.new"
	mv "$1.new" "$1"
}

said() { # TEXT
	grep -qF -e "$1" "$sandbox/err"
}

# A command under --password-file that ends when $sandbox/stop is there: $runner.
start_rotated() { # NAME OPTION...
	local name=$1
	shift
	rm -f "$sandbox/stop" "$sandbox/began"
	: >"$sandbox/err"
	REDLOCK_URLS=local "$REDLOCK_BIN" run --trace -v -t 3s --renew 200ms -k 100ms --node-timeout 1s --user rotor \
		--password-file "$sandbox/rotated" "$@" "$name" -- sh -c '
		env >"$0/env"; tr "\0" "\n" <"/proc/$PPID/cmdline" >"$0/guard"; touch "$0/began"; until [ -e "$0/stop" ]; do sleep 0.05; done' \
		"$sandbox" >"$sandbox/out" 2>"$sandbox/err" 3>&- &
	runner=$!
	until_true test -e "$sandbox/began"
}

stop_rotated() {
	tr '\0' ' ' <"/proc/$runner/cmdline" >"$sandbox/cmdline"
	touch "$sandbox/stop"
	await "$runner" 0
	run cat "$sandbox/out" "$sandbox/err" "$sandbox/env" "$sandbox/guard" "$sandbox/cmdline"
	[[ $output == *rotated* ]] # it was looked at
	[[ $output != *wOrk* ]]
}

logged_in() { # N
	on_node "$1" client list | grep -q 'user=rotor'
}

@test "run: a new password is noticed, and connections that are killed afterwards come back" {
	on_nodes "1 2 3" acl setuser rotor reset on '>wOrkOld' '~*' '+@all'
	secret_to "$sandbox/rotated" wOrkOld
	start_rotated secrets-8
	on_nodes "1 2 3" acl setuser rotor '>wOrkNew' '<wOrkOld'
	rm "$sandbox/rotated" # the lock is kept meanwhile
	sleep 0.5
	secret_to "$sandbox/rotated" wOrkNew
	until_true said "rotated has changed: logging in again"
	for node in 1 2 3; do
		[ "$(on_node "$node" client kill user rotor)" -ge 1 ]
	done
	until_true logged_in 1
	until_true logged_in 2
	until_true logged_in 3
	sleep 3.2 # longer than the TTL: it was renewed since
	[ "$(on_node 2 exists secrets-8)" = 1 ]
	run ! said "refused"
	stop_rotated
}

@test "run: a password that is not the server's, or not in the file, changes nothing" {
	on_nodes "1 2 3" acl setuser rotor reset on '>wOrkOld' '~*' '+@all'
	secret_to "$sandbox/rotated" wOrkOld
	start_rotated secrets-9
	secret_to "$sandbox/rotated" wOrkHalf
	until_true said "the new credentials are refused: WRONGPASS"
	: >"$sandbox/rotated"
	until_true said "is empty; the old password stays in use"
	# Killed now, they would come back with what the file said last; and do with what it says in time.
	secret_to "$sandbox/rotated" wOrkOld
	until_true two_changes
	for node in 1 2 3; do
		[ "$(on_node "$node" client kill user rotor)" -ge 1 ]
	done
	until_true logged_in 2
	sleep 3.2
	[ "$(on_node 2 exists secrets-9)" = 1 ]
	stop_rotated
}

two_changes() {
	[ "$(grep -c 'has changed: logging in again' "$sandbox/err")" -ge 2 ]
}

@test "run: servers that are ahead of the password file are met again when it follows" {
	on_nodes "1 2 3" acl setuser rotor reset on '>wOrkOld' '~*' '+@all'
	secret_to "$sandbox/rotated" wOrkOld
	start_rotated secrets-10 -t 20s
	for node in 1 2 3; do
		on_node "$node" acl setuser rotor '>wOrkNew' '<wOrkOld' >/dev/null
		on_node "$node" client kill user rotor >/dev/null
	done
	sleep 0.5
	for node in 1 2 3; do
		run ! logged_in "$node"
	done
	secret_to "$sandbox/rotated" wOrkNew
	until_true logged_in 1
	until_true logged_in 2
	until_true logged_in 3
	stop_rotated
}

# ---- where else a password may be found ----

# A command that does not end when it is told to would hang the test, and nobody would know which it was. In the
# foreground, the command alone gets the signal, and no CONT: that hangs the process by which a sanitizer looks for
# leaks.
tries() { # SECONDS WORD...
	run --separate-stderr timeout --foreground -k 60 "$1" "$REDLOCK_BIN" "${@:2}"
	[ "$status" -ne 137 ] || { echo "did not end: ${*:2}"; false; }
}

@test "no usage error repeats a URL, wherever it was written" {
	url=redis://worker:wOrk@10.0.0.1
	for verb in run acquire extend release check status bench config cluster; do
		for words in "$url" "--url$url" "--nothing=$url" "-x$url" "--ttl $url" "-C $url -r" "$url $url $url $url" "-q --json x -r$url $url"; do
			# shellcheck disable=SC2086 # words
			tries 5 "$verb" $words # some would go on, to find a node
			[[ $stderr != *wOrk* ]] || { echo "$verb $words: $stderr"; false; } # a NAME is in a result
		done
	done
	for words in "$url" "--url=$url" "help $url" "--$url acquire" "run -n --config $url x true" "acquire -r $url -w x y"; do
		# shellcheck disable=SC2086 # words
		tries 60 $words
		[ "$status" -ne 0 ] && [ "$status" -ne 124 ]
		shows_no_secret || { echo "$words"; false; }
	done
	for line in "$url" "url $url" "urls = $url" "[$url]" "[cluster x]
$url = 1" "ttl = $url" "cluster = $url"; do
		echo "$line" >"$sandbox/wrong.conf"
		want 78 "$REDLOCK_BIN" acquire --config "$sandbox/wrong.conf" x
		shows_no_secret || { echo "$line"; false; }
	done
}

@test "nor where the password has blanks and quotes; nodes and owners are shown as they are" {
	for url in "redis://u:a wOrk@h" "redis://u:wOrk a@h" "redis://u:it's wOrk@h" 'redis://u:"wOrk"@h' $'redis://u:a\twOrk@h' "redis://:a wOrk@h"; do
		for words in acquire help --; do
			run --separate-stderr "$REDLOCK_BIN" "${words[@]}" -t "$url" x
			[ "$status" -ne 0 ]
			shows_no_secret || { echo "$words $url: $stderr"; false; }
		done
		want 64 "$REDLOCK_BIN" "$url"
		shows_no_secret
	done
	run --separate-stderr "$REDLOCK_BIN" acquire -n -v -r "redis://127.0.0.1:1,redis://[::1]:1,unix:///none,redis://127.0.0.2:1/3" --cacert 'a@b' x
	says "node 1 redis://127.0.0.1:1: " "node 2 redis://[::1]:1: " "node 3 unix:///none: "
	says "node 4 redis://127.0.0.2:1/3: "
}

start_laden() { # [VARIABLE=VALUE...] redlock run OPTION... NAME
	rm -f "$sandbox/stop" "$sandbox/began"
	env "$@" sh -c '
		env >"$0/env"; touch "$0/began"; until [ -e "$0/stop" ]; do sleep 0.05; done' \
		"$sandbox" >"$sandbox/out" 2>"$sandbox/err" 3>&- &
	runner=$!
	until_true test -e "$sandbox/began"
	guard=$(pgrep -P "$runner")
}

stop_laden() {
	run ! grep -aq -e wOrk -e er%401 /proc/{"$runner","$guard"}/{cmdline,environ}
	touch "$sandbox/stop"
	await "$runner" 0
}

# Neither redlock nor its guard would leave the password in a core dump.
dumps_no_secret() { # NAME, which they have
	local pid
	if has_asan; then
		return 0
	fi
	for pid in $runner $guard; do
		status=0
		/usr/bin/python3 "$BATS_TEST_DIRNAME/dump.py" "$pid" "$sandbox/core" || status=$?
		[ "$status" -ne 77 ] || skip "the memory of a process may not be read here"
		exits 0
		grep -qF -e "$1" "$sandbox/core" # it is that memory
		run grep -c -aF -e wOrk -e 'er%401' -e 'er@1' "$sandbox/core"
		[ "$output" = 0 ] || { echo "$pid: $(strings "$sandbox/core" | grep -F -e wOrk -e er%401 -e er@1)"; false; }
	done
}

in_environment() { # TEXT of the command's
	grep -qF -e "$1" "$sandbox/env"
}

@test "run: the command does not inherit what redlock logs in with, nor would a core dump show it" {
	start_laden REDLOCK_URLS="$(urls worker:wOrk%2Fer%401:x)" REDLOCK_AUTH=wOrkUnused REDISCLI_AUTH=other \
		REDIS_URL=redis://:app@10.0.0.1 "$REDLOCK_BIN" run secrets-20
	dumps_no_secret secrets-20
	stop_laden
	in_environment "REDLOCK_URLS=$(urls worker)"
	run ! in_environment wOrk
	run ! in_environment REDLOCK_AUTH
	# These are the command's own, and those of other programs.
	in_environment REDISCLI_AUTH=other
	in_environment REDIS_URL=redis://:app@10.0.0.1
}

@test "run: REDLOCK_AUTH is not inherited, nor in a core dump" {
	start_laden REDLOCK_URLS=local REDLOCK_USER=worker REDLOCK_AUTH=wOrk/er@1:x "$REDLOCK_BIN" run secrets-21
	dumps_no_secret secrets-21
	stop_laden
	run ! in_environment wOrk
}

@test "run: passwords of arguments and files are not in a core dump" {
	start_laden "$REDLOCK_BIN" run -r "$(urls worker:wOrk%2Fer%401:x)" secrets-22
	dumps_no_secret secrets-22
	stop_laden
	printf 'wOrk/er@1:x\n' >"$sandbox/password"
	start_laden REDLOCK_URLS=local "$REDLOCK_BIN" run --user worker --password-file "$sandbox/password" secrets-23
	dumps_no_secret secrets-23
	stop_laden
	: >"$sandbox/secret.conf"
	for url in $(urls worker:wOrk%2Fer%401:x | tr , ' '); do
		echo "url = $url" >>"$sandbox/secret.conf"
	done
	start_laden "$REDLOCK_BIN" run --config "$sandbox/secret.conf" secrets-24
	dumps_no_secret secrets-24
	stop_laden
}

@test "a password file that others can read is warned about" {
	printf 'wOrk/er@1:x\n' >"$sandbox/open"
	warns_at() { # MODE OWNER
		chmod "$1" "$sandbox/open"
		[ "$(id -u)" -ne 0 ] || chown "$2" "$sandbox/open"
		REDLOCK_URLS=local want 0 rl status --user worker --password-file "$sandbox/open"
		[[ $stderr == *"open can be read by others"* ]]
	}
	warns_at 644 0
	run ! warns_at 600 0
	warns_at 604 0
	# A file of root's for one group is meant so.
	if [ "$(id -u)" -eq 0 ]; then
		run ! warns_at 640 0
		warns_at 640 65534
	else
		warns_at 640 0
	fi
	want 0 env REDLOCK_URLS=local "$REDLOCK_BIN" status --node-timeout 2s --user worker --password-file <(printf 'wOrk/er@1:x\n')
	[ -z "$stderr" ]
}

has_open() { # PID FILE
	find "/proc/$1/fd" -lname "$2" 2>/dev/null | grep -q .
}

@test "a password file that is a FIFO: its writer may come later, and a signal ends the wait" {
	mkfifo "$sandbox/fifo"
	for verb in "run secrets-25 true" "acquire secrets-25" status; do
		# shellcheck disable=SC2086 # words
		REDLOCK_URLS=local "$REDLOCK_BIN" ${verb%% *} --user worker --password-file "$sandbox/fifo" ${verb#"${verb%% *}"} \
			>"$sandbox/out" 2>"$sandbox/err" 3>&- &
		until_true has_open $! "$sandbox/fifo"
		kill -s TERM $!
		await $! 143
	done
	REDLOCK_URLS=local "$REDLOCK_BIN" status --node-timeout 2s --user worker --password-file "$sandbox/fifo" >"$sandbox/out" 2>&1 3>&- &
	until_true has_open $! "$sandbox/fifo"
	printf 'wOrk/er@1:x\n' >"$sandbox/fifo"
	await $! 0
	grep -q "3 of 3 nodes up" "$sandbox/out"
}
