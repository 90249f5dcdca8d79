# SPDX-License-Identifier: MIT
"""Runs of the measuring programs: what they do, on which nodes, under which fault."""
import array
import dataclasses
import json
import os
import statistics
import time
import typing

import build
import noise
import process
import watched

FAR_US = 500  # each way


@dataclasses.dataclass(frozen=True)
class Run:
	program: typing.Any  # its name, or the words that start somebody else's
	pairs: int = 0  # at most
	seconds: float = 0  # at most
	count: int = 1  # in flight, or threads
	wire: str = "tcp"  # tcp, unix, far
	no_wait: bool = False
	hung: int = 0  # nodes that hang once all is warm
	killed: int = 0
	name_size: int = 0  # 0: the usual
	nodes: int = 5
	rest_ms: int = 0  # between two turns
	guard: bool = False  # the nodes are a guarded set
	fence: bool = False  # the same, with fencing numbers
	shared: bool = False
	slots: int = 0  # one of so many
	sticky_ms: int = 0  # a released lock stays for so long
	many: bool = False  # of two names
	thrifty: bool = False  # asks a quorum of the nodes (raw)
	before: bool = False  # of another checkout
	operands: tuple = ()  # instead of the servers
	watched: bool = False  # what a server does meanwhile

	def shorter(self, factor):
		"""The same in less time. Faults need their pairs: what piles up for a node depends on them."""
		fault = self.hung + self.killed > 0 and self.pairs > 0
		return self if fault else dataclasses.replace(self, pairs=self.pairs // factor, seconds=self.seconds / factor)

	def of_checkout(self, root):
		return dataclasses.replace(self, program=(build.program(self.program, root),)) if self.before else self


def _nodes(run, servers):
	if run.operands:
		return list(run.operands)
	if run.wire == "unix":
		return servers.paths()[:run.nodes]
	if run.wire == "far":
		return servers.far_ports(build.program("delayproxy"), FAR_US)[:run.nodes]
	return servers.ports()[:run.nodes]


def _arguments(run):
	options = {"-n": run.pairs, "-t": run.seconds, "-c": run.count, "-k": run.name_size,
		"-r": run.rest_ms, "-K": run.slots, "-s": run.sticky_ms}
	words = [word for option, value in options.items() if value for word in (option, value)]
	return words + ["-w"] * run.no_wait + ["-g"] * bool(run.hung or run.killed or run.watched) + \
		["-F"] * run.fence + ["-G"] * run.guard + ["-S"] * run.shared + ["-M"] * run.many + ["-T"] * run.thrifty


def _break(run, servers):
	for server in servers.all[:run.hung]:
		server.hang()
	for server in servers.all[run.hung:run.hung + run.killed]:
		server.kill()


def _command(run, servers, samples):
	start = [build.program(run.program)] if isinstance(run.program, str) else list(run.program)
	return start + ["-o", samples] + _arguments(run) + _nodes(run, servers)


def _whole_command(run, servers, samples):
	"""`redlock run` and its probe: timed as processes, from outside."""
	ports = [str(port) for port in servers.ports()[:run.nodes]]
	start = [build.program("repeat"), "-n", run.pairs, "-t", run.seconds, "-o", samples]
	if run.program == "rawrun":
		return start + [build.program("rawrun"), ",".join(ports), "bench-run", "true"]
	return start + [build.program("redlock"), "run", "bench-run", "--", "true"]


def _init(servers, environment):
	"""Makes these nodes a guarded set, whatever they were. Returns how long that took."""
	for server in servers.all:
		server.ask("FLUSHALL")
	begin = time.monotonic_ns()
	process.output([build.program("redlock"), "init", "--fresh"], environment=environment)
	return time.monotonic_ns() - begin


def _doctor(_servers, environment):
	begin = time.monotonic_ns()
	process.output([build.program("redlock"), "doctor"], environment=environment, codes=(0, 1, 2))
	return time.monotonic_ns() - begin


COMMANDS = {"init": _init, "doctor": _doctor}


def _commands_one_by_one(run, servers, environment):
	"""A command about the whole set, from outside."""
	times = [COMMANDS[run.program](servers, environment) for _ in range(run.pairs)]
	us = {"p50": statistics.median(times) / 1e3, "p99": max(times) / 1e3, "p999": max(times) / 1e3}
	return {"pairs": len(times), "failed": 0, "seconds": sum(times) / 1e9, "pair_us": us,
		"samples_ns": array.array("I", sorted(min(t, 2**32 - 1) for t in times))}


def _environment(run, servers, directory):
	urls = ("redis://127.0.0.1:%d" % port for port in servers.ports()[:run.nodes])
	return dict(os.environ, REDLOCK_URLS=",".join(urls), STATE_DIRECTORY=directory)


def do(run, servers, directory):
	"""Runs it. Returns what it printed, with the sorted times of its pairs (ns) and what others took meanwhile."""
	samples = os.path.join(directory, "samples")
	servers.need(run.nodes)
	environment = _environment(run, servers, directory)
	if run.program in COMMANDS:
		meter = noise.Meter()
		return dict(_commands_one_by_one(run, servers, environment), foreign_percent=meter.foreign_percent())
	if run.guard or run.fence:
		_init(servers, environment)
	as_process = run.program in ("rawrun", "redlock")
	command = (_whole_command if as_process else _command)(run, servers, samples)
	broken = run.hung + run.killed > 0
	watch = watched.Watch(servers.all[0], run.seconds, run.count if run.shared else 1) if run.watched else None
	at_gate = watch.begin if watch else (lambda: _break(run, servers)) if broken else None
	meter = noise.Meter()
	try:
		printed = process.output(command, at_gate=at_gate, environment=environment)
	finally:
		foreign = meter.foreign_percent()
		if broken:
			servers.heal()
	times = array.array("I")
	with open(samples, "rb") as f:
		times.frombytes(f.read())
	seen = watch.end() if watch else {}
	return dict(json.loads(printed), samples_ns=times, foreign_percent=foreign, **seen)
