#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: repeatable.sh REDLOCK_SIM REDLOCK_SIM_SETS
# Two processes (with other addresses in memory) must print the same trace, byte for byte, and the same hashes; so must
# one that ran other seeds before. And the same table of node sets.
set -eu
sim=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

compare() {
	"$sim" "$@" >"$work/first"
	"$sim" "$@" >"$work/second"
	[ -s "$work/first" ]
	cmp "$work/first" "$work/second"
}

for seed in 1 2 5 13; do
	compare --seed "$seed" --trace
done
compare --seeds 100..129 --hash
"$sim" --seeds 110..129 --hash >"$work/later"
tail -n 20 "$work/first" | cmp - "$work/later"
sim=$2
compare --seed 3
echo "same seed, same trace"
