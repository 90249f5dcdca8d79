# SPDX-License-Identifier: MIT
"""Runs of many processes that want one name, and what happens to them or to the nodes meanwhile."""
import contextlib
import dataclasses
import os
import signal
import subprocess
import time

import build
import incidents
import noise
import process
import programs
import turns

NAME = "bench-contended"  # TURNS_NAME
USER, PASSWORD = "bench", "bench"
LATE_S = 20  # to start, to end
BEFORE = 0.3  # the share of the run before something happens
PROXIES = {"far": [programs.FAR_US], "lossy": ["-m", 1], "near": [1]}  # one for each node


@dataclasses.dataclass(frozen=True)
class Crowd:
	program: str = "turns"
	processes: int = 8
	threads: int = 1  # of each
	remote: int = 0  # processes of one thread beside them
	counts: bool = False  # attempts: ours tells them by its trace, which takes time
	keeper_s: float = 0  # one more, which takes the lock first and keeps it so long
	seconds: float = 3
	least_s: float = 0  # also in a quick run
	hold_us: int = 1000
	rest_ms: int = 0
	ttl_ms: int = 0  # 0: the default
	wire: str = "tcp"  # or a key of PROXIES
	user: bool = False  # one that may use the name, and nothing else
	nodes: int = 5
	postgres: bool = False
	incident: str = ""  # key of incidents.ALL
	node: int = 0  # the one that it happens to

	def shorter(self, factor):
		return dataclasses.replace(self, seconds=max(self.seconds / factor, self.least_s))


class Stage:
	"""Everything that an incident can look at and do."""

	def __init__(self, run, servers, proxies):
		self.run, self.servers, self.proxies = run, servers, proxies
		self.children = []  # (process, path of its file)
		self.files = []
		self.begin = self.end = self.since = 0
		self.victims = []

	def sleep_until(self, share):
		"""Of the run: 0 to 1."""
		at = self.begin + share * (self.end - self.begin)
		time.sleep(max(0, (at - time.monotonic_ns()) / 1e9))


@contextlib.contextmanager
def _wires(run, servers):
	"""Yields the addresses of the nodes and the proxies before them."""
	if run.wire not in PROXIES:
		yield servers.ports()[:run.nodes], []
		return
	start = [build.program("delayproxy")] + PROXIES[run.wire]
	proxies = [process.start(start + [path], stdout=subprocess.PIPE, text=True) for path in servers.paths()]
	try:
		yield [proxy.stdout.readline().strip() for proxy in proxies], proxies
	finally:
		for proxy in proxies:
			process.end(proxy)


def _command(run, path, threads, addresses, hold_us, seconds):
	options = {"-t": seconds, "-c": threads, "-h": hold_us, "-r": run.rest_ms, "-l": run.ttl_ms,
		"-u": USER if run.user else 0}
	return [build.program(run.program), "-o", path] + [word for option, value in options.items() if value
		for word in (option, value)] + ["-a"] * run.counts + addresses


def _start(run, directory, addresses, children):
	"""One after the other, as each connects by having the lock once. The keeper is the first."""
	kinds = ([(1, int(run.keeper_s * 1e6))] if run.keeper_s else []) + [(run.threads, run.hold_us)] * run.processes \
		+ [(1, run.hold_us)] * run.remote
	for number, (threads, hold_us) in enumerate(kinds):
		path = os.path.join(directory, "turns.%d" % number)
		child = process.start(_command(run, path, threads, addresses, hold_us, run.seconds), stdin=subprocess.PIPE,
			stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
		children.append((child, path))
		line = child.stderr.readline()
		if line != "READY\n":
			raise process.Failed("%s: %s" % (child.args[0], line + child.stderr.read()))


def _open_gates(stage):
	"""The keeper has the lock before the others ask."""
	stage.begin = time.monotonic_ns()
	stage.end = stage.begin + int(stage.run.seconds * 1e9)
	for number, (child, _) in enumerate(stage.children):
		child.stdin.write("\n")
		child.stdin.flush()
		if number == 0 and stage.run.keeper_s:
			time.sleep(0.1)


def _await_end(stage):
	for child, _ in stage.children:
		try:
			child.wait(LATE_S)
		except subprocess.TimeoutExpired:
			raise process.Failed("%s does not end" % child.args[0])
		if child.returncode != 0 and child not in stage.victims:
			raise process.Failed("%s: exit code %d, %s" % (child.args[0], child.returncode, child.stderr.read()))


def _prepare(run, servers):
	for server in servers.all:
		server.ask("FLUSHALL")
		if run.user:
			server.ask("ACL", "SETUSER", USER, "on", ">" + PASSWORD, "resetchannels", "resetkeys", "~" + NAME, "+@all")


def _perform(stage):
	stage.files = [turns.File(path, number) for number, (_, path) in enumerate(stage.children)]
	_open_gates(stage)
	found = {}
	if stage.run.incident:
		stage.sleep_until(BEFORE)
		stage.since = time.monotonic_ns()
		found = incidents.ALL[stage.run.incident](stage) or {}
	stage.sleep_until(1)
	if stage.run.incident in incidents.BREAKS:
		stage.servers.heal()
		for proxy in stage.proxies:
			proxy.send_signal(signal.SIGCONT)
	_await_end(stage)
	return found


def _figures(stage):
	files = stage.files[1 if stage.run.keeper_s else 0:]
	all_turns = [turn for file in files for turn in file.turns()]
	victims = {number for number, (child, _) in enumerate(stage.children) if child in stage.victims}
	claimants = [claimant for file in files for claimant in file.claimants() if claimant[0] not in victims]
	found = turns.figures(all_turns, claimants, stage.begin, stage.end, stage.since)
	found["attempts"] = sum(file.attempts() for file in files)
	remote = range(len(stage.children) - stage.run.remote, len(stage.children))
	found["remote_us"] = turns.percentiles([(turn.granted or stage.end) - turn.asked for turn in all_turns
		if turn.claimant[0] in remote and turn.asked < stage.end])
	return found


def do(run, servers, directory, postgres=None):
	"""Runs it; returns its figures."""
	_prepare(run, servers)
	meter = noise.Meter()
	with _wires(run, servers) as (addresses, proxies):
		stage = Stage(run, servers, proxies)
		try:
			_start(run, directory, [postgres] if run.postgres else addresses, stage.children)
			found = _perform(stage)
			return {**_figures(stage), **found, "foreign_percent": meter.foreign_percent()}
		finally:
			for child, path in stage.children:
				process.end(child)
				if os.path.exists(path):
					os.unlink(path)
			for file in stage.files:
				file.close()
