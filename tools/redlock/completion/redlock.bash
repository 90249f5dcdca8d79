# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Completion of redlock for bash. The command itself says what may follow: see complete.h.
_redlock() {
	local i kind typed=${COMP_WORDS[COMP_CWORD]} marks='^[=:@]+$'
	local -a words=() places=() answer=()
	# Joins what bash has split: --sort=ttl, redis://host:6379.
	for ((i = 1; i <= COMP_CWORD; i++)); do
		if ((i > 1)) && [[ ${COMP_WORDS[i]} =~ $marks || ${COMP_WORDS[i - 1]} =~ $marks ]]; then
			words[-1]+=${COMP_WORDS[i]}
		else
			words+=("${COMP_WORDS[i]}")
			places+=("$i")
		fi
	done
	[[ ! $typed =~ $marks ]] || typed=
	mapfile -t answer < <(printf '%s\n' "${words[@]}" | command redlock completion words 2>/dev/null)
	kind=${answer[0]-}
	COMPREPLY=()
	case $kind in
	words)
		COMPREPLY=("${answer[@]:1}")
		COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
		COMPREPLY=("${COMPREPLY[@]#"${words[-1]%"$typed"}"}")
		;;
	files | directories)
		compopt -o filenames 2>/dev/null
		i=-f
		[[ $kind == files ]] || i=-d
		mapfile -t COMPREPLY < <(compgen "$i" -- "$typed")
		;;
	command\ *)
		i=${places[${kind#command }]}
		if declare -F _comp_command_offset >/dev/null; then
			_comp_command_offset "$i"
		elif declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		elif ((i == COMP_CWORD)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$typed")
		else
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "$typed")
		fi
		;;
	esac
}
complete -F _redlock redlock
