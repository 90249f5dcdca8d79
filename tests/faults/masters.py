# SPDX-License-Identifier: MIT
"""Three servers, a master and two replicas, and a Sentinel on the host of each: all of it is one node of the clients.

stage.py makes it for the scenarios of the group "masters". A partition cuts the master's host off, with the Sentinel on
it, and the other two Sentinels promote a replica: then there are two masters.
"""
import os
import subprocess

import network
from process import Process, wait_until
from server import Connection, ServerError

COUNT = 3
NAME = "jobs"
PORT = 26379
SETTLE_S = 90  # Sentinels demote a master that came back after 8 s, and are inactive for 30 s after a pause
CONFIG = """\
bind {address}
port {port}
unixsocket {socket}
dir {folder}
protected-mode no
logfile ""
sentinel monitor {name} {master} {node_port} 2
sentinel down-after-milliseconds {name} 300
sentinel failover-timeout {name} 2000
"""


class Sentinel:
	def __init__(self, server, folder, net, binary):
		self.server = server
		self.folder = os.path.join(folder, f"sentinel-{server.number}")
		self.socket = os.path.join(self.folder, "socket")
		os.makedirs(self.folder)
		config = os.path.join(self.folder, "sentinel.conf")
		with open(config, "w", encoding="ascii") as file:
			file.write(CONFIG.format(address=network.address(server.number), port=PORT, socket=self.socket,
				folder=self.folder, name=NAME, master=network.address(1), node_port=network.NODE_PORT))
		with net.inside(server.number):
			self.process = Process([binary, config, "--sentinel"], os.path.join(self.folder, "log"))

	def ask(self, *words):
		with Connection(self.socket, 10, user="") as connection:
			return connection.call(*words)

	def named(self):
		"""The address of the master; '' while the Sentinel does not answer."""
		try:
			return self.ask("SENTINEL", "get-master-addr-by-name", NAME)[0]
		except (OSError, ServerError):
			return ""

	def knows_all(self):
		"""Both replicas and both other Sentinels: before that it cannot fail over."""
		try:
			fields = self.ask("SENTINEL", "MASTER", NAME)
		except (OSError, ServerError):
			return False
		facts = dict(zip(fields[::2], fields[1::2]))
		return facts["flags"] == "master" and facts["num-slaves"] == "2" and facts["num-other-sentinels"] == "2"


class Masters:
	def __init__(self, stage):
		self.stage = stage
		self.sentinels = []
		self.url = "redis+sentinel://" + ",".join(network.address(s.number) for s in stage.servers) + "/" + NAME

	def start(self):
		servers = self.stage.servers
		for server in servers:
			server.call("CONFIG", "SET", "repl-diskless-sync-delay", 0)
		for server in servers[1:]:
			server.call("REPLICAOF", network.address(1), network.NODE_PORT)
		self.sentinels = [Sentinel(server, self.stage.folder, self.stage.net, self.stage.options.server)
			for server in servers]
		self.settle()
		if self.stage.scenario.breaks == "":
			self.guard()

	def guard(self):
		"""The clients' node becomes a guarded set: a replica that is promoted has no vote before the quarantine is over."""
		arguments = [os.path.join(self.stage.options.bin, "redlock"), "init", "-q", "--fresh", "--guard=auto",
			"--max-ttl", f"{self.stage.scenario.ttl_ms}ms", "-r", self.url]
		environment = dict(os.environ, STATE_DIRECTORY=self.stage.folder, XDG_CONFIG_HOME=self.stage.folder)
		with self.stage.net.inside(self.stage.clients[0].number):
			done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
		if done.returncode != 0:
			raise RuntimeError(f"redlock init: {done.returncode} {done.stderr}")

	def kill(self):
		for sentinel in self.sentinels:
			sentinel.process.kill()

	def master(self):
		"""The server that all Sentinels name; None while they do not agree, or cannot fail over again."""
		named = {sentinel.named() for sentinel in self.sentinels}
		for server in self.stage.servers:
			if named == {network.address(server.number)} and server.answers():
				ready = all(sentinel.knows_all() for sentinel in self.sentinels)
				return server if ready and server.info("replication", "connected_slaves") == "2" else None
		return None

	def settle(self):
		"""Waits until a failover is possible. Returns the master."""
		found = []
		if not wait_until(lambda: found.append(self.master()) or found[-1] is not None, SETTLE_S, 0.1):
			raise RuntimeError("the Sentinels do not agree on a master with two replicas")
		return found[-1]

	def is_promoted(self, old):
		"""Whether another server than this one is a master too."""
		return any(server is not old and server.answers() and server.info("replication", "role") == "master"
			for server in self.stage.servers)
