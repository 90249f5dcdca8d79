# SPDX-License-Identifier: MIT
"""Servers of our own: no persistence, a free TCP port and a Unix socket each; they can be hung and killed."""
import os
import shutil
import signal
import socket
import time

import process

START_LIMIT_S = 15


def free_port():
	with socket.socket() as s:
		s.bind(("127.0.0.1", 0))
		return s.getsockname()[1]


class Server:
	def __init__(self, program, directory, number):
		self.program = program
		self.directory = directory
		self.path = os.path.join(directory, "%d.sock" % number)
		self.start()

	def start(self):
		"""On a new port: a killed one is measured as gone, not as coming back."""
		for _ in range(5):  # somebody else may take the port first
			self.port = free_port()
			self.child = process.start([self.program, "--port", self.port, "--bind", "127.0.0.1",
				"--unixsocket", self.path, "--save", "", "--appendonly", "no", "--daemonize", "no",
				"--maxclients", "4000", "--tcp-backlog", "511", "--loglevel", "warning",
				"--logfile", self.path + ".log", "--dir", self.directory])
			if self._wait():
				return
			process.end(self.child)
		raise process.Failed("%s does not start, see %s.log" % (self.program, self.path))

	def _wait(self):
		end = time.monotonic() + START_LIMIT_S
		while time.monotonic() < end and self.child.poll() is None:
			try:
				return self.ask("PING").startswith(b"+PONG")
			except OSError:
				time.sleep(0.02)
		return False

	def ask(self, *words):
		with socket.socket(socket.AF_UNIX) as s:
			s.settimeout(START_LIMIT_S)
			s.connect(self.path)
			s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
			return s.recv(65536)

	def hang(self):
		self.child.send_signal(signal.SIGSTOP)

	def kill(self):
		self.child.send_signal(signal.SIGKILL)
		self.child.wait()

	def heal(self):
		"""As new: running, and empty."""
		if self.child.poll() is not None:
			process.end(self.child)
			os.unlink(self.path)
			self.start()
		self.child.send_signal(signal.SIGCONT)
		self.ask("FLUSHALL")


class Servers:
	def __init__(self, count, directory):
		program = shutil.which("redis-server") or shutil.which("valkey-server")
		if not program:
			raise process.Failed("redis-server is not installed")
		self.program, self.directory = program, directory
		self.all = []
		self.need(count)
		self.delayed = None
		self.proxy = None

	def need(self, count):
		"""So many at least, from now on."""
		for number in range(len(self.all), count):
			self.all.append(Server(self.program, self.directory, number))

	def version(self):
		return self.all[0].ask("INFO", "server").decode().partition("redis_version:")[2].split()[0]

	def ports(self):
		return [server.port for server in self.all]

	def paths(self):
		return [server.path for server in self.all]

	def far_ports(self, delayproxy, microseconds):
		"""Ports behind a proxy that delays by so much in each direction."""
		if not self.delayed:
			self.proxy = process.start([delayproxy, microseconds] + self.paths(), stdout=-1, text=True)
			self.delayed = self.proxy.stdout.readline().split()
		return self.delayed

	def heal(self):
		for server in self.all:
			server.heal()
