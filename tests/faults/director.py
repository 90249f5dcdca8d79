# SPDX-License-Identifier: MIT
"""Plays one scenario: starts all, lets the faults happen, heals, lets all clients recover, stops, has it judged."""
import json
import os
import signal
import struct
import time

import checker
from claims import KEYS, ClaimWatch
from faults import KINDS, Cut
from history import BadHistory
from process import now_ns, reap, wait_until
from scenarios import plan
from server import ServerError
from stage import Stage

MS = 1_000_000
RECONNECT_MS = 3000  # the longest pause between two connects of the library
SILENCE_MS = 5000  # so long the library believes in a connection that does not answer
ALL_RECOVER_S = 30  # waiting is not fair: the last client may wait long after the others
CLIENT_END_S = 30
AIM_LIMIT_MS = 3000  # an aimed fault waits so long for a holder
SHOWN_FAULTS = 12  # so many faults of a broken assumption must show a violation


class ClockWatch:
	"""Whether somebody sets the clock of this machine, which would break A2 for real."""

	def __init__(self):
		self.offset = self.measure()
		self.step_ms = 0

	@staticmethod
	def measure():
		"""Wall clock minus CLOCK_BOOTTIME: the best of some readings, as a reading may be interrupted."""
		best = None
		for _ in range(5):
			before = now_ns()
			wall = time.time_ns()
			width = now_ns() - before
			if best is None or width < best[0]:
				best = (width, wall - before)
		return best[1]

	def look(self):
		offset = self.measure()
		step_ms = abs(offset - self.offset) // MS
		self.offset = offset
		if step_ms >= 2:
			self.step_ms += step_ms


