#compdef redlock
# SPDX-License-Identifier: MIT
# Completion of redlock for zsh. The command itself says what may follow: see complete.h.
_redlock() {
	local -a answer list
	local count
	answer=("${(@f)$(print -rl -- "${(@Q)words[2,CURRENT-1]}" "$PREFIX" | command redlock completion words 2>/dev/null)}")
	case $answer[1] in
	words)
		list=("${(@)answer[2,-1]//:/\\:}")
		list=("${(@)list/$'\t'/:}")
		_describe redlock list
		;;
	files)
		[[ $PREFIX != --*=* ]] || compset -P '*='
		_files
		;;
	directories)
		[[ $PREFIX != --*=* ]] || compset -P '*='
		_files -/
		;;
	command\ *)
		count=$((${answer[1]#command } + 1))
		shift $count words
		((CURRENT -= count))
		_normal
		;;
	esac
}
# Found by its name in a folder of $fpath, or read with `source`.
if [[ $funcstack[1] == _redlock ]]; then
	_redlock "$@"
else
	compdef _redlock redlock
fi
