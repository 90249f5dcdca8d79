#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Records clients that contend on real servers, and has the theorems compare the record. Without the commands of one
# server they must refuse it: a vote is counted that this server did not give.
#
#   real.sh DIRECTORY-OF-PROGRAMS plain|fenced PAIRS
set -euo pipefail
programs=$1 kind=$2 pairs=$3
record=$(mktemp)
trap 'rm -f "$record"' EXIT

"$programs/redlock-sim-real" "$kind" "$pairs" >"$record"
"$programs/redlock-sim-replay" "$kind" <"$record"
if deaf=$("$programs/redlock-sim-replay" "$kind" deaf <"$record"); then
	echo "not refused, although the commands of a server are left out: $deaf" && exit 1
fi
grep -q '^refused: .*\.quorum' <<<"$deaf" || { echo "$deaf" && exit 1; }
