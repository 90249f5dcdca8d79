#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# help troubleshooting LINE: each line that the command prints finds its row, from the tables and from real runs.
load helper

setup() {
	start_cluster 3
}

teardown() {
	kill_nodes CONT 1 2 3 2>/dev/null || true
	stop_cluster
}

@test "each message of the table is found by its line, as text, in syslog and as JSON" {
	/usr/bin/python3 - "$REDLOCK_BIN" "$BATS_TEST_DIRNAME/../../tools/redlock/message_rows.h" <<-'PYTHON'
		import re, subprocess, sys
		text = open(sys.argv[2], encoding="utf-8").read()
		rows = re.findall(r'^MESSAGE\((\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', text, re.M)
		assert len(rows) > 200
		missing = []
		for name, literal in rows:
		    form = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal)).replace('\\"', '"').replace("\\\\", "\\")
		    said = re.sub(r"%[0-9.*lz]*([a-z])", lambda m: {"s": "x17", "c": "q", "f": "1.5"}.get(m[1], "3"), form)
		    titled = said if re.match(r"(redlock|rflock)[: ]", said) else "redlock: " + said
		    for line in (titled, "Nov  2 03:00:01 web-1 redlock[42]: %s: %s" % (name, said), '{"message":"%s","text":"x"}' % name):
		        found = subprocess.run([sys.argv[1], "help", "troubleshooting", line], capture_output=True, text=True)
		        if not re.search(r"^%s: " % name, found.stdout, re.M):
		            missing.append(line)
		assert not missing, "\n".join(missing)
	PYTHON
}

@test "each result, vote, finding of doctor, odd word and verdict is found by a line with it" {
	/usr/bin/python3 - "$REDLOCK_BIN" <<-'PYTHON'
		import re, subprocess, sys
		def ask(*words):
		    return subprocess.run([sys.argv[1], "help", "troubleshooting", *words], capture_output=True, text=True).stdout
		forms = {"Results": "redlock: acquire 'job': %s", "Nodes": "redlock: node 2 redis://h:1: %s: no route",
		         "doctor": "  node 2 redis://h:1: warning: %s", "ls": "job  lock  web-1:42  -  3/3  never  -  -  %s", "status": "job: %s"}
		section, seen, missing = None, 0, []
		rows = []
		for line in ask().splitlines():
		    if m := re.match(r"(Results|Nodes|doctor|ls|status): ", line):
		        section = m[1]
		    elif line and ": " not in line and not line.startswith(" "):
		        section = None # of messages, which have a test of their own
		    elif section and line.startswith("    ") and rows:
		        rows[-1][2] += " " + line.strip()
		    elif section and (m := re.match(r"([\w-]+)(?: \(\d+\))?: (.*)", line)):
		        rows.append([section, m[1], m[2]])
		for section, name, text in rows:
		    if name == "OK" or text == "...":
		        continue
		    seen += 1
		    said = name if section == "ls" else text.replace("...", "x17")
		    found = ask(forms[section] % said)
		    if not re.search(r"^%s(?: \(\d+\))?: " % re.escape(name), found, re.M):
		        missing.append((section, name, forms[section] % said))
		assert seen > 100, seen
		assert not missing, missing
	PYTHON
}

