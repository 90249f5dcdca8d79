# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What doctor says, as a test expects it.

# doctor CODE [OPTION...]: its findings. It gives a node a second; where other tests take the processors for so
# long, it is asked again.
doctor() {
	local tries
	for tries in 1 2 3; do
		run --separate-stderr rl doctor --json "${@:2}"
		[[ $status -ne $1 && $output == *'"check":"silent"'* ]] || break
	done
	exits "$1"
	json_is 'j["verb"] == "doctor"'
}

# finds NODE CHECK LEVEL TEXT: a finding of the last doctor; node 0 is the set. No other test may be told by it.
finds() {
	json_is "[f for f in (j['nodes'][$1 - 1] if $1 else j)['findings'] if f['check'] == '$2' and f['level'] == '$3' and '$4' in f['text']]"
}

lacks() { # NODE CHECK
	json_is "not [f for f in (j['nodes'][$1 - 1] if $1 else j)['findings'] if f['check'] == '$2']"
}
