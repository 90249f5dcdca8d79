# SPDX-License-Identifier: MIT
"""One node, with all that can be done to it. The director talks to it over a Unix socket, past the network."""
import glob
import mmap
import os
import shutil
import socket
import struct
import tempfile

import network
from process import Process, now_ns, wait_until

PASSWORD = "director"
CONFIG = """\
bind {address}
port {port}
unixsocket {socket}
unixsocketperm 700
dir {data}
daemonize no
protected-mode no
logfile ""
save 3600 1
appendonly yes
appendfsync {fsync}
auto-aof-rewrite-percentage 0
lua-time-limit 5
user default on nopass ~* &* +@all
user director on >{password} ~* &* +@all
"""


class ServerError(Exception):
	"""An error that the server answered with '-'."""


class Connection:
	"""A small client of the Redis protocol, written apart from the library."""

	def __init__(self, path, timeout_s, user="director"):
		self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
		self.socket.settimeout(timeout_s)
		try:
			self.socket.connect(path)
			self.file = self.socket.makefile("rb")
			if user == "director":
				self.call("AUTH", user, PASSWORD)
		except BaseException:
			self.socket.close()
			raise

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.file.close()
		self.socket.close()

	def send(self, *words):
		parts = [str(word).encode() for word in words]
		bulks = [b"$%d\r\n%s\r\n" % (len(part), part) for part in parts]
		self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(bulks))

	def call(self, *words):
		self.send(*words)
		return self.reply()

	def reply(self):
		line = self.file.readline()
		if not line.endswith(b"\r\n"):
			raise ConnectionError("closed")
		kind, rest = line[:1], line[1:-2]
		if kind == b"-":
			raise ServerError(rest.decode())
		if kind == b"+":
			return rest.decode()
		if kind == b":":
			return int(rest)
		if int(rest) < 0:
			return None
		if kind == b"*":
			return [self.reply() for _ in range(int(rest))]
		return self.file.read(int(rest) + 2)[:-2].decode(errors="replace")


class Server:
	def __init__(self, number, folder, net, binary, shims, fsync):
		self.number = number
		self.net = net
		self.binary = binary
		self.folder = os.path.join(folder, f"node-{number}")
		self.data = os.path.join(self.folder, "data")
		self.socket = os.path.join(self.folder, "socket")
		self.clock_file = os.path.join(self.folder, "clock")
		self.shims = shims
		self.process = None
		self.script = None  # the connection whose script keeps it busy
		os.makedirs(self.data)
		with open(self.clock_file, "wb") as file:
			file.write(bytes(8))
		with open(self.clock_file, "r+b") as file:
			self.clock = mmap.mmap(file.fileno(), 8)
		with open(os.path.join(self.folder, "redis.conf"), "w", encoding="ascii") as file:
			file.write(CONFIG.format(address=network.address(number), port=network.NODE_PORT, socket=self.socket,
				data=self.data, fsync=fsync, password=PASSWORD))

	def __str__(self):
		return f"node {self.number}"

	# ---- Life ----

	def start(self):
		environment = {"FAULTS_CLOCK": self.clock_file}
		if self.shims:
			environment["LD_PRELOAD"] = ":".join(self.shims)
		with self.net.inside(self.number):
			self.process = Process([self.binary, os.path.join(self.folder, "redis.conf")],
				os.path.join(self.folder, "log"), environment)

	def answers(self):
		if self.process.paused or self.process.status() is not None:
			return False
		try:
			return self.call("PING") == "PONG"
		except (OSError, ServerError):  # starting, loading, or busy
			return False

	def wait_ready(self):
		wait_until(lambda: self.process.status() is not None or self.answers(), 60)
		if not self.answers():
			raise RuntimeError(f"node {self.number} does not start, see {self.folder}/log")

	def kill(self):
		self.drop_script()
		self.process.kill()

	def wipe(self):
		os.rename(self.data, tempfile.mkdtemp(dir=self.folder))  # a child that still saves may go on in there
		os.mkdir(self.data)

	def lose_power(self):
		"""SIGKILL; then the files are as the disk had them for certain. Returns how many bytes went."""
		self.kill()
		gone = 0
		for path in glob.glob(os.path.join(self.data, "appendonlydir", "*.incr.aof")):
			synced = 0
			if os.path.exists(path + ".synced"):
				with open(path + ".synced", encoding="ascii") as file:
					synced = int(file.read())
			gone += max(0, os.path.getsize(path) - synced)
			if os.path.getsize(path) > synced:
				os.truncate(path, synced)
		return gone

	# ---- Questions ----

	def connect(self, user="director", timeout_s=10):
		return Connection(self.socket, timeout_s, user)

	def call(self, *words):
		with self.connect() as connection:
			return connection.call(*words)

	def error_of(self, *words, user="default"):
		"""The first word of the error that a command gets, '' if none."""
		try:
			with self.connect(user) as connection:
				connection.call(*words)
		except ServerError as error:
			return str(error).split(" ")[0]
		return ""

	def info(self, section, field):
		for line in self.call("INFO", section).split("\r\n"):
			name, _, value = line.partition(":")
			if name == field:
				return value
		raise RuntimeError(f"INFO {section} has no {field}")

	# ---- Changes to the server ----

	def step_clock(self, ms):
		"""Sets its wall clock forward or back. Returns whether it shows."""
		def server_ms():
			seconds, micros = self.call("TIME")
			return int(seconds) * 1000 + int(micros) // 1000

		before, start_ms = server_ms(), now_ns() // 1_000_000
		struct.pack_into("q", self.clock, 0, struct.unpack_from("q", self.clock, 0)[0] + ms * 1_000_000)
		between_ms = now_ns() // 1_000_000 - start_ms
		moved = server_ms() - before
		return moved >= ms if ms > 0 else moved < between_ms

	def begin_script(self):
		"""A script that does not end. Returns at once."""
		self.script = self.connect()
		self.script.send("EVAL", "while true do end", 0)

	def drop_script(self):
		if self.script is not None:
			self.script.__exit__()
			self.script = None

	def end_script(self):
		try:
			self.call("SCRIPT", "KILL")
		except ServerError as error:
			if not str(error).startswith("NOTBUSY"):
				raise
		if not wait_until(self.answers, 30):
			raise RuntimeError(f"node {self.number} does not end its script")
		self.drop_script()

	def stop_persisting(self):
		"""A folder where the dump should go: BGSAVE fails, and from then on the server refuses writes."""
		dump = os.path.join(self.data, "dump.rdb")
		if os.path.exists(dump):
			os.unlink(dump)
		os.makedirs(os.path.join(dump, "in-the-way"))
		self.save()

	def persist_again(self):
		shutil.rmtree(os.path.join(self.data, "dump.rdb"))
		self.save()
		if not wait_until(self.is_persisting, 30):
			raise RuntimeError(f"node {self.number} cannot persist")

	def save(self):
		try:
			self.call("BGSAVE")
		except ServerError:
			pass  # one is running: is_persisting() is asked until it is so

	def refuses_writes(self):
		return self.error_of("SET", "probe", 1, "PX", 1) == "MISCONF"

	def is_persisting(self):
		"""True when the last dump went well; else it is tried again."""
		if self.info("persistence", "rdb_bgsave_in_progress") == "1":
			return False
		if self.info("persistence", "rdb_last_bgsave_status") == "ok":
			return True
		self.save()
		return False
