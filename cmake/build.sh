# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds for ./quickstart and ./check.

# build PRESET DIRECTORY [CMAKE OPTION...]: configures and builds all. A directory of another source tree (a copied
# or moved checkout) is removed first; one that does not configure any more is started afresh.
build() {
	build_target all "$@"
}

build_target() { # TARGET PRESET DIRECTORY [CMAKE OPTION...]
	local target=$1 preset=$2 dir=$3 home
	shift 3
	if [[ -f $dir/CMakeCache.txt ]]; then
		home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt")
		[[ $home == "$PWD" ]] || rm -rf "$dir"
	fi
	if ! cmake --preset "$preset" -B "$dir" "$@"; then
		rm -rf "$dir"
		cmake --preset "$preset" -B "$dir" "$@" || return
	fi
	cmake --build "$dir" -j "$(nproc)" --target "$target"
}
