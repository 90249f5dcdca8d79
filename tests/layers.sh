#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Keeps the layers apart (docs/design.md): who may include what, what the core may call, what functions are called,
# and how large files and functions may grow. Prints each violation as "RULE: where: what".
#
#   layers.sh [--root DIR] [--objects FILE...]   checks; without --objects it compiles the core itself
#   layers.sh --self-test                        plants violations in a copy and sees each one found
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
objects=()
self_test=false
while (($#)); do
	case $1 in
	--root) root=$2 && shift 2 ;;
	--self-test) self_test=true && shift ;;
	--objects)
		shift
		objects=("$@")
		break
		;;
	*) echo "layers.sh: unknown argument $1" >&2 && exit 64 ;;
	esac
done

max_file_lines=600
max_function_lines=70

work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT

violations=0
violation() { # RULE WHERE WHAT
	echo "$1: $2: $3"
	violations=$((violations + 1))
}

# ---- What the core calls ---------------------------------------------------------------------------------------

# Plain computing. Then what compilers, sanitizers and coverage put in.
core_calls='snprintf|vsnprintf|memcpy|memset|memmove|memcmp|memchr|strlen|strcmp|__assert_fail'
added_calls='__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|tsan|sanitizer|gcov|llvm)_.*|__(v?snprintf|mem(cpy|set|move))_chk'

compile_core() {
	local file
	for file in src/core/*.c; do
		"${CC:-cc}" -std=c11 -O1 -Isrc -Iinclude -c "$file" -o "$work/$(basename "$file").o" || return
	done
	objects=("$work"/*.o)
}

check_core_calls() {
	local object symbol
	if ((${#objects[@]} == 0)) && ! compile_core; then
		violation core-calls src/core "does not compile"
		return
	fi
	nm --defined-only "${objects[@]}" | awk 'NF == 3 { print $3 }' | sort -u >"$work/defined"
	[[ -s $work/defined ]] || violation core-calls src/core "has no symbols: nothing was checked"
	while read -r object symbol; do
		violation core-calls "src/core/$(basename "$object" .o)" "calls $symbol()"
	done < <(nm -A -u "${objects[@]}" | sed -nE 's/^(.*): +U (.*)/\1 \2/p' | grep -vE " ($core_calls|$added_calls)$" |
		awk 'NR == FNR { defined[$1]; next } !($2 in defined)' "$work/defined" -)
}

# ---- Who includes what -----------------------------------------------------------------------------------------

public='<redlock/redlock\.h>'
plain='<(assert|ctype|errno|inttypes|limits|stdalign|stdarg|stdbool|stddef|stdint|stdio|stdlib|strings?)\.h>'
pure='<(assert|inttypes|limits|stdarg|stdbool|stddef|stdint|stdio|string)\.h>'

# includes RULE ALLOWED FILE...: every #include of the files matches the expression.
includes() {
	local rule=$1 allowed=$2 file include
	shift 2
	(($#)) || return 0
	while read -r file include; do
		violation "$rule" "$file" "includes $include"
	done < <(awk 'match($0, /^[ \t]*#[ \t]*include[ \t]*/) {
		name = substr($0, RLENGTH + 1)
		match(name, /^(<[^>]*>|"[^"]*")/)
		print FILENAME, substr(name, 1, RLENGTH)
	}' "$@" | grep -vE "^[^ ]+ ($allowed)$")
}

c_files() { # FOLDER [FIND OPTION...]
	find "$@" -name '*.[ch]' | sort
}

own_headers() { # FOLDER: the headers in it, as an expression
	find "$1" -name '*.h' -printf '"(\\.\\./|[a-z]+/)?%f"|' | sed 's/\.h"/\\.h"/g'
}

