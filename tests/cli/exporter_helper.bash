# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# An exporter for a test: on a free port, ended by its pid.

# Sets REDLOCK_URLS to the sockets of the sandbox's cluster: `local` is a word of the command.
use_cluster_urls() { # NODES
	local node urls=
	for ((node = 1; node <= $1; node++)); do
		urls+=${urls:+,}unix://$XDG_RUNTIME_DIR/redlock/cluster/node-$node/redis.sock
	done
	export REDLOCK_URLS=$urls
}

start_exporter() { # [OPTION...]
	: >"$sandbox/exporter.log"
	"$REDLOCK_EXPORTER" --listen 127.0.0.1:0 "$@" 2>"$sandbox/exporter.log" 3>&- &
	exporter=$!
	local tries
	for ((tries = 0; tries < 600; tries++)); do
		port=$(sed -n 's/.*listening on port //p' "$sandbox/exporter.log")
		[ -z "$port" ] || return 0
		kill -0 "$exporter" || break
		sleep 0.05
	done
	cat "$sandbox/exporter.log"
	return 1
}

stop_exporter() {
	[ -n "${exporter-}" ] || return 0
	kill -s TERM "$exporter"
	wait "$exporter"
	exporter=
}

get() { # PATH [CURL-OPTION...]
	curl -sS --max-time 30 "${@:2}" "http://127.0.0.1:$port$1"
}

# The value of a series, by its whole name with labels.
series() { # SERIES
	get /metrics | sed -n "s|^$1 ||p"
}
