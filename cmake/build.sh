# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds for ./quickstart and ./check.

# build PRESET DIRECTORY [CMAKE OPTION...]: configures and builds. A directory of another source tree (a copied
# or moved checkout) is removed first; one that does not configure any more is started afresh.
build() {
	local preset=$1 dir=$2 home
	shift 2
	if [[ -f $dir/CMakeCache.txt ]]; then
		home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt")
		[[ $home == "$PWD" ]] || rm -rf "$dir"
	fi
	if ! cmake --preset "$preset" -B "$dir" "$@"; then
		rm -rf "$dir"
		cmake --preset "$preset" -B "$dir" "$@" || return
	fi
	cmake --build "$dir" -j "$(nproc)"
}
