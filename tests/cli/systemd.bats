#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The unit files of examples/ under a systemd that is process 1, in namespaces of its own, with units of its own.
load helper

systemd=/lib/systemd/systemd

setup_file() {
	start_cluster 3
	[ "$(id -u)" -eq 0 ] && [ -x "$systemd" ] || return 0
	units=$sandbox/units
	export units
	mkdir "$units"
	install_unit redlock-job nightly
	install_unit redlock-service dispatcher
	install_unit redlock-elect dispatcher
	sed -i -e "s,systemctl start dispatcher-leader,echo gain >>$sandbox/elect.log," \
		-e "s,--on-loss 'systemctl stop dispatcher-leader',--on-loss 'echo loss >>$sandbox/elect.log'," "$units/redlock-elect.service"
	# The parts of a system that the units need, without the system.
	for target in default sysinit basic shutdown network-online; do
		printf '[Unit]\nDefaultDependencies=no\n' >"$units/$target.target"
	done
	# systemd takes itself for the manager of a container, and cannot write to this system's files.
	cat >"$sandbox/boot" <<-EOF
		mount --bind "$sandbox" "$sandbox" && mount -o remount,bind,ro / && mount -t proc proc /proc && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd &&
		{ umount -l /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; } &&
		exec env -i PATH="\$PATH" container=test SYSTEMD_UNIT_PATH="$units" "$systemd" --system --log-target=console \\
			--show-status=no
	EOF
	unshare -m -p -u -i -C -f --kill-child sh "$sandbox/boot" >"$sandbox/log" 2>&1 3>&- &
	echo $! >"$sandbox/unshare.pid"
	until_true is_up || true
}

# The shipped unit, with the paths and nodes of the test, and without its long times.
install_unit() { # UNIT JOB
	local urls
	urls="$(node_url 1),$(node_url 2),$(node_url 3)"
	sed -e "s,/usr/local/bin/redlock,$REDLOCK_BIN," -e "s,/usr/local/bin/$2,$sandbox/$2," \
		-e "s#^ExecStart=#Environment=REDLOCK_URLS=$urls\\n&#" \
		-e 's/^RestartSec=.*/RestartSec=200ms/' \
		"$BATS_TEST_DIRNAME/../../examples/$1.service" >"$units/$1.service"
	printf '#!/bin/sh\necho began >>%s.runs\nexec sh -c "$(cat %s.does)"\n' "$sandbox/$2" "$sandbox/$2" >"$sandbox/$2"
	chmod +x "$sandbox/$2"
}

teardown_file() {
	[ ! -e "$sandbox/unshare.pid" ] || kill -s KILL "$(<"$sandbox/unshare.pid")"
	stop_cluster
}

setup() {
	[ -x "$systemd" ] || skip "there is no systemd here"
	if [ ! -e "$sandbox/unshare.pid" ] || ! is_up; then
		skip "systemd does not run in namespaces here (as root only)"
	fi
	rm -f "$sandbox"/*.runs
}

teardown() {
	on_nodes "1 2 3" del nightly dispatcher '{nightly}:redlock:last'
}

sc() { # systemctl inside
	nsenter -m -p -t "$(pgrep -P "$(<"$sandbox/unshare.pid")")" systemctl "$@"
}

is_up() {
	sc list-units >"$sandbox/units.list" 2>&1
}

is_now() { # UNIT STATE
	[ "$(sc show -p ActiveState --value "$1")" = "$2" ]
}

has_run() { # JOB TIMES
	touch "$sandbox/$1.runs"
	[ "$(wc -l <"$sandbox/$1.runs")" -eq "$2" ]
}

says_status() { # UNIT TEXT
	[[ $(sc show -p StatusText --value "$1") == *"$2"* ]]
}

does() { # JOB SHELL LINE
	echo "$2" >"$sandbox/$1.does"
}

busy() { # NAME
	on_nodes "1 2 3" set "$1" somebody px 600000
}

@test "the units are as systemd wants them" {
	[ -e "$units" ] || skip "not root"
	run systemd-analyze verify --man=no "$units"/redlock-*.service "$BATS_TEST_DIRNAME/../../examples/redlock-job.timer"
	[ "$status" -eq 0 ]
	[[ $output != *redlock-job* && $output != *redlock-service* && $output != *redlock-elect* ]] || { echo "$output"; false; }
}

@test "a job: done is done" {
	does nightly true
	sc start redlock-job
	until_true has_run nightly 1
	until_true is_now redlock-job inactive
	until_true has_keys 0 "1 2 3" nightly
}

@test "a job that is busy elsewhere: no failure, and no second try" {
	busy nightly
	sc start redlock-job
	until_true is_now redlock-job inactive
	sleep 0.5
	is_now redlock-job inactive
	has_run nightly 0
}

@test "a job that is stopped: no failure, and the lock is given back" {
	does nightly 'sleep 60'
	sc start redlock-job
	until_true has_run nightly 1
	is_now redlock-job active
	sc stop redlock-job
	is_now redlock-job inactive
	until_true has_keys 0 "1 2 3" nightly
}

@test "a job that fails, or loses its lock, is a failure; it is not run again" {
	does nightly 'exit 3'
	sc start redlock-job
	until_true is_now redlock-job failed
	sc reset-failed redlock-job
	does nightly 'sleep 60'
	sc start redlock-job # a job that failed has run
	has_run nightly 1
	on_nodes "1 2 3" del '{nightly}:redlock:last'
	sed -i 's/run -n/run -t 1s -n/' "$units/redlock-job.service"
	sc daemon-reload
	sc start redlock-job
	until_true has_run nightly 2
	on_nodes "1 2 3" del nightly
	until_true is_now redlock-job failed
	[ "$(sc show -p ExecMainStatus --value redlock-job)" = 79 ]
	sleep 0.5
	has_run nightly 2
	sc reset-failed redlock-job
}

@test "a service waits, is active with the lock, and is stopped in both" {
	does dispatcher 'exec sleep 60'
	busy dispatcher
	sc start --no-block redlock-service
	until_true says_status redlock-service "held by"
	is_now redlock-service activating
	sc stop redlock-service
	is_now redlock-service inactive
	has_run dispatcher 0
	sc start --no-block redlock-service
	until_true is_now redlock-service activating
	on_nodes "1 2 3" del dispatcher
	until_true is_now redlock-service active
	says_status redlock-service "holding 'dispatcher'"
	has_run dispatcher 1
	sc stop redlock-service
	is_now redlock-service inactive
	until_true has_keys 0 "1 2 3" dispatcher
}

@test "a service that fails goes back to the queue" {
	does dispatcher 'sleep 0.3; exit 3'
	sc start redlock-service
	until_true has_run dispatcher 2
	sc stop redlock-service
	until_true has_keys 0 "1 2 3" dispatcher
}

@test "an elector is active at once, and says who leads; stopped, it has stepped down" {
	busy dispatcher
	sc start redlock-elect
	is_now redlock-elect active
	until_true says_status redlock-elect "following 'dispatcher', led by 'somebody'"
	on_nodes "1 2 3" del dispatcher
	until_true says_status redlock-elect "leading 'dispatcher'"
	sc kill -s USR1 --kill-who=main redlock-elect
	until_true grep -q loss "$sandbox/elect.log"
	is_now redlock-elect active
	sc stop redlock-elect
	is_now redlock-elect inactive
	[ "$(grep -c gain "$sandbox/elect.log")" = "$(grep -c loss "$sandbox/elect.log")" ]
	has_keys 0 "1 2 3" dispatcher
}
