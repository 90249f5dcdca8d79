# SPDX-License-Identifier: MIT
"""Incidents while a crowd waits: faults of a node, deaths of claimants, and the servers' own counts."""
import signal
import socket
import time

LOOK_S = 0.0002
MONITOR_S = 0.15
BETWEEN_KILLS_S = 0.1
MOST_WAITERS = 4  # that are killed
NOT_COUNTED = ("info", "monitor", "flushall", "acl")


def _hang(stage):
	stage.servers.all[stage.run.node].hang()


def _kill(stage):
	stage.servers.all[stage.run.node].kill()


def _cut(stage):
	"""Bytes and connections arrive when it is over; the node goes on."""
	stage.proxies[stage.run.node].send_signal(signal.SIGSTOP)


def _living(stage, fits):
	"""(what it does, process) of those whose first thread does what fits."""
	found = []
	for (child, _), file in zip(stage.children, stage.files):
		turn = file.last()
		if turn and fits(turn) and child not in stage.victims:
			found.append((turn, child, file))
	return found


def _kill_one(stage, fits, choose):
	"""It may do something else by the time the signal comes: it is stopped first, and looked at again."""
	while time.monotonic_ns() < stage.end:
		found = _living(stage, fits)
		if found:
			turn, child, file = choose(found, key=lambda one: one[0].asked)
			child.send_signal(signal.SIGSTOP)
			time.sleep(LOOK_S)
			if file.last() == turn:
				stage.victims.append(child)
				child.kill()
				return
			child.send_signal(signal.SIGCONT)
		time.sleep(LOOK_S)


def _kill_holder(stage):
	_kill_one(stage, lambda turn: turn.holds(), min)


def _kill_next(stage):
	"""Kills the claimant that waited longest: most likely the next holder."""
	_kill_one(stage, lambda turn: turn.waits(), min)


def _kill_waiters(stage):
	"""Kills the last claimants, so that none is the next holder."""
	for _ in range(MOST_WAITERS):
		_kill_one(stage, lambda turn: turn.waits(), max)
		time.sleep(BETWEEN_KILLS_S)


def calls(info):
	"""Of INFO commandstats: all commands, those inside of scripts included."""
	total = 0
	for line in info.splitlines():
		name, _, rest = line.strip().partition(":")
		if name.startswith("cmdstat_") and name[8:].partition("|")[0] not in NOT_COUNTED:
			total += int(rest.partition("calls=")[2].partition(",")[0])
	return total


def sent_share(lines):
	"""Of what MONITOR shows, the share that clients sent: the rest is inside of scripts. None of nothing."""
	shown = [line for line in lines if line.startswith("+") and "[" in line]
	return 1 - sum(" lua]" in line for line in shown) / len(shown) if shown else None


def _monitor(server):
	with socket.socket(socket.AF_UNIX) as s:
		s.connect(server.path)
		s.sendall(b"MONITOR\r\n")
		s.settimeout(MONITOR_S)
		end, text = time.monotonic() + MONITOR_S, b""
		try:
			while time.monotonic() < end:
				text += s.recv(1 << 20)
		except TimeoutError:
			pass
	lines = text.decode(errors="replace").splitlines()
	return sent_share(lines[1:-1])


def _count(stage):
	"""Counts the servers' commands while the crowd waited: the busiest node."""
	counts = lambda: [calls(server.ask("INFO", "commandstats").decode()) for server in stage.servers.all]
	begin, before = time.monotonic_ns(), counts()
	shares = [_monitor(server) for server in stage.servers.all]
	stage.sleep_until(0.95)
	end, after = time.monotonic_ns(), counts()
	taken = sum(begin < turn.granted <= end for file in stage.files for turn in file.turns())
	all_calls = [b - a for a, b in zip(before, after)]
	sent = max(count * (1 if share is None else share) for count, share in zip(all_calls, shares))
	return {
		"commands_per_turn": sent / taken if taken else float("inf"),
		"calls_per_turn": max(all_calls) / taken if taken else float("inf"),
		"commands_per_client_s": sent / ((end - begin) / 1e9) / stage.run.processes,
	}


BREAKS = ("hang", "kill", "cut")
ALL = {"hang": _hang, "kill": _kill, "cut": _cut, "holder killed": _kill_holder, "next killed": _kill_next,
	"waiters killed": _kill_waiters, "count": _count}
