#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hardened.sh BUILD_DIRECTORY: looks into the library and the command of a build for what cmake/hardening.cmake asks for.
set -euo pipefail
cd "$1"
bad=0

fail() { # FILE WHAT
	echo "hardened.sh: $1: $2" >&2
	bad=1
}

option() { # NAME: is it on in this build?
	grep -qE "^$1:[A-Z]+=(1|ON|TRUE)$" CMakeCache.txt
}

# The processor that is built for, not the one of this machine.
[[ $(cc -dumpmachine) == x86_64* ]] && x86=true || x86=false
library=$(find lib* -name libredlock.so -exec realpath {} \;)
command=bin/redlock

for file in "$library" "$command"; do
	segments=$(readelf -lW "$file") dynamic=$(readelf -dW "$file")
	grep -q GNU_RELRO <<<"$segments" || fail "$file" "no GNU_RELRO"
	grep -qE 'GNU_STACK.* RW ' <<<"$segments" || fail "$file" "its stack can be executed"
	! grep -q ' RWE ' <<<"$segments" || fail "$file" "has memory that can be written and executed"
	grep -qE 'BIND_NOW|Flags:.* NOW' <<<"$dynamic" || fail "$file" "no BIND_NOW"
	! grep -qE 'TEXTREL|RPATH' <<<"$dynamic" || fail "$file" "has TEXTREL or RPATH"
	# Only the command's own folder and the one beside it: an empty part would be the working directory.
	runpath=$(sed -n 's/.*(RUNPATH).*\[\(.*\)\]/\1/p' <<<"$dynamic")
	# shellcheck disable=SC2016 # the loader's word
	[[ -z $runpath || ( $file == "$command" && $runpath =~ ^'$ORIGIN'/\.\./[a-z0-9_/-]+$ ) ]] || fail "$file" "has the RUNPATH $runpath"
done
grep -qE 'Flags:.* PIE' < <(readelf -dW "$command") || fail "$command" "no PIE"

# In our own objects: what libc brings to a program says nothing of ours.
objects=src/libredlock.a
wanted=$(nm "$objects")
grep -q ' U __stack_chk_fail' <<<"$wanted" || fail "$objects" "no stack protector"
if option FORTIFY_3 || option FORTIFY_2; then
	grep -qE ' U __(mem|str|s|v|f)[a-z]*_chk$' <<<"$wanted" || fail "$objects" "no call of _FORTIFY_SOURCE"
elif option REDLOCK_HARDENING && ! grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Debug' CMakeCache.txt; then
	fail CMakeCache.txt "_FORTIFY_SOURCE is not set, in a build with optimisation"
fi
if $x86 && option HAS_fcf_protection; then
	# The linker keeps the property where libc's start files have it too; Debian's have not.
	count=$(ar t "$objects" | wc -l)
	marked=$(readelf -nW "$objects" 2>/dev/null | grep -c 'IBT, SHSTK' || true)
	((marked == count)) || fail "$objects" "$marked of $count objects have IBT and SHSTK"
	printf 'int f(void) { return 0; }' | cc -fcf-protection -shared -fPIC -x c - -o "${TMPDIR:-/tmp}/hardened.$$"
	if grep -q 'IBT, SHSTK' < <(readelf -nW "${TMPDIR:-/tmp}/hardened.$$"); then
		grep -q 'IBT, SHSTK' < <(readelf -nW "$library") || fail "$library" "no IBT and SHSTK"
	fi
	rm "${TMPDIR:-/tmp}/hardened.$$"
fi
if $x86 && option HAS_fstack_clash_protection; then
	# A function with a page of locals touches each page: or $0, (%rsp).
	# shellcheck disable=SC2016 # assembler
	grep -qE '\sor[ql]? +\$0x0,.*\(%rsp\)' < <(objdump -d --no-show-raw-insn "$command") ||
		fail "$command" "no stack probe"
fi
exit "$bad"
