#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rediss:// against real servers: what is accepted, what is refused, and that the reason is told.
load helper
load tls_helper

setup() {
	make_sandbox
	servers=()
	make_pki
}

teardown() {
	end_processes "${servers[@]}"
	rm -rf "$sandbox"
}

lock() { # OPTION...
	run --separate-stderr "$REDLOCK_BIN" run -n -t 60s --node-timeout 8s "$@" job -- echo "done"
}

works() { # OPTION...
	lock "$@"
	exits 0
	[ "$output" = "done" ]
}

# The lock is not acquired, with this exit code and reason.
fails() { # CODE REASON OPTION...
	local code=$1 reason=$2
	shift 2
	lock "$@"
	exits "$code"
	says "$reason"
}

@test "three nodes in TLS: a job runs, and the keys are given back" {
	local urls=() sockets=()
	for _ in 1 2 3; do
		tls_server good
		urls+=(-r "rediss://127.0.0.1:$port")
		sockets+=("$socket")
	done
	works --cacert "$pki/ca.crt" "${urls[@]}"
	[ -z "$stderr" ]
	for socket in "${sockets[@]}"; do
		[ "$(redis-cli -s "$socket" exists job)" = 0 ]
	done
	want 0 "$REDLOCK_BIN" status --cacert "$pki/ca.crt" "${urls[@]}"
	[[ $output == *"rediss://127.0.0.1:$port"* ]]
	want 0 "$REDLOCK_BIN" doctor --node-timeout 5s --cacert "$pki/ca.crt" "${urls[@]}"
	[ "$(grep -c "^  node [123] rediss://.*: fine, " <<<"$output")" = 3 ]
}

@test "a name is checked as a name, valkeys:// is the same, a directory of authorities does as well" {
	tls_server good
	works --cacert "$pki/ca.crt" -r "valkeys://localhost:$port"
	mkdir "$pki/dir"
	cp "$pki/ca.crt" "$pki/dir/"
	openssl rehash "$pki/dir"
	works --cacertdir "$pki/dir" -r "rediss://127.0.0.1:$port"
}

@test "an authority that is not known is refused, unless --insecure, which says so" {
	tls_server good
	fails 77 "certificate is not accepted: self-signed certificate in certificate chain" -r "rediss://127.0.0.1:$port"
	works --insecure -r "rediss://127.0.0.1:$port"
	says "--insecure: anyone on the network path"
}

@test "a certificate for another name is refused, --sni names the one that is wanted" {
	tls_server other
	fails 77 "certificate is not accepted: IP address mismatch" --cacert "$pki/ca.crt" -r "rediss://127.0.0.1:$port"
	fails 77 "certificate is not accepted: hostname mismatch" --cacert "$pki/ca.crt" -r "rediss://localhost:$port"
	works --cacert "$pki/ca.crt" --sni elsewhere.example -r "rediss://127.0.0.1:$port"
}

@test "an expired certificate is refused" {
	tls_server old
	fails 77 "certificate is not accepted: certificate has expired" --cacert "$pki/ca.crt" -r "rediss://127.0.0.1:$port"
}

@test "a server that asks for our certificate gets it" {
	tls_server good --tls-auth-clients yes
	fails 77 "does not accept our certificate: " --cacert "$pki/ca.crt" -r "rediss://127.0.0.1:$port"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$pki/stranger.key" -out "$pki/stranger.crt" \
		-subj /CN=stranger -days 2 2>/dev/null
	fails 77 "does not accept our certificate: " --cacert "$pki/ca.crt" --cert "$pki/stranger.crt" --key "$pki/stranger.key" \
		-r "rediss://127.0.0.1:$port"
	works --cacert "$pki/ca.crt" --cert "$pki/client.crt" --key "$pki/client.key" -r "rediss://127.0.0.1:$port"
	cat "$pki/client.crt" "$pki/client.key" >"$pki/both.pem"
	works --cacert "$pki/ca.crt" --cert "$pki/both.pem" -r "rediss://127.0.0.1:$port"
}

@test "files that cannot be used are named at once, each with its reason" {
	local where=(-r rediss://127.0.0.1:1)
	cp "$pki/client.crt" "$pki/unreadable.key"
	mkdir "$pki/empty"
	fails 78 "$pki/none.crt: No such file" --cacert "$pki/none.crt" "${where[@]}"
	fails 78 "$pki: is a directory, not a PEM file" --cacert "$pki" "${where[@]}"
	fails 78 "$pki/ca.key: has no certificate of an authority" --cacert "$pki/ca.key" "${where[@]}"
	fails 78 "$pki/none: No such file" --cacertdir "$pki/none" "${where[@]}"
	fails 78 "$pki/ca.crt: is not a directory" --cacertdir "$pki/ca.crt" "${where[@]}"
	fails 78 "$pki/empty: has no certificate under a hashed name" --cacertdir "$pki/empty" "${where[@]}"
	fails 78 "$pki/none.crt: No such file" --cert "$pki/none.crt" --key "$pki/client.key" "${where[@]}"
	fails 78 "$pki/client.key: has no certificate in it" --cert "$pki/client.key" "${where[@]}"
	fails 78 "$pki/none.key: No such file" --cert "$pki/client.crt" --key "$pki/none.key" "${where[@]}"
	fails 78 "$pki/client.crt: has no private key in it" --cert "$pki/client.crt" "${where[@]}"
	fails 78 "$pki/unreadable.key: has no private key that can be read" --cert "$pki/client.crt" --key "$pki/unreadable.key" "${where[@]}"
	fails 78 "$pki/other.key: is not the key of the certificate $pki/client.crt" --cert "$pki/client.crt" --key "$pki/other.key" "${where[@]}"
	fails 78 "$pki/client.key: a key without a certificate" --key "$pki/client.key" "${where[@]}"
	cat "$pki/client.crt" "$pki/other.key" >"$pki/mismatch.pem"
	fails 78 "$pki/mismatch.pem: is not the key of the certificate" --cert "$pki/mismatch.pem" "${where[@]}"
}

@test "a key with a passphrase is refused: nobody is asked, and the job's input is not read" {
	local where=(-r rediss://127.0.0.1:1)
	openssl pkey -aes256 -passout pass:secret -in "$pki/client.key" -out "$pki/closed.key" 2>/dev/null
	cat "$pki/client.crt" "$pki/closed.key" >"$pki/closed.pem"
	for files in "--cert $pki/client.crt --key $pki/closed.key" "--cert $pki/closed.pem"; do
		# shellcheck disable=SC2086 # two options, or one
		fails 78 "its key has a passphrase" $files "${where[@]}" <<<secret
		[[ $stderr != *"pass phrase:"* ]]
	done
}

@test "a plain server at rediss:// and a TLS server at redis:// are told apart" {
	local dir=$sandbox/plain
	mkdir "$dir"
	port=$(free_port)
	redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$dir" --unixsocket "$dir/s" >"$dir/log" 2>&1 3>&- &
	servers+=($!)
	until_true test -S "$dir/s"
	refuses() { # TEXT OPTION...: one cause, one next step, and no word of a key that may stay
		want 78 "$REDLOCK_BIN" run --node-timeout 2s "${@:2}" job true
		says "another kind of service: $1" "hint: correct the host, port or scheme"
		[[ $(wc -l <<<"$stderr") -eq 2 && $stderr != *"certificate"* && $stderr != *"hang"* ]]
	}
	for options in "-n" "-w 5s"; do
		# shellcheck disable=SC2086 # words
		refuses "does not speak TLS: use redis:// for it" $options --cacert "$pki/ca.crt" -r "rediss://127.0.0.1:$port"
	done
	for certificates in no yes; do # the probe has none, and need not
		tls_server good --tls-auth-clients $certificates
		for options in "-n" "-w 300ms"; do
			# shellcheck disable=SC2086 # words
			refuses "speaks TLS: use rediss:// for it" $options -r "redis://127.0.0.1:$port"
		done
	done
	want 78 "$REDLOCK_BIN" status --node-timeout 2s -r "redis://127.0.0.1:$port"
	says "speaks TLS: use rediss:// for it"
	kill -s STOP "${servers[-1]}"
	for verb in "acquire -n job" status; do
		# shellcheck disable=SC2086 # words
		want 69 "$REDLOCK_BIN" $verb --node-timeout 300ms --cacert "$pki/ca.crt" -r "rediss://127.0.0.1:$port"
		says "no answer in time" "check the nodes that hang"
		[[ $stderr != *"redis://, "* && $stderr != *"certificate"* && $stderr != *"use redis"* ]]
	done
	kill -s CONT "${servers[-1]}"
}

@test "a peer that stalls in the handshake costs its vote, nothing else" {
	local urls=() begin
	/usr/bin/python3 -c '
import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
c = s.accept()[0]
c.recv(4096)
c.sendall(b"\x16\x03\x03")  # the beginning of a record
time.sleep(60)' >"$sandbox/stalled" 3>&- &
	servers+=($!)
	until_true test -s "$sandbox/stalled"
	urls+=(-r "rediss://127.0.0.1:$(cat "$sandbox/stalled")")
	for _ in 1 2; do
		tls_server good
		urls+=(-r "rediss://127.0.0.1:$port")
	done
	begin=$EPOCHREALTIME
	works --node-timeout 8s --cacert "$pki/ca.crt" "${urls[@]}"
	# The release waits one node timeout for what the stalled node may have got: it got nothing.
	[ "$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))" -lt 4000 ]
}

@test "a lock is kept over many renewals, and a server that is restarted is met again" {
	tls_server good
	want 0 "$REDLOCK_BIN" run -n -t 3s --renew 200ms --node-timeout 1s -k 100ms --cacert "$pki/ca.crt" \
		-r "rediss://127.0.0.1:$port" job -- sleep 2
	[ -z "$stderr" ]
}

@test "names as long as they may be pass through TLS" {
	local name
	name=$(printf 'n%.0s' {1..60000})
	tls_server good
	want 0 "$REDLOCK_BIN" run -n --node-timeout 2s --cacert "$pki/ca.crt" -r "rediss://127.0.0.1:$port" "$name" -- echo "done"
	[ "$(redis-cli -s "$socket" dbsize)" = 0 ]
}

# The slot of "job" is at the second server, which MOVED tells with its TLS port.
@test "a cluster in TLS: the server that has the slot is asked in TLS as well, and its certificate is checked" {
	local seed owner bus
	bus=$(free_port)
	tls_server good --cluster-enabled yes --tls-cluster yes --cluster-port "$bus"
	seed=$socket url=rediss+cluster://127.0.0.1:$port/
	bus=$(free_port)
	tls_server good --cluster-enabled yes --tls-cluster yes --cluster-port "$bus"
	owner=$socket
	redis-cli -s "$owner" cluster addslots {0..8191}
	redis-cli -s "$seed" cluster addslots {8192..16383}
	redis-cli -s "$seed" cluster set-config-epoch 2
	redis-cli -s "$seed" cluster meet 127.0.0.1 "$port" "$bus"
	is_whole() { redis-cli -s "$1" cluster info | grep -q '^cluster_state:ok' && redis-cli -s "$1" cluster info | grep -q '^cluster_slots_ok:16384'; }
	until_true is_whole "$seed"
	until_true is_whole "$owner"
	works --cacert "$pki/ca.crt" -r "$url"
	want 0 "$REDLOCK_BIN" acquire -n -t 60s --node-timeout 2s --cacert "$pki/ca.crt" -r "$url" job
	[ "$(redis-cli -s "$owner" exists job)" = 1 ]
	redis-cli -s "$owner" del job
	redis-cli -s "$owner" config set tls-cert-file "$pki/other.crt" tls-key-file "$pki/other.key"
	fails 77 "no secure connection" --cacert "$pki/ca.crt" -r "$url"
	[ "$(redis-cli -s "$owner" exists job)" = 0 ]
}

# tls_sentinel CERTIFICATE MASTER [LINE...]: a Sentinel that knows the master on this port as jobs; lines of its configuration.
tls_sentinel() {
	local cert=$1 dir
	port=$(free_port)
	dir=$(mktemp -d "$sandbox/sentinel.XXXXXX")
	printf '%s\n' "port 0" "tls-port $port" "bind 127.0.0.1" "dir $dir" "unixsocket $dir/s" "tls-replication yes" "tls-auth-clients no" \
		"tls-cert-file $pki/$cert.crt" "tls-key-file $pki/$cert.key" "tls-ca-cert-file $pki/ca.crt" \
		"sentinel monitor jobs 127.0.0.1 $2 1" "${@:3}" >"$dir/conf"
	redis-server "$dir/conf" --sentinel >"$dir/log" 2>&1 3>&- &
	servers+=($!)
	socket=$dir/s
	until_true test -S "$socket"
	until_true listens "$port"
}

has_role() { # SOCKET FIRST-LINE
	[ "$(redis-cli -s "$1" -a master --no-auth-warning role | head -n 1)" = "$2" ]
}

@test "Sentinels in TLS with a password of their own: the vote follows a failover" {
	local master replica master_port sentinel url secret=(-a their-own --no-auth-warning)
	local both=(--tls-replication yes --requirepass master --masterauth master --repl-diskless-sync-delay 0)
	tls_server good "${both[@]}"
	master=$socket master_port=$port
	tls_server good "${both[@]}" --replicaof 127.0.0.1 "$master_port"
	replica=$socket
	tls_sentinel good "$master_port" "sentinel auth-pass jobs master" "requirepass their-own"
	sentinel=$socket
	url="rediss+sentinel://:master@127.0.0.1:$port/jobs"
	works --cacert "$pki/ca.crt" -r "$url?sentinel_password=their-own"
	fails 69 "no Sentinel names the master: NOAUTH" --cacert "$pki/ca.crt" -r "$url"
	fails 69 "no Sentinel names the master: WRONGPASS" --cacert "$pki/ca.crt" -r "$url?sentinel_password=wrong"
	says "the password of the Sentinels (sentinel_password there)"
	fails 69 "certificate is not accepted" -r "$url?sentinel_password=their-own"
	fails 69 "no Sentinel names the master: " --cacert "$pki/ca.crt" -r "$url?sentinel_password=their-own&sentinel_plain=1"
	until_failover() { [ "$(redis-cli -s "$sentinel" "${secret[@]}" sentinel failover jobs)" = OK ]; }
	until_true until_failover
	until_true has_role "$replica" master
	redis-cli -s "$replica" -a master --no-auth-warning config resetstat # of what it was sent
	has_voted() {
		works --cacert "$pki/ca.crt" -r "$url?sentinel_password=their-own" &&
			redis-cli -s "$replica" -a master --no-auth-warning info commandstats | grep -q cmdstat_set:
	}
	until_true has_voted
	tls_sentinel other "$master_port"
	fails 69 "certificate is not accepted: IP address mismatch" --cacert "$pki/ca.crt" -r "rediss+sentinel://:master@127.0.0.1:$port/jobs"
	patience=60 until_true has_role "$master" slave # a Sentinel waits some eight seconds before it demotes a master
}
