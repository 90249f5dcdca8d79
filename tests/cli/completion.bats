#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# completion: what each shell makes of a command line when TAB is pressed, asked of the shell itself.
load helper

# Each line, and what becomes of it. A name of a cluster that a shell would run as a command is not offered.
table='redlock rel|redlock release
redlock --ver|redlock --version
redlock help trou|redlock help troubleshooting
redlock cluster sta|redlock cluster sta
redlock cluster sto|redlock cluster stop
redlock ls --orp|redlock ls --orphans
redlock ls --sort wa|redlock ls --sort waiters
redlock ls --sort=wa|redlock ls --sort=waiters
redlock run -r redis://:secret@h:1 --on-loss t|redlock run -r redis://:secret@h:1 --on-loss term
redlock status -C pr|redlock status -C prod
redlock status -vC pr|redlock status -vC prod
redlock status -C tra|redlock status -C tra
redlock status --config=some-conf --cluster st|redlock status --config=some-conf --cluster st
redlock status --config some-conf --cluster st|redlock status --config some-conf --cluster staging
redlock run --password-file some-f|redlock run --password-file some-file
redlock run --password-file=some-f|redlock run --password-file=some-file
redlock run --wait 5s job -- some-prog|redlock run --wait 5s job -- some-program
redlock run -nw5s job some-prog|redlock run -nw5s job some-program
redlock run job -- cat some-f|redlock run job -- cat some-file
redlock run job --guard=r|redlock run job --guard=r
redlock check jo|redlock check jo
redlock release --or|redlock release --or
redlock nosuch --he|redlock nosuch --he'

setup() {
	make_sandbox
	mkdir -p "$XDG_CONFIG_HOME/redlock" "$sandbox/bin"
	printf '[cluster prod]\nurl = redis://h\n[cluster trap;$(touch trapped)]\nurl = redis://h\n' >"$XDG_CONFIG_HOME/redlock/redlock.conf"
	printf '[cluster staging]\nurl = redis://h\n' >"$sandbox/some-conf"
	# shellcheck disable=SC2016 # the script expands it
	printf '#!/bin/sh\necho "$@" >>"%s/asked"\nexec "%s" "$@"\n' "$sandbox" "$REDLOCK_BIN" >"$sandbox/bin/redlock"
	printf '#!/bin/sh\n' >"$sandbox/bin/some-program"
	chmod +x "$sandbox"/bin/*
	touch "$sandbox/some-file"
	export PATH=$sandbox/bin:$PATH HOME=$sandbox
	unset REDLOCK_CONFIG REDLOCK_CLUSTER
	cd "$sandbox" || return
	cut -d'|' -f1 <<<"$table" >lines
	cut -d'|' -f2 <<<"$table" >wanted
}

teardown() {
	cd /
	rm -rf "$sandbox"
}

# The shells ran redlock for nothing else, and no word of a command line was in its argv.
all_as_wanted() {
	diff wanted got
	[ "$(sort -u asked)" = "completion words" ]
	[ ! -e trapped ]
}

@test "bash completes commands, options, words, clusters, files, and the command that runs under the lock" {
	"$REDLOCK_BIN" completion bash >script
	# As bash does: words end at = and : too, and the last one is replaced.
	# shellcheck disable=SC2016
	timeout 60 bash --norc -c 'source ./script
		while IFS= read -r line; do
			read -ra COMP_WORDS < <(sed "s/[=:@]\+/ & /g" <<<"$line")
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			typed=${COMP_WORDS[COMP_CWORD]}
			_redlock redlock "$typed"
			mapfile -t COMPREPLY < <(printf "%s\n" "${COMPREPLY[@]}" | sort -u)
			((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} ]] || COMPREPLY=("$typed")
			printf "%s\n" "${line%"$typed"}${COMPREPLY[0]}"
		done <lines' >got
	all_as_wanted
}

@test "zsh completes the same" {
	{ command -v zsh && command -v script; } >/dev/null || skip "zsh is not installed, or script(1)"
	mkdir functions
	"$REDLOCK_BIN" completion zsh >functions/_redlock
	cat >.zshrc <<-'EOF'
		PS1= fpath=($HOME/functions $fpath)
		autoload -Uz compinit && compinit -u -D
		zstyle ':completion:*' menu no
		setopt no_auto_menu no_list_ambiguous
		zle-line-init() {
			while read -r line; do
				BUFFER=$line CURSOR=$#line
				zle complete-word
				print -r -- ${BUFFER% } >>got
			done <lines
			exit
		}
		zle -N zle-line-init
	EOF
	ZDOTDIR=$sandbox timeout 60 script -qec 'zsh -i' /dev/null </dev/null >terminal
	all_as_wanted
}

@test "fish completes the same" {
	command -v fish >/dev/null || skip "fish is not installed"
	"$REDLOCK_BIN" completion fish >script
	timeout 60 fish --no-config -c 'source script
		while read -l line
			set -l words (complete -C "$line" | string replace -r "\t.*" "")
			test (count $words) = 1 || set words (string replace -r ".* " "" -- $line)
			echo (string replace -r "[^ ]*\$" "" -- $line)$words
		end <lines' >got
	all_as_wanted
}

@test "all choices with what they mean; each option of each help text" {
	printf '%s\n' ls --sort '' | "$REDLOCK_BIN" completion words >got
	[ "$(head -n 1 got)" = words ]
	[ "$(tail -n +2 got | cut -f1 | paste -sd ' ')" = "name kind holder held votes ttl waiters fence odd" ]
	printf '%s\n' '' | "$REDLOCK_BIN" completion words >got
	grep -qx 'release	give the lock back' got
	for verb in $(tail -n +2 got | cut -f1 | grep -vxE 'help|version'); do
		"$REDLOCK_BIN" help "$verb" | sed -nE 's/^  (-.,|   ) (--[a-z-]+).*/\2/p' >wanted
		printf '%s\n' "$verb" - | "$REDLOCK_BIN" completion words | tail -n +2 | cut -f1 >got
		[ -s got ]
		diff wanted got
	done
}

@test "the scripts printed are those of the source tree; another shell is refused" {
	for shell in bash zsh fish; do
		"$REDLOCK_BIN" completion $shell | cmp - "$BATS_TEST_DIRNAME/../../tools/redlock/completion/redlock.$shell"
	done
	want 64 "$REDLOCK_BIN" completion tcsh
	says "redlock completion: tcsh: give bash, zsh, fish or words"
}

@test "a configuration that cannot be read has no clusters, and TAB prints no error" {
	echo '[nonsense' >"$XDG_CONFIG_HOME/redlock/redlock.conf"
	printf '%s\n' status -C '' >line
	want 0 "$REDLOCK_BIN" completion words <line
	[ "$output$stderr" = words ]
	want 0 "$REDLOCK_BIN" completion words </dev/null
	[[ $output == *"release	give the lock back"* ]]
}
