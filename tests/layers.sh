#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Keeps the layers apart (docs/design.md): who may include and call what, that no files call or include each other in
# a circle, that each one is built, what functions and data are called, and how large files and functions may grow.
# Prints each violation as "RULE: where: what".
#
#   layers.sh [--root DIR] [--objects FILE...]   checks; without --objects, those of all layers, it compiles src itself
#   layers.sh --self-test [--objects FILE...]    plants violations in a copy and sees each one found
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
		objects=("${@//\/.\///}") # CMake has them in "rl_core.dir/./core"
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

# ---- Objects ---------------------------------------------------------------------------------------------------

# Where a build keeps the scripts as a header: that of the objects, or any.
generated() {
	local header
	for header in "${objects[0]:-/none}" "$root"/build/*/generated/proto/scripts_generated.h; do
		header=${header%/src/CMakeFiles/*}
		header=${header%/generated/*}/generated
		[[ -d $header ]] && echo "$header" && return
	done
	echo "layers.sh: no build has the scripts as a header: cmake --preset dev" >&2
	return 1
}

# compile FOLDER SOURCE...: files of src in the current folder, into another one.
compile() {
	local flags source to=$1
	shift
	flags=-I$(generated) || return
	flags+=" -std=c11 -O1 -w -D_GNU_SOURCE -Isrc -Iinclude $(pkg-config --cflags hiredis openssl 2>/dev/null)"
	for source in "$@"; do
		mkdir -p "$to/$(dirname "${source#src/}")"
	done
	# shellcheck disable=SC2086 # flags are words
	printf '%s\n' "$@" | sed 's|^src/||' |
		xargs -P "$(nproc)" -I'{}' "${CC:-cc}" $flags -c src/'{}' -o "$to/"'{}'.o
}

# shellcheck disable=SC2046 # names of files are words
compile_all() {
	compile "$work/src.dir" $(find src -name '*.c' | sort) || return
	mapfile -t objects < <(find "$work/src.dir" -name '*.o' | sort)
}

# One line for each symbol: file, kind as of nm(1), name.
read_symbols() {
	if ((${#objects[@]} == 0)) && ! compile_all; then
		violation objects src "does not compile"
		return
	fi
	local folder
	nm -A "${objects[@]}" |
		sed -nE 's|^(.*\.dir/)?([^:]*)\.o: *[0-9a-f]* ([A-Za-z]) ([^ @]*).*$|\2 \3 \4|p' >"$work/symbols"
	for folder in core proto net os config client.c; do
		grep -q "^$folder" "$work/symbols" || violation objects "src/$folder" "has no symbols: nothing was checked"
	done
}

# A file that no layer is made of is a leftover: every test passes with it, and with whatever is in it.
check_built() {
	local file
	while read -r file; do
		violation unbuilt "$file" "is in no layer of src/CMakeLists.txt"
	done < <(find src -name '*.c' | sort | grep -vxFf <(printf '%s\n' "${objects[@]}" | sed -E 's|^.*\.dir/|src/|; s|\.o$||'))
}

# Symbols that compilers, sanitizers and coverage add.
added_calls='bcmp|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|tsan|sanitizer|gcov|llvm)_.*|__(v?snprintf|mem(cpy|set|move))_chk'

# Plain computing; and what requests of any length need besides.
core_calls='snprintf|vsnprintf|memcpy|memset|memmove|memcmp|memchr|strlen|strcmp|__assert_fail'
proto_calls="$core_calls|malloc|calloc|realloc|free|strchr|strcspn|strncmp|strstr"
not_ours='[^r].*|r[^l].*'

# calls RULE FOLDER FOLDERS ALLOWED: the folder calls what the folders define, and else what the expression allows.
calls() {
	local file symbol
	while read -r file symbol; do
		violation "$1" "src/$file" "calls $symbol()"
	done < <(awk -v folder="$2" -v folders="^($3)/" -v allowed="^($4|$added_calls)$" '
		NR == FNR { if ($2 ~ /[A-TV-Z]/ && $1 ~ folders) defined[$3]; next }
		$2 == "U" && index($1, folder "/") == 1 && !($3 in defined) && $3 !~ allowed { print $1, $3 }
	' "$work/symbols" "$work/symbols")
}

check_calls() {
	local file symbol
	calls core-calls core core "$core_calls"
	calls proto-calls proto 'core|proto' "$proto_calls"
	calls net-calls net 'core|proto|net|os' "$not_ours"
	calls os-calls os os "$not_ours"
	calls config-calls config 'config|os' "$not_ours"
	while read -r file symbol; do
		violation clock "src/$file" "calls $symbol(): only src/os/clock.c reads a clock"
	done < <(awk '$2 == "U" && $1 != "os/clock.c" &&
		$3 ~ /^(__)?(clock|clock_gettime|ftime|getrusage|gettimeofday|time|times|timespec_get)(64)?$/ { print $1, $3 }
	' "$work/symbols")
}

# ---- Circles ---------------------------------------------------------------------------------------------------

# circles WHAT EDGES: no way leads back to where it began. An edge is a line "FROM TO".
circles() {
	local file circle
	while read -r file circle; do
		violation circle "src/$file" "$1 in a circle: $circle"
	done < <(
		LC_ALL=C tsort "$2" 2>&1 >/dev/null | awk '
		function tell(i) { for (i = 0; i < count; i++) print files[i] circle; count = 0; circle = "" }
		/input contains a loop/ { tell(); next }
		{ files[count++] = $2; circle = circle " " $2 }
		END { tell() }'
	)
}

# The edges of calls: a file calls another one, or uses its data.
edges_of_calls() {
	awk '
		NR == FNR { if ($2 ~ /[A-TV-Z]/) home[$3] = $1; next }
		$2 == "U" && $3 in home && home[$3] != $1 { print $1, home[$3] }
	' "$work/symbols" "$work/symbols" | sort -u
}

# The edges of includes. A header is one with the file that defines its functions; with types alone it is by itself.
# shellcheck disable=SC2046
edges_of_includes() {
	awk '
		FNR == 1 { head = ""; file = FILENAME; sub(/^src\//, "", file); stem = file; sub(/\.[ch]$/, "", stem) }
		/^[a-zA-Z]/ { head = $0 }
		/^\{/ && file ~ /c$/ && head !~ /^static / && match(head, /rl_[a-z_0-9]+\(/) {
			defined[stem, substr(head, RSTART, RLENGTH)]
		}
		file ~ /h$/ {
			for (rest = $0; match(rest, /rl_[a-z_0-9]+\(/); rest = substr(rest, RSTART + RLENGTH))
				if ((stem, substr(rest, RSTART, RLENGTH)) in defined)
					one[file] = stem ".c"
		}
		match($0, /^[ \t]*#[ \t]*include[ \t]*["<]/) {
			name = substr($0, RLENGTH + 1)
			sub(/[">].*/, "", name)
			from[++count] = file
			to[count] = name
		}
		function node(name) { return name in one ? one[name] : name }
		END {
			for (i = 1; i <= count; i++)
				if (node(from[i]) != node(to[i]))
					print node(from[i]), node(to[i])
		}' $(find src -name '*.c') $(find src -name '*.h')
}

