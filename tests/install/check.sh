#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check.sh: ./check of a user who may install nothing, on a host without the packages: it names them, and ends with 1.
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
echo ok
