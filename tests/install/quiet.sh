#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# quiet.sh LIBRARY: the library can neither print nor end the process: it calls nothing that would.
set -euo pipefail
calls=$(nm --dynamic --undefined-only "$1" | awk '{ sub(/@.*/, "", $2); print $2 }')
[[ $'\n'$calls$'\n' == *$'\ngetrandom\n'* ]] || { echo "quiet.sh: $1: not the library: it does not call getrandom" >&2 && exit 1; }
bad=$(grep -xE '(__)?(v?d?f?printf|putc|fputc|putchar|f?puts|fwrite|perror|psignal|v?syslog|v?(err|warn)x?)(_chk)?|std(out|err)|_?_?exit|_Exit|quick_exit|abort|raise|kill' \
	<<<"$calls" || true)
[[ -z $bad ]] || { echo "quiet.sh: $1 calls ${bad//$'\n'/ }" >&2 && exit 1; }