# shellcheck disable=SC2046 # names of files are words
check_includes() {
	local folder
	includes core-includes "\"core/[a-z_]+\\.h\"|$public|$pure" $(c_files src/core)
	includes proto-includes "\"(core|proto)/[a-z_]+\\.h\"|$public|$plain" $(c_files src/proto)
	includes net-includes "\"(core|proto|net|os)/[a-z_]+\\.h\"|<sys/types\.h>|$public|$plain" \
		$(c_files src/net ! -name 'resp.c' ! -name 'openssl.*')
	includes net-includes "\"net/openssl\\.h\"|<openssl/[a-z0-9]+\\.h>|<(dlfcn|pthread)\.h>|$plain" $(c_files src/net -name 'openssl.*')
	includes net-includes "\"(proto|net)/[a-z_]+\\.h\"|<hiredis/(hiredis|read)\\.h>|$public|$plain" src/net/resp.c
	# the objects of a node: none of them knows another, nor the node
	includes net-objects "\"(core/[a-z_]+|proto/[a-z_]+|net/(ledger|facts|outbox))\\.h\"|$plain" src/net/ledger.[ch]
	includes net-objects "\"(proto/[a-z_]+|net/(talk|outbox))\\.h\"|$plain" src/net/talk.[ch]
	includes net-objects "\"(core/[a-z_]+|net/(link|backoff|dial|facts|outbox|resp|stream|url)|os/poller)\\.h\"|$plain" \
		src/net/link.[ch]
	includes os-includes '"os/[a-z_]+\.h"|<[a-z0-9_/]+\.h>' $(c_files src/os)
	includes client-includes "\"([a-z]+/)?[a-z_]+\\.h\"|<(pthread|semaphore|signal|stdatomic|sys/types)\\.h>|$public|$plain" \
		$(c_files src -maxdepth 1)
	for folder in tools/redlock examples; do
		includes "${folder%%/*}-includes" "$(own_headers "$folder")$public|<[a-z0-9_/]+\\.h>" $(c_files "$folder")
	done
}

# ---- The platform ----------------------------------------------------------------------------------------------

check_platform() {
	local line
	while read -r line; do
		violation platform-test "${line%%:*}" "only src/os knows platforms: ${line#*:}"
	done < <(grep -rnE '^\s*#\s*(el)?if.*\b(__linux__|__unix__|__APPLE__|__(Free|Net|Open)BSD__|__GLIBC__|_WIN32)\b' \
		--include='*.[ch]' --exclude-dir=os src)
	while read -r line; do
		violation clock "${line%%:*}" "only src/os/clock.c reads a clock: ${line#*:}"
	done < <(grep -rnE '\b(clock_gettime|gettimeofday|timespec_get|time|clock)\((NULL|CLOCK|&|0?\))' \
		--include='*.[ch]' --exclude=clock.c src)
}

# ---- Names -----------------------------------------------------------------------------------------------------

