# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The Debian packages that this project needs, and how ./quickstart and ./check install those that are missing.
# Nothing else is ever downloaded.

build_packages=(
	gcc            # the compiler
	libc6-dev      # C headers
	cmake          # describes the build
	ninja-build    # runs it
	python3        # makes the table of operations of ops/*.lua; fault tests, measurements
	pkg-config     # finds hiredis
	libhiredis-dev # parser of the Redis protocol
	libssl-dev     # TLS; loaded only when it is used
	redis-server   # the nodes of the local cluster
	scdoc          # man pages
)
# shellcheck disable=SC2034 # used by ./check
test_packages=(
	"${build_packages[@]}"
	g++            # the header in C++
	libcmocka-dev  # unit tests
	libmicrohttpd-dev # HTTP of redlock-exporter
	curl           # asks it
	liblua5.1-0-dev # runs the scripts for the simulator, as servers do
	redis-tools    # redis-cli: the classic unlock script
	openssl        # certificates of the TLS tests
	zlib1g-dev     # Debian 13: what its static libssl needs,
	libzstd-dev    # and this
	mmdebstrap     # other servers, from other suites of Debian
	patchelf       # runs them with their own libraries
	libpq-dev      # what is measured beside ours
	python3-redis  # another language's lock on the same keys
	python3-cffi   # the binding for Python: glue in C
	python3-dev    # its headers
	python3-setuptools # its build
	python3-uvloop # another event loop
	mypy           # its types
	golang-go      # the binding for Go
	nodejs         # the binding for Node.js
	bats           # tests of the command
	iproute2       # hosts of the fault tests
	nftables       # partitions of the fault tests
	procps         # ps: what a test has left running
	bsdextrautils  # column: the table of the model
	binutils       # readelf, objdump: what hardening has left in the binaries
	abigail-tools  # the binary interface beside that of the last release
	systemd        # the unit files of examples, under it
	spin           # model checker
	z3             # prover
	cvc5           # another one, which must agree
	valgrind       # memory errors that sanitizers miss
	clang-format   # layout of the code
	clang-tidy     # linter
	cppcheck       # linter
	shellcheck     # linter of the shell scripts
	lua-check      # linter of the Lua scripts
)
# Node.js of other sources than Debian brings its headers, which exclude this package.
[[ -e /usr/include/node/node_api.h ]] || test_packages+=(libnode-dev)

# Prints those of the packages "$@" that are not installed.
missing_packages() {
	local package
	for package; do
		[[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
	done
}

can_be_root() {
	# Without a terminal sudo cannot ask for a password.
	((EUID == 0)) || { command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; }
}

root() {
	if ((EUID == 0)); then
		"$@"
	else
		sudo "$@"
	fi
}

# Installs packages while no service may be started: Debian asks /usr/sbin/policy-rc.d. One that is already
# there is respected. The body is a subshell, whose end removes ours.
apt_install() (
	policy=/usr/sbin/policy-rc.d
	if [[ ! -e $policy ]]; then
		trap 'root rm -f "$policy"' EXIT
		trap 'exit 130' INT TERM HUP
		printf '#!/bin/sh\nexit 101\n' | root tee "$policy" >/dev/null && root chmod 755 "$policy" || exit 1
	fi
	apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
	root "${apt[@]}" update && root "${apt[@]}" install -y --no-install-recommends "$@"
)

# need_packages LOG PACKAGE...: installs what is missing, trying twice. On failure it says what to do.
need_packages() {
	local log=$1 missing
	shift
	if ! command -v dpkg-query >/dev/null; then
		echo "This is not a Debian system. Going on with what is there; what is needed is called in Debian: $*"
		return 0
	fi
	mapfile -t missing < <(missing_packages "$@")
	((${#missing[@]})) || return 0
	if ! can_be_root; then
		echo "Packages are missing, and this is neither root nor can it use sudo. Please run as root:" >&2
		echo "    apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
		return 1
	fi
	echo "Installing Debian packages: ${missing[*]}"
	if ! apt_install "${missing[@]}" >"$log" 2>&1; then
		sleep 3
		if ! apt_install "${missing[@]}" >>"$log" 2>&1; then
			tail -n 15 "$log" >&2
			echo "apt-get failed, see $log. By hand: apt-get update && apt-get install ${missing[*]}" >&2
			return 1
		fi
	fi
	if [[ " ${missing[*]} " == *" redis-server "* ]]; then
		# Wanted for its program only: no server on port 6379, neither now nor after the next boot.
		if command -v systemctl >/dev/null; then
			root systemctl disable redis-server >>"$log" 2>&1
		fi
		echo "The system service redis-server was not started, nor enabled."
	fi
}
