#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check.sh: ./check of a user who may install nothing, on a host without the packages: it names them, and ends with 1.
# And TERM ends ./check --bare while it makes a Debian: no process, mount or file of it is left, nothing else is touched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d /tmp/rl-check-user.XXXXXX) # $TMPDIR of a run of ./check can be reached by its own user only
trap 'rm -rf "$work"' EXIT

fail() {
	echo "check.sh: $*" >&2
	exit 1
}

user=()
if ((EUID == 0)); then
	user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	# ./check looks at each process at its end: without those of the machine that takes less time.
	! unshare --pid --fork --mount-proc true 2>/dev/null || user=(unshare --pid --fork --mount-proc "${user[@]}")
fi
mkdir "$work/bin" "$work/source"
printf '#!/bin/sh\nexit 1\n' | tee "$work/bin/dpkg-query" >"$work/bin/sudo" # nothing is installed, no right to install
chmod 755 "$work" "$work"/bin/*
cp -r check cmake "$work/source"
((EUID != 0)) || chown -R 65534 "$work/source"
code=0
PATH=$work/bin:$PATH "${user[@]}" "$work/source/check" --quick >"$work/out" 2>&1 </dev/null || code=$?
[[ $code == 1 ]] || fail "exit code $code, not 1: $(<"$work/out")"
grep -q '^Packages are missing' "$work/out" || fail "the packages are not named: $(<"$work/out")"
(($(wc -l <"$work/out") == 2)) || fail "more is said than that: $(<"$work/out")"

if ((EUID != 0)) || ! unshare --mount --pid --ipc --user true 2>/dev/null; then
	echo "ok, but --bare needs root and namespaces"
	exit
fi
cp -r --parents tests/bare "$work/source"
mkdir "$work/precious"
touch "$work/precious/file"
# As mmdebstrap --mode=root does: /proc, /sys and others are mounted in the tree.
cat >"$work/bin/mmdebstrap" <<-END
	#!/bin/sh
	while [ "\${1#-}" != "\$1" ]; do shift; done
	mkdir -p "\$2/sys" && mount --bind "$work/precious" "\$2/sys" && mkdir "\$2/dev" && mount -t tmpfs fake "\$2/dev" || exit
	echo "\$2" >"$work/made"
	sleep 600
END
chmod 755 "$work/bin/mmdebstrap"
PATH=$work/bin:$PATH "$work/source/check" --bare >"$work/out" 2>&1 </dev/null &
check=$!
for _ in {1..300}; do
	[[ ! -s $work/made ]] || break
	sleep 0.1
done
tree=$(<"$work/made")
kill -TERM "$check"
code=0
wait "$check" || code=$?
[[ $code == 130 ]] || fail "--bare: exit code $code after TERM, not 130: $(<"$work/out")"
[[ ! -s $work/out ]] || fail "--bare says after TERM: $(head "$work/out")"
[[ ! -e ${tree%/*/*} ]] || fail "--bare left files: $(find "${tree%/*/*}" | head)"
[[ $(</proc/self/mounts) != *"$tree"* ]] || fail "--bare left mounts"
[[ -z $(pgrep -f "$work/bin/mmdebstrap") ]] || fail "--bare left processes"
[[ -e $work/precious/file ]] || fail "--bare removed what was mounted"
echo ok