class Director:
	def __init__(self, scenario, folder, net, options, seconds):
		self.scenario = scenario
		self.folder = folder
		self.options = options
		self.seconds = seconds
		self.stage = Stage(scenario, folder, net, options)
		self.events = plan(scenario, options.seed, seconds, options.nodes, options.clients)
		self.begun = {}  # kind -> how often
		self.complaints = []
		self.clock = ClockWatch()
		self.claims = ClaimWatch(self.stage)
		self.healed_ns = None
		self.log_file = open(os.path.join(folder, "director.log"), "w", encoding="ascii")

	def log(self, text):
		print(now_ns(), text, file=self.log_file, flush=True)

	def compares_claims(self):
		"""Not while assumptions are broken, nor where one node is several servers."""
		return self.scenario.breaks == "" and not self.scenario.masters

	# ---- Faults ----

	def begin(self, event):
		self.log(f"begin {event}")
		self.begun[event.kind] = self.begun.get(event.kind, 0) + 1
		KINDS[event.kind].begin(self.stage, event)
		event.until_ns = now_ns() + event.lasts_ms * MS

	def end(self, event):
		KINDS[event.kind].end(self.stage, event)
		self.log(f"end {event}")

	def may_begin(self, event, taken, since_ns):
		"""Its time has come, no other fault excludes it, and what it is aimed at is there."""
		if since_ns < event.at_ms * MS or event.lanes() & taken:
			return False
		kind = KINDS[event.kind]
		if kind.lane == "node" and not all(self.stage.servers[target].answers() for target in event.targets):
			return False  # still starting after the last fault
		if not kind.aimed or since_ns > (event.at_ms + AIM_LIMIT_MS) * MS:
			return True
		return any(client.holds(kind.aimed) for client in self.stage.clients)

	def turn(self, waiting, active, since_ns):
		for event in [event for event in active if now_ns() >= event.until_ns]:
			self.end(event)
			active.remove(event)
		taken = set().union(*[event.lanes() for event in active]) if active else set()
		for event in list(waiting):
			if event.at_ms * MS > since_ns:
				break
			if self.may_begin(event, taken, since_ns):
				waiting.remove(event)
				active.append(event)
				self.begin(event)
			taken |= event.lanes()  # also while it waits: events keep their order

	def inject(self):
		waiting, active = list(self.events), []
		start_ns = next_write_ns = now_ns()
		while active or now_ns() - start_ns < self.seconds * 1000 * MS:
			since_ns = now_ns() - start_ns
			if since_ns >= self.seconds * 1000 * MS:
				waiting = []
			self.turn(waiting, active, since_ns)
			if self.scenario.fsync == "everysec" and now_ns() > next_write_ns:
				next_write_ns = now_ns() + 50 * MS
				self.stage.other_writes()
			reap()
			self.clock.look()
			if self.compares_claims():
				self.claims.look()
			time.sleep(0.01)

	# ---- After the faults ----

	def heal(self):
		"""All faults have ended. The servers must be well again before the clients are judged."""
		self.stage.rules = {}
		self.stage.apply_rules()
		for server in self.stage.servers:
			if server.process.status() is not None:
				raise RuntimeError(f"node {server.number} ended by itself, see {server.folder}/log")
			server.wait_ready()
		if self.stage.masters is not None:
			self.stage.masters.settle()
		self.healed_ns = now_ns()
		self.log("healed")

	def recover(self):
		for client in self.stage.clients:
			client.process.signal(signal.SIGUSR1)  # hold only for a moment: all want to have a turn

		def all_have():
			self.clock.look()
			for client in self.stage.clients:
				client.follow()
			return all(client.last_grant >= self.healed_ns or client.process.status() is not None
				for client in self.stage.clients)

		wait_until(all_have, ALL_RECOVER_S)

	def stop_clients(self):
		for client in self.stage.clients:
			client.process.signal(signal.SIGTERM)
		for client in self.stage.clients:
			if not wait_until(lambda: client.process.status() is not None, CLIENT_END_S):
				self.complaints.append(f"{client.name} does not end on SIGTERM")
			elif client.process.status() != 0:
				self.complaints.append(f"{client.name} ended with {client.process.status()}, see its log")

	def has_key(self, server):
		try:
			return server.call("EXISTS", *KEYS) != 0
		except (OSError, ServerError) as error:
			return str(error)

	def check_keys(self):
		"""No key outlives its TTL."""
		limit_ms = self.scenario.ttl_ms + self.stage.set_back_ms + 1000
		for server in self.stage.servers:
			if not wait_until(lambda: not self.has_key(server), limit_ms / 1000):
				left = [server.call("PTTL", key) for key in KEYS]
				self.complaints.append(f"node {server.number} still has {KEYS}: PTTL {left}")

	def check_bites(self):
		"""A fault that never had an effect proves nothing. One or two may have met nobody."""
		packets = self.stage.packet_bites()
		seen = dict(self.stage.bites)
		for kind in self.begun:
			counter = "cut" if isinstance(KINDS[kind], Cut) else kind
			if counter in packets:
				seen[kind] = packets[counter]
			if self.begun[kind] >= 3 and seen.get(kind, 0) == 0:
				self.complaints.append(f"{self.begun[kind]} times {kind}, and it never had an effect")
		if self.scenario.bridge and packets["topology"] == 0:
			self.complaints.append("the bridge let everything through")
		self.log(f"begun {self.begun} seen {seen}")

	def check_claims(self):
		self.log(f"claims compared with what the servers have: {self.claims.compared}")
		if self.compares_claims() and self.clock.step_ms == 0:
			self.complaints += self.claims.complaints
			if self.claims.compared == 0:
				self.complaints.append("no claim was compared with what the servers have")

	def shown_faults(self):
		return 1 if self.scenario.masters else SHOWN_FAULTS

	def write_facts(self):
		with open(self.stage.counter, "rb") as file:
			counter = sum(cell for (cell,) in struct.iter_unpack("Q", file.read()))
		facts = {
			"scenario": self.scenario.name,
			"breaks": self.scenario.breaks,
			"counter": counter,
			"healed_ns": self.healed_ns,
			"bound_ms": self.scenario.ttl_ms + self.stage.set_back_ms + RECONNECT_MS + SILENCE_MS,
			"survivors": [client.name for client in self.stage.clients],
			"clock_step_ms": self.clock.step_ms,
			"must_show": self.scenario.breaks != "" and sum(self.begun.values()) >= self.shown_faults(),
			"complaints": self.complaints,
		}
		with open(os.path.join(self.folder, "facts.json"), "w", encoding="ascii") as file:
			json.dump(facts, file, indent=1)

	def run(self):
		"""Returns the report of the checker."""
		try:
			self.stage.start()
			self.inject()
			self.heal()
			self.recover()
			self.stop_clients()
			self.check_keys()
			self.check_bites()
			self.check_claims()
		except (RuntimeError, OSError, ServerError, BadHistory) as error:
			self.complaints.append(f"{type(error).__name__}: {error}")
			self.log(f"gave up: {error}")
		finally:
			self.stage.stop()
			self.log_file.close()
		self.write_facts()
		return checker.check_directory(self.folder)