# A function that other files may call is named after the file that defines it: src/net/url.c has rl_url_parse().
# shellcheck disable=SC2046
check_names() {
	local file function
	while read -r file function; do
		violation prefix-is-file "$file" "defines $function()"
	done < <(awk '
		FNR == 1 {
			prefix = FILENAME
			gsub(/.*\/|\.[ch]$/, "", prefix)
			head = ""
		}
		/^[a-zA-Z]/ { head = $0 }
		/^\{/ && (FILENAME ~ /h$/ || head !~ /^static /) && match(head, /[a-z_0-9]+\(/) {
			name = substr(head, RSTART, RLENGTH - 1)
			if (name !~ /^redlock_/ && name !~ "^rl_" prefix "(_|$)")
				print FILENAME, name
		}' $(c_files src))
}

# ---- Sizes -----------------------------------------------------------------------------------------------------

# As clang-format lays it out, only a function's body opens and closes in the first column.
# shellcheck disable=SC2046
check_sizes() {
	local rule file what
	while read -r rule file what; do
		violation "$rule" "$file" "$what"
	done < <(awk -v max_file="$max_file_lines" -v max_function="$max_function_lines" '
		FNR == max_file + 1 { print "file-size", FILENAME, "has more than " max_file " lines" }
		FNR == 1 { start = 0 }
		/^[a-zA-Z]/ { head = $0 }
		/^\{/ { start = FNR }
		/^\}/ && start {
			lines = FNR - start - 1
			if (lines > max_function)
				print "function-size", FILENAME, head " has " lines " lines, at most " max_function
			start = 0
		}' $(c_files include) $(c_files src) $(c_files tools) $(c_files sim))
}

check() {
	cd "$root" || return
	check_core_calls
	check_includes
	check_platform
	check_names
	check_sizes
	((violations == 0))
}

# ---- Self-test -------------------------------------------------------------------------------------------------

planted=0
missed=0

# plant RULE FILE TEXT: with the text at the end of the file, this script must fail and name the rule. Only what the
# core calls needs it compiled anew.
plant() {
	local rule=$1 file=$work/copy/$2 output compiled=(--objects "${objects[@]}")
	[[ $rule != core-calls ]] || compiled=()
	if ! cp "$file" "$work/saved"; then
		missed=$((missed + 1))
		return
	fi
	printf '%b\n' "$3" >>"$file"
	planted=$((planted + 1))
	if output=$("$0" --root "$work/copy" "${compiled[@]}" 2>&1) || ! grep -q "^$rule: $2" <<<"$output"; then
		echo "not found: $rule in $2 (text: ${3:0:60})"
		missed=$((missed + 1))
	fi
	mv "$work/saved" "$file"
}

self_test() {
	local folder
	mkdir "$work/copy"
	for folder in include src tools sim examples; do
		[[ ! -d $root/$folder ]] || cp -r "$root/$folder" "$work/copy/"
	done
	if ! cd "$root" || ! compile_core || ! "$0" --root "$work/copy" --objects "${objects[@]}"; then
		echo "the copy itself has violations"
		return 1
	fi
	local many_lines
	many_lines=$(printf 'x++;\\n%.0s' $(seq $((max_function_lines + 1))))
	plant core-calls src/core/quorum.c '#include <stdlib.h>\nvoid *leak(void);\nvoid *leak(void) { return malloc(1); }'
	plant core-includes src/core/quorum.c '#include <time.h>'
	plant core-includes src/core/quorum.h '# include "os/clock.h"'
	plant proto-includes src/proto/ops.c '#include "net/resp.h"'
	plant proto-includes src/proto/ops.h '#include <time.h>'
	plant net-includes src/net/url.c '#include <hiredis/read.h>'
	plant net-includes src/net/url.c '#include <sys/socket.h>'
	plant net-includes src/net/url.c '#include "client.h"'
	plant net-objects src/net/ledger.c '#include "net/link.h"'
	plant net-objects src/net/talk.h '#include "net/node.h"'
	plant net-objects src/net/link.c '#include "net/handshake.h"'
	plant os-includes src/os/clock.c '#include "net/url.h"'
	plant client-includes src/client.c '#include <sys/epoll.h>'
	plant tools-includes tools/redlock/main.c '#include "core/quorum.h"'
	plant platform-test src/net/url.c '#ifdef __linux__\n#endif'
	plant platform-test src/net/url.c '#if defined(__APPLE__)\n#endif'
	plant clock src/os/random.c 'long now(void) { return time(NULL); }'
	plant prefix-is-file src/net/url.c 'int rl_link_parse(void)\n{\n\treturn 0;\n}'
	plant prefix-is-file src/net/url.c 'struct rl_endpoint *\nparse(void)\n{\n\treturn 0;\n}'
	plant prefix-is-file src/nodes.h 'static inline int rl_node_count(void)\n{\n\treturn 0;\n}'
	plant function-size src/net/url.c "int f(int x)\n{\n${many_lines}}"
	plant file-size include/redlock/redlock.h "$(printf '\\n%.0s' {1..150})"
	plant file-size src/net/url.c "$(printf '\\n%.0s' $(seq $max_file_lines))"
	echo "$((planted - missed)) of $planted planted violations were found"
	((missed == 0))
}

if $self_test; then
	self_test
else
	check
fi
