#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install.sh BUILD_DIRECTORY REDIS_SERVER: installs a build into an empty prefix and uses it as a stranger would:
# the header in C99 and C++, a program by pkg-config, programs by find_package, the command, the man pages. Also: what
# the shared library exports is what the header declares.
set -euo pipefail
build=$1
redis_server=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

work=$(mktemp -d)
server=
cleanup() {
	if [[ -n $server ]]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/install.log"
lib=$(dirname "$(find "$prefix" -name libredlock.so)")
header=$prefix/include/redlock/redlock.h
export PKG_CONFIG_PATH=$lib/pkgconfig
unset LD_LIBRARY_PATH

echo "- the files are there"
for file in bin/{redlock,rflock} share/man/man1/{redlock,redlock-run,redlock-doctor,redlock-elect,rflock}.1 share/man/man7/redlock-troubleshooting.7 \
	share/{bash-completion/completions/redlock,zsh/site-functions/_redlock,fish/vendor_completions.d/redlock.fish} share/man/man3/redlock{,_config,_lock,_query}.3 \
	share/man/man3/redlock_acquire.3 share/doc/redlock/{LICENSE,README.md,examples/{redlock.conf,crontab,blocking.c}}; do
	[[ -s $prefix/$file || -s $prefix/$file.gz ]] || fail "$file is not installed"
done
[[ $(readlink "$lib/libredlock.so") == libredlock.so.0 ]] || fail "libredlock.so does not lead to libredlock.so.0"

grep -qx "PATH=$prefix/bin:/usr/local/bin:/usr/bin:/bin" "$prefix/share/doc/redlock/examples/crontab" || fail "the crontab has another path"
grep -q "=$prefix/bin/redlock run" "$prefix/share/doc/redlock/examples/redlock-job.service" || fail "the examples have another path"
for page in "$prefix"/share/man/man3/*.3; do
	read -r _ target <"$page"
	[[ $(head -c 4 "$page") != '.so ' || -s $prefix/share/man/$target ]] || fail "$page leads to $target, which is missing"
done

echo "- the author of a binding has the page and the conformance suite"
page=$prefix/share/doc/redlock/bindings.md
suite=$prefix/share/doc/redlock/examples/conformance
! grep -n '](\.\./' "$page" || fail "$page has links into the source"
grep -q '](examples/conformance/driver.c)' "$page" || fail "$page does not lead to the driver in C"
# shellcheck disable=SC2046 # flags are words
cc -pthread "$suite/driver.c" -o "$work/driver" $(pkg-config --cflags --libs redlock)
LD_LIBRARY_PATH=$lib "$suite/run" --only "is told before" "$prefix/bin/redlock" "$work/driver" >"$work/suite" || fail "$(<"$work/suite")"
grep -qx "1 passed, 0 failed" "$work/suite" || fail "the suite did not run: $(<"$work/suite")"

echo "- it is said when programs would not find the library"
tells() { # TEXT, or "" for silence: what installing says, where ldconfig prints what is in $work/bin/says
	PATH=$work/bin:$PATH cmake --install "$build" --prefix "$prefix" >"$work/again.log"
	if [[ -z $1 ]]; then
		! grep -F ldconfig "$work/again.log" || fail "it was said though programs find it"
	else
		grep -F "$1" "$work/again.log" >/dev/null || fail "it was not said: $1"
	fi
}
grep -F "set LD_LIBRARY_PATH=$lib for them" "$work/install.log" >/dev/null || fail "nothing was said of ldconfig"
mkdir "$work/bin"
printf '#!/bin/sh\ncat "%s"\n' "$work/bin/says" >"$work/bin/ldconfig"
chmod +x "$work/bin/ldconfig"
echo "/usr/lib: (from <builtin>:0)" >"$work/bin/says"
tells "set LD_LIBRARY_PATH=$lib for them"
echo "$lib: (from /etc/ld.so.conf.d/libc.conf:2)" >>"$work/bin/says"
tells "as root. Until then programs do not find $lib/libredlock.so"
DESTDIR=$work/destination tells "" # a package is made
echo "	libredlock.so.0 (libc6,x86-64) => $lib/libredlock.so.0" >>"$work/bin/says"
tells ""

echo "- each header by itself is strict C99, C11, C++98, C++11 and C++17, and cites only what is installed"
! grep -n "docs/" "${header%/*}"/*.h || fail "a header cites a page that is not installed"
for file in "${header%/*}"/*.h; do
	for std in c99 c11; do
		cc -std=$std -pedantic -Wall -Wextra -Werror -fsyntax-only -x c "$file"
	done
	for std in c++98 c++11 c++17; do
		c++ -std=$std -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ "$file"
	done
done

echo "- exported and declared functions are the same"
nm -D --defined-only "$lib/libredlock.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$work/exported"
printf '#include "%s"\n' "${header%/*}"/*.h | cc -E -P - >"$work/headers"
grep -v '^static inline' "$work/headers" | grep -oE '\bredlock_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u >"$work/declared"
[[ -s $work/declared ]] || fail "no function was found in the header"
diff "$work/declared" "$work/exported" || fail "declared (<) and exported (>) functions differ"
sed -nE 's/^ (redlock_[a-z0-9_]+)@.*/\1/p' "$here/../../debian/libredlock0.symbols" | LC_ALL=C sort |
	diff "$work/exported" - || fail "exported functions (<) and debian/libredlock0.symbols (>) differ: correct that file"

echo "- the man pages have all errors and votes of the header, with their values and kinds, and all functions"
cells() { # the first two columns of the tables, as "CODE SECOND"
	awk '/^\|  [A-Z]+$/ { code = $2; getline; print code, $2 }' "${manual[@]}"
}
manual=("$here"/../../docs/man/*.3.scd)
sed -nE 's/^\tX\(([A-Z]+), ([0-9]+, )?(-[0-9]+|[A-Z]+), .*/\1 \3/p' "${header%/*}/results.h" | sort >"$work/codes"
(($(wc -l <"$work/codes") > 30)) || fail "the codes were not found in the header"
cells | grep -xE '[A-Z]+ (-[0-9]+|PENDING|YES|NO|MISSING|FATAL)' | sort >"$work/manual"
diff "$work/codes" "$work/manual" || fail "the header's codes (<) and the manual's (>) differ"
sed -nE 's/^\*.*[ *](redlock_[a-z0-9_]+)\(.*/\1/p' "${manual[@]}" | sort >"$work/described"
grep -oE '\bredlock_[a-z0-9_]+ *\(' "$work/headers" | tr -d ' (' | sort -u >"$work/with_inline"
diff "$work/with_inline" "$work/described" || fail "the header's functions (<) and the man pages' (>) differ"

echo "- a server, and a program by pkg-config"
"$redis_server" --port 0 --unixsocket "$work/redis" --save '' --appendonly no --dir "$work" >"$work/redis.log" &
server=$!
for _ in {1..100}; do
	redis-cli -s "$work/redis" ping >/dev/null 2>&1 && break
	sleep 0.05
done
url=unix://$work/redis
version=$(sed -n 's/^#define REDLOCK_VERSION "\(.*\)"/\1/p' "$header")
[[ $(pkg-config --modversion redlock) == "$version" ]] || fail "redlock.pc has another version than the header"
env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$lib/pkgconfig" pkg-config --cflags --libs redlock >/dev/null || fail "redlock.pc needs others"
# shellcheck disable=SC2046 # flags are words
cc -std=c99 -pedantic -Wall -Wextra -Werror "$here/user/user.c" -o "$work/user" $(pkg-config --cflags --libs redlock)
LD_LIBRARY_PATH=$lib ldd "$work/user" | grep "libredlock.so.0 => $lib/" >/dev/null || fail "not linked to the installed library"
LD_LIBRARY_PATH=$lib "$work/user" "$url"
# shellcheck disable=SC2046
cc "$here/user/user.c" -o "$work/user_static" -Wl,-Bstatic $(pkg-config --cflags --libs redlock) -Wl,-Bdynamic \
	$(pkg-config --static --libs redlock | sed 's/-lredlock//')
"$work/user_static" "$url"

echo "- the program of README.md, as it stands"
# shellcheck disable=SC2016 # backquotes of Markdown
sed -n '/^```c$/,/^```$/{/^```/!p}' "$here/../../README.md" >"$work/readme.c"
# shellcheck disable=SC2046
cc -std=c99 -pedantic -Wall -Wextra -Werror "$work/readme.c" -o "$work/readme" $(pkg-config --cflags --libs redlock)
REDLOCK_URLS=$url REDLOCK_TTL=20s LD_LIBRARY_PATH=$lib "$work/readme" | grep -E '^1[0-9]{4} ms for the work$' >/dev/null ||
	fail "the program of README.md has no lock"
redis-cli -s "$work/redis" set nightly another px 60000 >"$work/set.log"
code=0
REDLOCK_URLS=$url LD_LIBRARY_PATH=$lib "$work/readme" >"$work/readme.out" 2>"$work/readme.err" || code=$?
[[ $code == 1 && ! -s $work/readme.out ]] || fail "the program of README.md: $code without the lock"
grep -q '^busy: held by ' "$work/readme.err" || fail "the program of README.md does not say why: $(<"$work/readme.err")"
redis-cli -s "$work/redis" del nightly >"$work/set.log"

echo "- the two examples at the top of the header"
example() { # FIRST LAST: lines of the header, without the text beside the code
	sed -nE "/^ \\*     $1/,/^ \\*     $2/s/^ \\*     //p" "$header" |
		sed -E 's/(;|\)|\{|\.\.\.)    +[^ ].*$/\1/; s/^( *)\.\.\.$/\1;/'
}
{
	echo '#include <redlock/redlock.h>'
	echo 'int main(void) { char why[256]; redlock_client *client = NULL; redlock_lock *lock = NULL;'
	example 'if \(redlock_open_configured' redlock_close
	example 'static const char' '    return 1'
	echo 'return 0; }'
} >"$work/header.c"
# shellcheck disable=SC2046
cc -std=c99 -pedantic -Wall -Wextra -Werror "$work/header.c" -o "$work/header" $(pkg-config --cflags --libs redlock) ||
	fail "the example of the header does not compile: $(<"$work/header.c")"

echo "- programs by find_package: shared, static, C++17"
cmake -G Ninja -S "$here/user" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" >"$work/cmake.log" ||
	{ cat "$work/cmake.log"; fail "find_package failed"; }
cmake --build "$work/cmake" >"$work/build.log" || { cat "$work/build.log"; fail "the user's build failed"; }
for program in user_shared user_static user_cxx; do
	"$work/cmake/$program" "$url"
done
[[ $(redis-cli -s "$work/redis" dbsize) == 0 ]] || fail "keys were left on the server"

echo "- the command, with the installed library"
"$prefix/bin/redlock" --version | grep -F "$version" >/dev/null || fail "the command has another version than the header"
token=$("$prefix/bin/redlock" acquire -r "$url" job --ttl 30s)
"$prefix/bin/redlock" release -r "$url" job "$token"
ldd "$prefix/bin/redlock" | grep -F "$(realpath "$lib")/libredlock.so.0" >/dev/null ||
	ldd "$prefix/bin/redlock" | grep -F "$prefix/bin/../" >/dev/null || fail "the command uses another library"

echo "- a tree that was moved, and one that is removed"
mv "$prefix" "$work/moved"
code=0
"$work/moved/bin/redlock" check -r redis://localhost:1 job "$token" 2>"$work/moved.log" || code=$?
[[ $code == 69 ]] || fail "a host name: exit code $code, not 69: $(<"$work/moved.log")"
mv "$work/moved" "$prefix"
cmake --build "$build" --target uninstall >"$work/uninstall.log" || fail "$(<"$work/uninstall.log")"
[[ -z $(find "$prefix" ! -type d) ]] || fail "uninstall has left $(find "$prefix" ! -type d)"
[[ ! -e $prefix/share/doc/redlock && ! -e $prefix/include/redlock ]] || fail "uninstall has left folders"
cmake --build "$build" --target uninstall >"$work/uninstall.log"
grep -q 'Removed 0 files' "$work/uninstall.log" || fail "uninstall counts files that it has not removed: $(<"$work/uninstall.log")"

echo "- the components together are the whole, and each file is in one of them"
files() { # FOLDER
	(cd "$1" && find . ! -type d | sort)
}
DESTDIR=$work/whole cmake --install "$build" --prefix /usr >"$work/whole.log"
files "$work/whole" >"$work/whole.files"
for component in libredlock libredlock-dev redlock redlock-exporter redlock-doc; do
	DESTDIR=$work/$component cmake --install "$build" --prefix /usr --component "$component" >"$work/component.log"
	[[ -n $(files "$work/$component") ]] || fail "the component $component is empty"
	files "$work/$component" >>"$work/parts.files"
done
sort "$work/parts.files" | diff "$work/whole.files" - || fail "the whole (<) and its components (>) differ"
! files "$work/redlock-doc" | grep -v '^./usr/share/doc/' || fail "redlock-doc has more than documents"
units=$work/redlock/usr/lib/systemd/system
for unit in redlock-job redlock-service; do
	grep -qE '^ExecStart=/usr/bin/redlock run .*%i -- /etc/redlock/jobs/%i$' "$units/$unit@.service" || fail "$unit@.service: $(<"$units/$unit@.service")"
done
if command -v systemd-analyze >/dev/null; then
	cp -r "$units" "$work/units"
	sed -i 's,^ExecStart=[^ ]*,ExecStart=/bin/echo,' "$work"/units/*.service
	systemd-analyze verify --man=no "$work"/units/redlock-job@a.{timer,service} "$work/units/redlock-service@a.service" 2>"$work/verify" ||
		fail "$(<"$work/verify")"
	! grep 'redlock-' "$work/verify" || fail "systemd complains about the units"
fi
DESTDIR=$work/redlock cmake --build "$build" --target uninstall >"$work/uninstall.log"
[[ $(files "$work/redlock") == ./etc/redlock/redlock.conf ]] || fail "uninstall has left $(files "$work/redlock")"
echo ok