@test "a phrase as it was printed, and the errors of servers, find their row, in lower case and unquoted too" {
	finds() { # ROW WORD...
		want 0 "$REDLOCK_BIN" help troubleshooting "${@:2}"
		grep -qE "^$1( \([0-9]+\))?: " <<<"$output" || { echo "no $1 by ${*:2}" && echo "$output" && return 1; }
		[ "$(grep -cE '^[A-Za-z0-9_-]+( \([0-9]+\))?: ' <<<"$output")" -le 12 ]
	}
	for error in NOAUTH noauth WRONGPASS DENIED "NOAUTH Authentication required."; do finds AUTH "$error"; done
	for error in MASTERDOWN TRYAGAIN BUSY; do finds BLOCKED "$error"; done
	for error in MOVED CLUSTERDOWN CROSSSLOT; do finds CLUSTER "$error"; done
	finds REPLICAS NOREPLICAS
	for line in SILENT "  node 3 redis://h:1: SILENT, no answer in time"; do
		finds SILENT "$line"
		[[ $output == *"SILENT: the server is connected"* ]]
	done
	finds REFUSES "  node 3 redis://h:1: REFUSES, refused the user or password"
	finds WAITING "waiting for"
	finds WAITING waiting for
	finds another-client "of another client"
	finds another-client of another client
	finds never-expires "its key has no expiry"
	finds expires "its key expires in 21.3 s"
	finds seen "held by web-1:42 for 3.2 s at least"
	finds place "place 3 of 40"
	finds split "split: 3 different holders"
	finds LATE "the command gets TERM in 5.0 s"
	finds LS_UNREAD "redis://db-17.prod.example.com:6379 was not read"
	finds BUSY_SLOTS "none of its 3 slots is free"
	for word in "nothing that it ever prints" NOSUCHERROR "of of of of" zz "connection reset by peer" "why does my job not start"; do
		want 1 "$REDLOCK_BIN" help troubleshooting "$word"
	done
}

@test "lines of real runs: errors, warnings, findings of doctor and odd words are found, each by few rows" {
	all='1 2 3' said=$sandbox/said token=0123456789abcdef0123456789abcdef01234567
	{
		rl acquire -n -t 1m --owner a:1 job
		rl acquire -n job
		rl acquire -n -r redis://127.0.0.1:1 -r redis://No-Such-Host.invalid job
		rl acquire -n -r http://x job
		rl acquire --bogus
		rl release job wrong
		rl run -n job true
		rl run another none-such-command
		rl acquire -n --user nobody --password-file <(echo x) other
		rl last --user nobody --password-file <(echo x) other
		rl break --yes nobody
		rl break --yes --waiters nobody
		rl break nobody
		rl run --min-hold 2s --max-hold 1s a true
		rl acquire -C none job
		REDLOCK_TTL=wrong rl acquire -n job
		on_nodes "$all" set endless "$token|a:1"
		on_nodes 1 set split a
		on_nodes 2 set split b
		on_nodes 3 set below c
		on_nodes "$all" rpush list x
		on_nodes "$all" config set maxmemory 100mb
		on_nodes "$all" config set maxmemory-policy allkeys-lru
		for name in endless split below; do rl status "$name"; done | grep -vE '^ |: (held|free) '
		rl doctor --prefix x: -r "$(node_url 1)" -r "$(node_url 1)" -r "$(node_url 2)" -r redis://127.0.0.1:1 | tail -n +3
		rl doctor | tail -n +3
		rl ls --prefix '' --odd | tail -n +2
		kill_nodes STOP 2 3
		"$REDLOCK_BIN" ls >/dev/null
		"$REDLOCK_BIN" acquire -n late
		"$REDLOCK_BIN" break --yes job
		"$REDLOCK_BIN" doctor --node-timeout 200ms | tail -n +3
	} >"$said" 2>&1 || true
	grep -vE '^[0-9a-f]{40}|: fine, |^guard: ' "$said" | sort -u >"$sandbox/lines"
	[ "$(wc -l <"$sandbox/lines")" -gt 30 ] || { cat "$sandbox/lines" && return 1; }
	while IFS= read -r line; do
		"$REDLOCK_BIN" help troubleshooting "$line" >"$sandbox/page" || { echo "not found: $line" && cat "$said" && return 1; }
		# A line is that of one row, besides those of the votes and steps that it quotes.
		[ "$(grep -cE '^[A-Za-z0-9_-]+( \([0-9]+\))?: ' "$sandbox/page")" -le 12 ] || { echo "by too many rows: $line" && cat "$sandbox/page" && return 1; }
		# A warning of doctor is no line of the configuration.
		[[ $line == "redlock: warning: "* ]] || ! grep -q '^CONFIG_WARNING' "$sandbox/page"
	done <"$sandbox/lines"
	want 1 "$REDLOCK_BIN" help troubleshooting "nothing that it ever prints"
}
