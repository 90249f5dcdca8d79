#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# readme.sh BUILD_DIRECTORY REDIS_SERVER: installs a build and follows README.md to the letter: its configuration file,
# its commands and its line for cron run on three hosts, with cron's environment. The hosts are namespaces that share
# a network with the addresses of README.md, where three servers run. 77: needs root and namespaces.
set -euo pipefail
build=$1 redis_server=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readme=$here/../../README.md

cannot() {
	echo "$*"
	exit 77
}

fail() {
	echo "readme.sh: $*" >&2
	exit 1
}

if [[ ${INSIDE-} != yes ]]; then
	((EUID == 0)) || cannot "needs root"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
	unshare --net --mount --uts --pid --fork mount -t tmpfs none "$work" 2>/dev/null || cannot "needs namespaces"
	DESTDIR=$work/tree cmake --install "$build" --prefix /usr/local >"$work/install.log"
	# The end of this namespace of processes ends the servers.
	INSIDE=yes work=$work unshare --net --mount --pid --fork --kill-child --mount-proc "${BASH_SOURCE[0]}" "$build" "$redis_server"
	exit
fi

block() { # LANGUAGE: the first block of README.md in this language
	awk -v fence="\`\`\`$1" '$0 == "```" && on { exit } on { print } $0 == fence { on = 1 }' "$readme"
}

# ---- Three servers and three hosts -------------------------------------------------------------------------------

mount -t tmpfs none /usr/local
cp -a "$work/tree/usr/local/." /usr/local
mkdir "$work/etc" "$work/etc.work"
mount -t tmpfs none "$work/etc" # an upper layer needs a file system of its own
mkdir "$work/etc/upper" "$work/etc/work"
mount -t overlay -o "lowerdir=/etc,upperdir=$work/etc/upper,workdir=$work/etc/work" overlay /etc || cannot "needs overlay mounts"
rm -rf /etc/redlock
mkdir /etc/redlock
[[ -s $work/tree/etc/redlock/redlock.conf ]] || fail "no sample configuration was installed"
! grep -v '^\(#.*\)\?$' "$work/tree/etc/redlock/redlock.conf" || fail "the sample configuration sets something"

mount -t tmpfs none /var/lib # what root's redlock remembers of guarded sets is there

ip link set lo up
mapfile -t addresses < <(block ini | grep -oE '10\.0\.0\.[0-9]+' | sort -u)
((${#addresses[@]} == 3)) || fail "README.md has no block \`ini\` with three servers"
for address in "${addresses[@]}"; do
	ip address add "$address/32" dev lo
	"$redis_server" --bind "$address" --protected-mode no --save '' --appendonly no --dir "$work" >"$work/$address.log" &
done
for address in "${addresses[@]}"; do
	timeout 30 sh -c "until redis-cli -h $address ping >$work/ping 2>&1; do sleep 0.1; done" || fail "no server at $address"
done

block ini >/etc/redlock/redlock.conf
# shellcheck disable=SC2016 # for the inner shell
host() { # NAME COMMAND...: as cron runs it
	unshare --uts sh -c 'hostname "$0" && exec env -i HOME=/root LOGNAME=root SHELL=/bin/sh PATH=/usr/bin:/bin "$@"' "$@"
}

echo "- the configuration is read, and the servers are as they should be"
host a /usr/local/bin/redlock config show >"$work/show"
grep -q "/etc/redlock/redlock.conf:" "$work/show" || fail "the configuration was not read: $(<"$work/show")"

echo "- the commands of README.md"
block sh >"$work/commands"
[[ -s $work/commands ]] || fail "README.md has no block \`sh\`"
# shellcheck disable=SC2016 # for the job
printf '#!/bin/sh\necho "$(hostname) backs up" >>%s/runs\nsleep 1\n' "$work" >"$work/backup"
install -m 755 "$work/backup" /usr/local/bin/backup
: >"$work/runs"
while read -r command; do
	code=0
	host a sh -c "PATH=/usr/local/bin:\$PATH; $command" >"$work/log" 2>&1 || code=$?
	# These servers keep nothing on disk and have no TLS: warnings.
	[[ $command == redlock\ doctor* && $code == 1 ]] || ((code == 0)) || fail "$command: $code: $(<"$work/log")"
done <"$work/commands"
grep -q 'a backs up' "$work/runs" || fail "the commands ran no job"

echo "- the line for cron: one of three hosts runs the job, the others print nothing"
line=$(block crontab | sed -nE 's/^([^# ]+ +){5}//p')
path=$(block crontab | sed -n 's/^PATH=//p')
[[ -n $line && -n $path ]] || fail "README.md has no block \`crontab\` with a PATH"
examples=$work/tree/usr/local/share/doc/redlock/examples
for folder in /usr/local/bin /usr/bin; do # of `cmake --install`, and of a package
	[[ :$path: == *:$folder:* ]] || fail "PATH has no $folder: $path"
done
grep -qx "PATH=$path" "$examples/crontab" || fail "examples/crontab has another PATH than README.md"
line=${line/--once-per 20h/--once-per 2s}
for round in 1 2 3; do
	: >"$work/runs"
	pids=()
	for name in a b c; do
		host "$name" env PATH="$path" sh -c "$line" >"$work/cron.$name" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "a host failed: $(cat "$work"/cron.*)"
	done
	(($(wc -l <"$work/runs") == 1)) || fail "round $round: $(wc -l <"$work/runs") hosts ran the job"
	[[ ! -s $work/cron.a && ! -s $work/cron.b && ! -s $work/cron.c ]] || fail "cron would send: $(cat "$work"/cron.*)"
	sleep 2.1
done

echo "- the first line of examples/crontab: a job that fails without a word prints something, which cron sends"
line=$(sed -nE 's/^([0-9*]+ +){5}//p' "$examples/crontab" | head -n 1)
printf '#!/bin/sh\nexit 3\n' >/usr/local/bin/backup
host a env PATH="$path" sh -c "$line" >"$work/log" 2>&1 || fail "the line failed: $(<"$work/log")"
grep -q 'exit code 3' "$work/log" || fail "cron would send nothing of a failed job: $(<"$work/log")"
host b env PATH="$path" sh -c "$line" >"$work/log" 2>&1 || fail "the line failed: $(<"$work/log")"
[[ ! -s $work/log ]] || fail "cron would send: $(<"$work/log")"

echo "- every key of the sample configuration is one"
sed -nE 's/^#([a-z-]+ = .*)/\1/p' "$work/tree/etc/redlock/redlock.conf" |
	grep -vE '^(cluster|quorums|joining|cacert|cacertdir|cert|key|password-file) =' >/etc/redlock/redlock.conf
sed -i '/127\.0\.0\.1/d' /etc/redlock/redlock.conf
sort -u -o /etc/redlock/redlock.conf /etc/redlock/redlock.conf
host a /usr/local/bin/redlock config show >"$work/show" 2>&1 || fail "$(<"$work/show")"
echo ok
