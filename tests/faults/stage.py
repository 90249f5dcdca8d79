# SPDX-License-Identifier: MIT
"""The stage of one scenario: servers, proxies, clients, and the rules of the network between them."""
import os
import random

import network
from masters import COUNT as MASTER_SERVERS, Masters
from history import parse_line
from process import Process, now_ns
from server import Server, ServerError

MODES = ("plain", "extend", "keeper")
CELLS = 2  # of the counter: kind.h
FIRST_CLIENT = 101  # the number of the first client's host


class ClientRun:
	"""A client, and what its history says so far. When it is killed, a new one takes its place."""

	def __init__(self, index, stage, rng):
		self.index = index
		self.number = FIRST_CLIENT + index
		self.stage = stage
		self.seed = rng.randrange(1, 1_000_000_000)
		self.life = 0
		self.kind = stage.scenario.kinds[index % len(stage.scenario.kinds)]
		self.process = None
		self.file = None

	def start(self):
		scenario = self.stage.scenario
		self.life += 1
		self.name = f"client-{self.index}.{self.life}"
		self.rest = ""
		self.claim = None  # (since, deadline) while it holds
		self.token = ""
		self.cells = ()
		self.last_grant = 0
		path = os.path.join(self.stage.folder, self.name + ".history")
		open(path, "x", encoding="ascii").close()
		if self.file is not None:
			self.file.close()
		self.file = open(path, encoding="ascii")
		arguments = [
			os.path.join(self.stage.options.bin, "faults-client"), "--history", path,
			"--counter", self.stage.counter, "--ttl", str(scenario.ttl_ms), "--mode", MODES[self.index % len(MODES)],
			"--kind", self.kind,
			"--seed", str(self.seed + self.life), "--hold", f"{scenario.hold[0]}-{scenario.hold[1]}"]
		if scenario.careless:
			arguments.append("--careless")
		arguments += self.stage.urls()
		with self.stage.net.inside(self.number):
			self.process = Process(arguments, os.path.join(self.stage.folder, self.name + ".log"))

	def kill(self):
		self.process.kill()

	def follow(self):
		"""Reads what the history has got since the last time."""
		lines = (self.rest + self.file.read()).split("\n")
		self.rest = lines.pop()
		for line in lines:
			at, word, fields = parse_line(line, self.name)
			if word == "grant":
				self.claim = (at, fields["deadline"])
				self.last_grant = at
				self.token = fields["token"]
				self.cells = fields["cells"]
			elif word == "extended":
				self.claim = (self.claim[0], fields["deadline"])
			elif word in ("lost", "release"):
				self.claim = None

	def holds(self, part):
		"""Whether it has the lock, with more than this part of the TTL left."""
		self.follow()
		most_ns = int(self.stage.scenario.ttl_ms * 1_000_000 * part)
		return self.claim is not None and self.process.status() is None and self.claim[1] > now_ns() + most_ns


class Stage:
	def __init__(self, scenario, folder, net, options):
		self.scenario = scenario
		self.folder = folder
		self.net = net
		self.options = options
		self.counter = os.path.join(folder, "counter")
		self.rules = {}  # id of an event -> its rules
		self.bites = {}  # kind of fault -> how often it was seen to be real
		self.set_back_ms = 0  # so much longer may a key live on a node whose clock was set back
		self.proxies = {}  # number of the node -> (process, the descriptor that commands go to)
		rng = random.Random(f"{options.seed} {scenario.name} clients")
		shims = [os.path.join(options.bin, f"faults-{shim}.so") for shim in scenario.shims]
		self.servers = [Server(1 + i, folder, net, options.server, shims, scenario.fsync)
			for i in range(MASTER_SERVERS if scenario.masters else options.nodes)]
		self.masters = Masters(self) if scenario.masters else None
		self.clients = [ClientRun(i, self, rng) for i in range(scenario.clients or options.clients)]
		self.packets_before = net.packets()

	def urls(self):
		"""The nodes of the clients."""
		if self.masters is not None:
			return [self.masters.url]
		port = network.PROXY_PORT if self.scenario.proxies else network.NODE_PORT
		return [f"redis://{network.address(server.number)}:{port}" for server in self.servers]

	# ---- Start and end ----

	def start(self):
		with open(self.counter, "wb") as file:
			file.write(bytes(8 * CELLS))
		self.rules["topology"] = self.bridge() if self.scenario.bridge else []
		self.apply_rules()
		for server in self.servers:
			server.start()
		for server in self.servers:
			server.wait_ready()
			if self.scenario.proxies:
				self.start_proxy(server)
		if self.masters is not None:
			self.masters.start()
		for client in self.clients:
			client.start()

	def start_proxy(self, server):
		read_end, write_end = os.pipe()
		arguments = [os.path.join(self.options.bin, "faults-proxy"), str(network.PROXY_PORT), server.socket,
			str(self.options.seed % 1_000_000 + server.number)]
		with self.net.inside(server.number):
			process = Process(arguments, os.path.join(server.folder, "proxy.log"), stdin=read_end)
		os.close(read_end)
		self.proxies[server.number] = (process, write_end)

	def stop(self):
		"""Ends everything at once."""
		for client in self.clients:
			if client.process is not None:
				client.kill()
				client.file.close()
		if self.masters is not None:
			self.masters.kill()
		for server in self.servers:
			if server.process is not None:
				server.kill()
			server.clock.close()
		for process, descriptor in self.proxies.values():
			process.kill()
			os.close(descriptor)
		self.rules = {}
		self.apply_rules()

	# ---- For the faults ----

	def bite(self, kind, times=1):
		self.bites[kind] = self.bites.get(kind, 0) + int(times)

	def bridge(self):
		"""Even clients reach the first quorum of nodes, odd ones the last; they share the node in the middle."""
		quorum = len(self.servers) // 2 + 1
		rules = []
		for client in self.clients:
			even = client.index % 2 == 0
			for server in self.servers[quorum:] if even else self.servers[: len(self.servers) - quorum]:
				rules.append(network.cut(client.number, server.number, "topology"))
				rules.append(network.cut(server.number, client.number, "topology"))
		return rules

	def set_rules(self, event, rules):
		self.rules[id(event)] = rules
		self.apply_rules()

	def apply_rules(self):
		self.net.set_rules([rule for rules in self.rules.values() for rule in rules])

	def close_connections(self, server):
		"""Returns how many. None where the server is down or busy."""
		if server.process.paused or server.process.status() is not None:
			return 0
		try:
			with server.connect(timeout_s=1) as connection:
				return connection.call("CLIENT", "KILL", "TYPE", "normal")
		except (OSError, ServerError):
			return 0

	def other_writes(self):
		"""Somebody else writes to the servers too. With everysec the first write of a second is synced at once and
		the later ones are not, so that a lock on an otherwise idle server would hardly ever be lost."""
		for server in self.servers:
			if server.answers():
				server.call("SET", "elsewhere", "x", "PX", 10_000)

	def tell_proxy(self, server, command):
		os.write(self.proxies[server.number][1], command.encode() + b"\n")

	def packet_bites(self):
		"""The packets that each rule of the network has met in this scenario."""
		return {name: count - self.packets_before.get(name, 0) for name, count in self.net.packets().items()}
