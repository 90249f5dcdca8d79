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
	# Ended an hour after it began, in 2001. No other command of OpenSSL 3.0 to 3.5 makes such a one.
	touch "$pki/database"
	printf '%s\n' '[ca]' 'default_ca = own' '[own]' "database = $pki/database" "new_certs_dir = $pki" 'default_md = sha256' 'rand_serial = yes' \
		'policy = any' '[any]' 'commonName = supplied' >"$pki/ca.conf"
	openssl ca -batch -notext -config "$pki/ca.conf" -cert "$pki/ca.crt" -keyfile "$pki/ca.key" \
		-startdate 20010101000000Z -enddate 20010101010000Z -in "$pki/good.csr" -out "$pki/old.crt" \
		-extfile <(echo "subjectAltName=IP:127.0.0.1") 2>/dev/null
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
	until_true listens "$port" # Redis 7.2 and newer open it last
	socket=$dir/s
}

listens() { # PORT
	(: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