check_circles() {
	edges_of_calls >"$work/edges"
	circles calls "$work/edges"
	edges_of_includes >"$work/edges"
	circles includes "$work/edges"
}

# ---- Includes ----------------------------------------------------------------------------------------------------

public='<redlock/(redlock|ask|url)\.h>'
plain='<(assert|ctype|errno|inttypes|limits|stdalign|stdarg|stdbool|stddef|stdint|stdio|stdlib|strings?)\.h>'
system='<((arpa|linux|net|netinet|sys)/)?[a-z0-9_]+\.h>'
pure='<(assert|inttypes|limits|stdarg|stdbool|stddef|stdint|stdio|string)\.h>'

# includes RULE ALLOWED FILE...: every #include of the files matches the expression. A header of src counts as one in
# quotes, also if it is in brackets.
includes() {
	local rule=$1 allowed=$2 file include
	shift 2
	(($#)) || return 0
	while read -r file include; do
		violation "$rule" "$file" "includes $include"
	done < <(awk 'match($0, /^[ \t]*#[ \t]*include[ \t]*/) {
		name = substr($0, RLENGTH + 1)
		match(name, /^(<[^>]*>|"[^"]*")/)
		name = substr(name, 1, RLENGTH)
		path = "src/" substr(name, 2, length(name) - 2)
		if (name ~ /^</ && (getline line <path) >= 0)
			name = "\"" substr(path, 5) "\""
		close(path)
		print FILENAME, name
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
	includes net-includes "\"(net/openssl|os/thread)\\.h\"|<openssl/[a-z0-9]+\\.h>|<dlfcn\.h>|$plain" $(c_files src/net -name 'openssl.*')
	includes net-includes "\"(proto|net)/[a-z_]+\\.h\"|<hiredis/(hiredis|read)\\.h>|$public|$plain" src/net/resp.c
	# the objects of a node: none of them knows another, nor the node
	includes net-objects "\"(core/[a-z_]+|proto/[a-z_]+|net/(ledger|facts|outbox))\\.h\"|$plain" src/net/ledger.[ch]
	includes net-objects "\"(proto/[a-z_]+|net/(talk|outbox))\\.h\"|$plain" src/net/talk.[ch]
	includes net-objects "\"(core/[a-z_]+|net/(link|backoff|dial|facts|outbox|resp|tls|url)|os/(poller|socket))\\.h\"|$plain" \
		src/net/link.[ch]
	includes os-includes "\"os/[a-z_]+\\.h\"|$system" $(c_files src/os)
	includes client-includes "\"([a-z]+/)?[a-z_]+\\.h\"|<(semaphore|signal|stdatomic|sys/types)\\.h>|$public|$plain" \
		$(c_files src -maxdepth 1)
	includes config-includes "\"(config/[a-z_]+|os/(file|thread)|core/(sized|lock_options))\\.h\"|$public|$plain" $(c_files src/config)
	for folder in tools/redlock examples; do
		includes "${folder%%/*}-includes" "$(own_headers "$folder")$public|$system" $(c_files "$folder")
	done
	includes sim-includes "\"[a-z_/]+\\.h\"|$public|$system" $(c_files sim)
}

# ---- The platform ----------------------------------------------------------------------------------------------

check_platform() {
	local line
	while read -r line; do
		violation platform-test "${line%%:*}" "only src/os knows platforms: ${line#*:}"
	done < <(grep -rnE '^\s*#\s*(el)?if.*\b(__linux__|__unix__|__APPLE__|__(Free|Net|Open)BSD__|__GLIBC__|_WIN32)\b' \
		--include='*.[ch]' --exclude-dir=os src)
	while read -r line; do
		violation threads "${line%%:*}" "only src/os/thread.h uses pthreads: ${line#*:}"
	done < <(grep -rn 'pthread' --include='*.[ch]' --exclude=thread.h src)
}

# ---- Names -----------------------------------------------------------------------------------------------------

# Functions and data that other files may use are named after the file that defines them: src/net/url.c has
# rl_url_parse(), and src/core/kinds.c rl_kinds.
# shellcheck disable=SC2046
check_names() {
	local file function name
	while read -r file name; do
		violation prefix-is-file "src/$file" "defines the data $name"
	done < <(awk '$2 ~ /[BCDGRSV]/ && $3 !~ /^(__|redlock_)/ {
		stem = $1
		gsub(/.*\/|\.c$/, "", stem)
		if ($3 !~ "^rl_" stem "(_|$)")
			print $1, $3
	}' "$work/symbols")
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
	read_symbols
	check_built
	check_calls
	check_circles
	check_includes
	check_platform
	check_names
	check_sizes
	((violations == 0))
}

# ---- Self-test -------------------------------------------------------------------------------------------------

planted=0
missed=0

# The objects, with that of the planted file instead of its own. False: it does not compile.
compile_planted() { # FILE
	local object
	(cd "$work/copy" && compile "$work/planted.dir" "$1") || return
	for object in "${objects[@]}"; do
		[[ $object == *".dir/${1#src/}.o" ]] && object=$work/planted.dir/${1#src/}.o
		echo "$object"
	done >"$work/planted"
}

# plant RULE FILE TEXT: with the text at the end of the file, or as a new one, this script must fail and name the rule.
plant() {
	local rule=$1 file=$work/copy/$2 output compiled=("${objects[@]}")
	[[ ! -e $file ]] || cp "$file" "$work/saved"
	printf '%b\n' "$3" >>"$file"
	planted=$((planted + 1))
	if [[ $rule =~ ^($compiled_rules)$ && $file == *.c ]]; then
		compile_planted "$2" && mapfile -t compiled <"$work/planted"
	fi
	if output=$("$0" --root "$work/copy" --objects "${compiled[@]}" 2>&1) || ! grep -q "^$rule: $2" <<<"$output"; then
		echo "not found: $rule in $2 (text: ${3:0:60})"
		missed=$((missed + 1))
	fi
	rm "$file"
	[[ ! -e $work/saved ]] || mv "$work/saved" "$file"
}

# A function of that name, which calls another one.
calling() { # NAME CALLED
	printf 'int %s();\nint %s(void);\nint %s(void) { return %s(); }\n' "$2" "$1" "$1" "$2"
}

# The rules that look at objects: for these the planted file is compiled.
compiled_rules='(core|proto|net|os|config)-calls|clock|circle|prefix-is-file'

self_test() {
	local folder
	mkdir "$work/copy"
	for folder in include src tools sim examples; do
		[[ ! -d $root/$folder ]] || cp -r "$root/$folder" "$work/copy/"
	done
	cd "$root" || return
	((${#objects[@]} > 0)) || compile_all || return
	if ! "$0" --root "$work/copy" --objects "${objects[@]}"; then
		echo "the copy itself has violations"
		return 1
	fi
	local many_lines
	many_lines=$(printf 'x++;\\n%.0s' $(seq $((max_function_lines + 1))))
	plant unbuilt src/core/leftover.c 'int rl_leftover;'
	plant core-calls src/core/quorum.c '#include <stdlib.h>\nvoid *leak(void);\nvoid *leak(void) { return malloc(1); }'
	plant core-calls src/core/quorum.c "$(calling rl_quorum_x rl_url_parse)"
	plant proto-calls src/proto/names.c "$(calling rl_names_x socket)"
	plant net-calls src/net/url.c "$(calling rl_url_x rl_options_check_owner)"
	plant os-calls src/os/path.c "$(calling rl_path_x rl_url_free)"
	plant config-calls src/config/words.c "$(calling rl_words_x rl_turn_settle)"
	plant config-includes src/config/words.c '#include "net/url.h"'
	plant circle src/net/backoff.c "$(calling rl_backoff_x rl_node_connect)"
	plant circle src/schedule.c "$(calling rl_schedule_x rl_turn_settle)"
	plant circle src/net/resp.c '#include "net/node.h"'
	plant circle src/core/quorum.c '#include "core/enter.h"'
	plant circle src/schedule.c '#include "client.h"'
	plant circle src/net/inside.h '#include "net/submit.h"'
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
	plant os-includes src/os/clock.c '#include <net/url.h>'
	plant os-includes src/os/clock.c '#include <turn.h>'
	plant os-includes src/os/path.c '#include <hiredis/hiredis.h>'
	plant os-includes src/os/path.h '#include <openssl/ssl.h>'
	plant client-includes src/client.c '#include <sys/epoll.h>'
	plant tools-includes tools/redlock/main.c '#include "core/quorum.h"'
	plant tools-includes tools/redlock/main.c '#include <core/quorum.h>'
	plant tools-includes tools/redlock/main.c '#include <hiredis/hiredis.h>'
	plant sim-includes sim/world.c '#include <hiredis/hiredis.h>'
	plant platform-test src/net/url.c '#ifdef __linux__\n#endif'
	plant platform-test src/net/url.c '#if defined(__APPLE__)\n#endif'
	plant threads src/turn.c '#include <pthread.h>'
	plant threads src/os/lookup.c 'static pthread_mutex_t mutex;'
	plant threads src/loop.h 'static inline int rl_loop_yield(void) { return pthread_yield(); }'
	plant clock src/os/random.c '#include <time.h>\nlong rl_random_x(void) { return time(NULL); }'
	plant clock src/turn.c 'int rl_turn_x(clockid_t id) { struct timespec t; return clock_gettime(id, &t); }'
	plant prefix-is-file src/net/url.c 'int rl_link_parse(void)\n{\n\treturn 0;\n}'
	plant prefix-is-file src/net/url.c 'struct rl_endpoint *\ndissect(void)\n{\n\treturn 0;\n}'
	plant prefix-is-file src/nodes.h 'static inline int rl_node_count(void)\n{\n\treturn 0;\n}'
	plant prefix-is-file src/net/url.c 'int rl_link_table[2] = {1};'
	plant prefix-is-file src/core/vote.c 'extern const int rl_link_table[];\nconst int rl_link_table[2] = {1};'
	plant function-size src/net/url.c "int f(int x)\n{\n${many_lines}}"
	plant file-size include/redlock/redlock.h "$(printf '\\n%.0s' $(seq $max_file_lines))"
	plant file-size src/net/url.c "$(printf '\\n%.0s' $(seq $max_file_lines))"
	echo "$((planted - missed)) of $planted planted violations were found"
	((missed == 0))
}

if $self_test; then
	self_test
else
	check
fi
