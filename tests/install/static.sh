#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# static.sh BUILD_DIRECTORY: the static command of a build with REDLOCK_STATIC_COMMAND=TLS, alone in a root without a
# system: it acquires a lock from a server that /etc/hosts names, over TCP and TLS, and runs a program under it. 77: needs
# root.
set -euo pipefail
program=$1/bin/redlock-static

fail() {
	echo "static.sh: $*" >&2
	exit 1
}

[[ -x $program ]] || fail "$program is missing: configure with -DREDLOCK_STATIC_COMMAND=TLS"
export PATH=$PATH:/usr/sbin:/sbin
if ((EUID != 0)) || ! unshare --mount true; then
	echo "needs root and namespaces of mounts"
	exit 77
fi
work=$(mktemp -d)
server=
cleanup() {
	[[ -z $server ]] || { kill "$server" && wait "$server"; } || true
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

echo "- one file"
! readelf -d "$program" | grep NEEDED || fail "it needs shared libraries"
! readelf -lW "$program" | grep INTERP || fail "it needs a loader"
readelf -dW "$program" | grep -qE 'Flags:.* PIE' || fail "no PIE"

echo "- a server with TLS"
read -r port tls_port < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))')
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=db -addext subjectAltName=DNS:db \
	-keyout "$work/key" -out "$work/ca.pem" 2>"$work/openssl.log" || fail "$(<"$work/openssl.log")"
redis-server --bind 127.0.0.1 --port "$port" --tls-port "$tls_port" --tls-cert-file "$work/ca.pem" --tls-key-file "$work/key" \
	--tls-ca-cert-file "$work/ca.pem" --tls-auth-clients no --save '' --appendonly no --dir "$work" >"$work/redis.log" &
server=$!
for _ in {1..100}; do
	redis-cli -p "$port" ping >"$work/ping" 2>&1 && break
	sleep 0.1
done

echo "- an empty root: a source of names that is a shared object is not asked for"
root=$work/root
mkdir -p "$root/etc"
cp "$program" "$root/redlock" && ln -s redlock "$root/rflock"
cp "$work/ca.pem" "$root"
echo '127.0.0.1 db' >"$root/etc/hosts"
echo 'hosts: mymachines files' >"$root/etc/nsswitch.conf"
mkdir "$root/dev" "$root/proc" # container engines mount them
inside() { # COMMAND...
	# shellcheck disable=SC2016 # for the inner shell
	env -i PATH="$PATH" REDLOCK_NODE_TIMEOUT=5s REDLOCK_URLS="redis://db:$port" unshare --mount sh -c '
		mount --rbind /dev "$0/dev" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}
for url in "redis://db:$port" "rediss://db:$tls_port"; do
	token=$(inside /redlock acquire -r "$url" --cacert /ca.pem -t 30s job) || fail "$url: no lock"
	code=0
	inside /redlock acquire -r "$url" --cacert /ca.pem -n job 2>"$work/why" || code=$?
	[[ $code == 75 ]] || fail "$url: a second holder, or $code: $(<"$work/why")"
	inside /redlock release -r "$url" --cacert /ca.pem job "$token"
done
[[ $(inside /redlock run job -- /redlock --version) == "$("$program" --version)" ]] || fail "run ran nothing"
inside /rflock job /redlock --version >"$work/rflock" || fail "no rflock"
code=0
inside /redlock check -r redis://nobody.invalid job "$token" 2>"$work/why" || code=$?
[[ $code == 69 ]] || fail "a name that does not exist: $code: $(<"$work/why")"
for most in 0 3 4; do # a loader would end with 127 at 3
	code=0
	(ulimit -n "$most" && exec "$program" run -r "redis://127.0.0.1:$port" job true) 2>"$work/why" || code=$?
	[[ $code == 125 ]] || fail "$most descriptors: $code, not 125"
done
[[ $(redis-cli -p "$port" dbsize) == 0 ]] || fail "keys were left on the server"
echo ok
