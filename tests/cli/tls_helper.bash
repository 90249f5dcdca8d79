# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2034 # helper.bash sets sandbox; tests use port and socket
# Certificates of an authority of our own, and redis-servers that use them.

# certificate NAME SUBJECT-ALT-NAME [OPTION...]: NAME.crt and NAME.key, signed by ca.crt
certificate() {
	local name=$1 alt=$2
	shift 2
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$pki/$name.key" -out "$pki/$name.csr" \
		-subj "/CN=$name" 2>/dev/null
	openssl x509 -req -in "$pki/$name.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -set_serial "$RANDOM" -out "$pki/$name.crt" \
		-extfile <(echo "subjectAltName=$alt") "$@" 2>/dev/null
}

make_pki() {
	pki=$sandbox/pki
	mkdir "$pki"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$pki/ca.key" -out "$pki/ca.crt" -subj /CN=test-ca \
		-days 2 2>/dev/null
	certificate good "IP:127.0.0.1,DNS:localhost" -days 2
	certificate other "DNS:elsewhere.example" -days 2
	certificate client "DNS:client" -days 2
	# Ended an hour after it began, in 2001.
	openssl x509 -req -in "$pki/good.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -set_serial 7 -out "$pki/old.crt" \
		-extfile <(echo "subjectAltName=IP:127.0.0.1") -days -1 2>/dev/null
	cp "$pki/good.key" "$pki/old.key"
}

# tls_server CERTIFICATE [OPTION...]: starts one, its port is in $port, its process in $server. Options of redis-server.
tls_server() {
	local cert=$1 dir
	shift
	dir=$(mktemp -d "$sandbox/tls.XXXXXX")
	port=$(free_port)
	redis-server --port 0 --tls-port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" \
		--unixsocket "$dir/s" --tls-cert-file "$pki/$cert.crt" --tls-key-file "$pki/$cert.key" --tls-ca-cert-file "$pki/ca.crt" \
		--tls-auth-clients no "$@" >"$dir/log" 2>&1 3>&- &
	server=$!
	servers+=("$server")
	until_true test -S "$dir/s"
	socket=$dir/s
}

stop_servers() {
	local pid
	for pid in "${servers[@]}"; do
		kill -s KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}
