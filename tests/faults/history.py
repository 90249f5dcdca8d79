# SPDX-License-Identifier: MIT
"""Reads the clients' histories: lines into holds (which client believed to have the lock, and when) and writes."""
import glob
import os

# Word -> the keys that its line must have.
WORDS = {
	"start": {"mode", "ttl_ms"},
	"invoke": {"round"},
	"grant": {"round", "deadline", "token", "cells", "shared"},
	"refused": {"round", "error", "votes"},
	"extended": {"round", "deadline"},
	"not_extended": {"round", "error"},
	"torn": {"round"},
	"writes": {"round", "read_at", "value"},
	"wrote": {"round", "value"},
	"lost": {"round"},
	"notice": {"round", "kind"},
	"release": {"round"},
	"released": {"round", "result"},
	"end": {"owed"},
}


class BadHistory(Exception):
	"""A line that no client writes. Nothing is skipped: a checker that overlooks lines proves nothing."""


class Hold:
	"""One time that one client believed to have the lock."""

	def __init__(self, client, at, deadline, token, cells=(0,), shared=False):
		self.client = client
		self.cells = cells  # what it has locked: a name, or a slot
		self.shared = shared
		self.start = at  # when the application saw the grant
		self.deadline = deadline  # the latest that was claimed
		self.token = token
		self.given_up = None  # when it began the release, or found the lock lost
		self.lost = None

	@property
	def end(self):
		return self.deadline if self.given_up is None else min(self.given_up, self.deadline)

	def excludes(self, other):
		"""Whether these two must not be at the same time."""
		return not (self.shared and other.shared) and bool(set(self.cells) & set(other.cells))


class Write:
	"""One change of the counter. `done` is None where the client died before it could say so."""

	def __init__(self, hold, read_at, begun, value):
		self.hold = hold
		self.read_at = read_at
		self.begun = begun
		self.value = value
		self.done = None
		self.late = False  # done after the deadline, or after a noticed loss: A3 was broken


class Client:
	"""The history of one process."""

	def __init__(self, name):
		self.name = name
		self.ttl_ns = 0
		self.invokes = 0
		self.extensions = 0
		self.lost = 0
		self.torn = 0  # what it read changed while it shared the lock
		self.ended = False
		self.holds = []
		self.writes = []
		self.refusals = {}  # error -> how often
		self.results = {}  # of releases
		self.problems = []  # what must not be, whatever is broken on purpose


def parse_line(line, where):
	"""Returns (time, word, {key: value}); values made of digits are numbers."""
	parts = line.split(" ")
	if len(parts) < 2 or not parts[0].isdigit() or parts[1] not in WORDS:
		raise BadHistory(f"{where}: {line!r}")
	fields = {}
	for part in parts[2:]:
		key, equals, value = part.partition("=")
		if not equals:
			raise BadHistory(f"{where}: {line!r}")
		fields[key] = value
	word = parts[1]
	if set(fields) != WORDS[word]:
		raise BadHistory(f"{where}: {line!r}")
	try:
		for key in fields.keys() & {"round", "deadline", "read_at", "value", "ttl_ms", "owed", "shared"}:
			fields[key] = int(fields[key])
		if "cells" in fields:
			fields["cells"] = tuple(int(cell) for cell in fields["cells"].split(","))
	except ValueError:
		raise BadHistory(f"{where}: {line!r}") from None
	return int(parts[0]), word, fields


class Reader:
	"""Reads one client's lines in order, and notes what no correct client or library would do."""

	def __init__(self, name):
		self.client = Client(name)
		self.hold = None
		self.write = None
		self.last = 0

	def line(self, at, word, fields):
		if at < self.last:
			self.problem(at, "time runs backward")
		self.last = at
		getattr(self, "on_" + word, lambda at, fields: None)(at, fields)

	def problem(self, at, text):
		self.client.problems.append(f"{self.client.name} at {at}: {text}")

	def claim(self, at, deadline):
		if deadline > at + self.client.ttl_ns:
			self.problem(at, f"claims {(deadline - at) / 1e6:.3f} ms, more than the TTL")
		self.hold.deadline = max(self.hold.deadline, deadline)

	def on_start(self, _, fields):
		self.client.ttl_ns = fields["ttl_ms"] * 1_000_000

	def on_invoke(self, at, _):
		self.client.invokes += 1
		if self.hold is not None:
			self.problem(at, "acquires while it holds")

	def on_grant(self, at, fields):
		self.hold = Hold(self.client.name, at, 0, fields["token"], fields["cells"], bool(fields["shared"]))
		self.client.holds.append(self.hold)
		self.claim(at, fields["deadline"])

	def on_refused(self, at, fields):
		error = fields["error"]
		self.client.refusals[error] = self.client.refusals.get(error, 0) + 1
		if error not in ("BUSY", "NOQUORUM"):
			self.problem(at, f"acquire says {error}")

	def on_extended(self, at, fields):
		self.client.extensions += 1
		if self.hold.lost is not None:
			self.problem(at, "a lost lock came back")
		self.claim(at, fields["deadline"])

	def on_not_extended(self, at, fields):
		if fields["error"] not in ("NOQUORUM", "LOST"):
			self.problem(at, f"extend says {fields['error']}")

	def on_lost(self, at, _):
		self.client.lost += 1
		self.hold.lost = self.hold.given_up = at

	def on_torn(self, at, _):
		if at <= self.hold.end:
			self.client.torn += 1

	def on_writes(self, at, fields):
		self.write = Write(self.hold, fields["read_at"], at, fields["value"])
		self.client.writes.append(self.write)

	def on_wrote(self, at, _):
		self.write.done = at
		self.write.late = at > self.write.hold.end

	def on_release(self, at, _):
		if self.hold.given_up is None:
			self.hold.given_up = at

	def on_released(self, at, fields):
		result = fields["result"]
		self.client.results[result] = self.client.results.get(result, 0) + 1
		if result not in ("OK", "GONE", "NOQUORUM"):
			self.problem(at, f"release says {result}")
		self.hold = None

	def on_end(self, *_):
		self.client.ended = True


def read_client(path):
	"""Reads one file. The unfinished line of a killed client, an end without a newline, is left out."""
	name = os.path.basename(path)[: -len(".history")]
	reader = Reader(name)
	with open(path, encoding="ascii") as file:
		text = file.read()
	for number, line in enumerate(text.split("\n")[:-1], 1):
		where = f"{path}:{number}"
		at, word, fields = parse_line(line, where)
		if word in ("extended", "lost", "torn", "writes", "release", "released") and reader.hold is None:
			raise BadHistory(f"{where}: {word} without a grant")
		if word == "wrote" and reader.write is None:
			raise BadHistory(f"{where}: wrote without writes")
		reader.line(at, word, fields)
	return reader.client


def read_all(directory):
	"""All histories of a run, NAME.history."""
	return [read_client(path) for path in sorted(glob.glob(os.path.join(directory, "*.history")))]
