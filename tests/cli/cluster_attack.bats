#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What another user of the machine tries against the local cluster: its servers, and the place of its files.
load helper

# A directory like /tmp, and the other user, where this one may become another.
setup() {
	make_sandbox
	unset XDG_RUNTIME_DIR
	export TMPDIR=$sandbox/tmp
	chmod 755 "$sandbox"
	mkdir -m 1777 "$TMPDIR"
	base=$TMPDIR/redlock-$(id -u)
	stranger=(setpriv --reuid 65534 --regid 65534 --clear-groups env -u XDG_RUNTIME_DIR)
}

needs_stranger() {
	"${stranger[@]}" true 2>/dev/null || skip "needs root: nobody may become another user"
}

# All verbs that use the place refuse it with 78 and this sentence, at once.
refused() { # TEXT
	local verb
	for verb in "cluster start" "cluster status" "cluster stop" "status -r local"; do
		# shellcheck disable=SC2086 # two words
		want 78 timeout 10 "$REDLOCK_BIN" $verb
		says "$1"
	done
	[ -z "$(sandbox_pids)" ]
}

@test "no TCP port, and nothing that others can read" {
	"$REDLOCK_BIN" cluster start -q --nodes 2
	for node in 1 2; do
		socket=$base/cluster/node-$node/redis.sock
		[ "$(redis-cli -s "$socket" config get port | tail -n 1)" = 0 ]
		pid=$(cat "$base/cluster/node-$node/redis.pid")
		# The server's sockets are none of those of TCP.
		for fd in /proc/"$pid"/fd/*; do
			inode=$(readlink "$fd" | sed -n 's/^socket:\[\(.*\)\]$/\1/p')
			[ -z "$inode" ] || ! awk '{ print $10 }' "/proc/$pid/net/tcp" "/proc/$pid/net/tcp6" | grep -qx "$inode"
		done
		[ "$(stat -c %a "$socket")" = 700 ]
	done
	[ -z "$(find "$base" -perm /077)" ]
}

@test "a stranger reaches no socket and no file" {
	needs_stranger
	"$REDLOCK_BIN" cluster start -q --nodes 1
	token=$(rl acquire -r local job)
	socket=$base/cluster/node-1/redis.sock
	run "${stranger[@]}" redis-cli -s "$socket" del job
	[[ $output == *"Permission denied"* ]]
	for path in "$base" "$base/cluster/nodes" "$base/cluster/node-1/redis.conf" "$base/cluster/node-1/redis.log"; do
		run "${stranger[@]}" head -c 1 "$path"
		[[ $output == *"Permission denied"* ]]
	done
	run "${stranger[@]}" mv "$base" "$TMPDIR/mine"
	[ "$status" -ne 0 ]
	rl check -r local job "$token"
}

@test "a directory that a stranger has planted is refused, and left alone" {
	needs_stranger
	mkdir -m 700 "$sandbox/private"
	for mode in 700 755 777; do
		"${stranger[@]}" mkdir -m "$mode" "$base"
		refused "belongs to another user"
		[ -z "$(ls -A "$base")" ]
		rmdir "$base"
	done
	"${stranger[@]}" ln -s "$sandbox/private" "$base"
	refused "is not a directory"
	rm "$base"
	[ -z "$(ls -A "$sandbox/private")" ]
	"${stranger[@]}" mkfifo "$base"
	refused "is not a directory"
	rm "$base"
	"${stranger[@]}" touch "$base"
	refused "is not a directory"
	rm "$base"
	# The stranger's own cluster is in another place, and none of ours.
	"${stranger[@]}" env TMPDIR="$TMPDIR" "$REDLOCK_BIN" cluster start -q --nodes 1
	want 78 "$REDLOCK_BIN" status -r local
	says "no local cluster"
	"${stranger[@]}" env TMPDIR="$TMPDIR" "$REDLOCK_BIN" cluster stop -q
}

@test "a place that a stranger can move is refused" {
	needs_stranger
	"${stranger[@]}" mkdir "$TMPDIR/theirs"
	# They own the directory above, and can put another one in its place.
	TMPDIR=$TMPDIR/theirs refused "theirs: belongs to another user"
	mkdir -m 700 "$TMPDIR/theirs/ours"
	TMPDIR=$TMPDIR/theirs/ours refused "theirs: belongs to another user"
	XDG_RUNTIME_DIR=$TMPDIR/theirs/ours refused "theirs: belongs to another user"
	XDG_RUNTIME_DIR=$TMPDIR/theirs refused "theirs: belongs to another user"
	# A link counts only by its end: nothing is looked up through it again.
	"${stranger[@]}" ln -s "$sandbox" "$TMPDIR/link"
	TMPDIR=$TMPDIR/link/tmp "$REDLOCK_BIN" cluster start -q --nodes 1
	run --separate-stderr "$REDLOCK_BIN" cluster status
	[[ $output == *"unix://$base/"*" up" ]]
}

@test "a place that others can write to is refused, but for the sticky bit" {
	mkdir -m 777 "$sandbox/open"
	TMPDIR=$sandbox/open refused "open: can be written to by other users"
	mkdir -m 1777 "$sandbox/open/tmp"
	TMPDIR=$sandbox/open/tmp refused "open: can be written to by other users"
	# A runtime directory is the user's alone, sticky or not.
	XDG_RUNTIME_DIR=$TMPDIR refused "tmp: can be written to by other users"
	# Links of this user are followed, as the one of the system from /var/run to /run.
	ln -s "$TMPDIR" "$sandbox/link"
	TMPDIR=$sandbox/link "$REDLOCK_BIN" cluster start -q --nodes 1
	TMPDIR=$sandbox/link rl status -r local
	[[ $(TMPDIR=$sandbox/link "$REDLOCK_BIN" cluster status) == *"unix://$base/"* ]]
}
