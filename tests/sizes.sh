#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No file of the folders that layers.sh does not measure has more than 600 lines: tests, fuzz, bench, spec, examples, bindings.
# Prints each that has, as layers.sh does. The corpora of the fuzzers are data, and what Python compiles is no source.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

max_file_lines=600

long_files() { # FOLDER...
	find "$@" -type f -not -path 'fuzz/corpus/*' -not -path '*/__pycache__/*' -exec awk -v most="$max_file_lines" '
		FNR == most + 1 { print "file-size: " FILENAME ": has more than " most " lines" }' {} +
}

planted=$(mktemp -d) || exit
trap 'rm -rf "$planted"' EXIT
seq "$max_file_lines" >"$planted/allowed"
seq "$((max_file_lines + 1))" >"$planted/long"
if [[ $(long_files "$planted") != "file-size: $planted/long: "* ]]; then
	echo "a planted file was not found"
	exit 1
fi
found=$(long_files tests fuzz bench spec examples bindings) || exit
[[ -z $found ]] || { echo "$found" && exit 1; }
