# SPDX-License-Identifier: MIT
"""Whether the servers keep what a client claims: a quorum of them must have its key until the claimed deadline.

A validity that is too long does no harm until somebody else comes in that moment; here it shows at once.
"""
from process import now_ns
from server import ServerError

MS = 1_000_000
SLOT, BESIDE = "{counter}:redlock:slot:1", "{counter}:redlock:setnx"
KEYS = ("counter", "other", SLOT)  # whatever is locked is one of these


def _plain(*names):
	"""Each is a string, the token."""
	def look(connection, token, _):
		lives = [(connection.call("GET", name) == token, connection.call("PTTL", name)) for name in names]
		return all(ours for ours, _ in lives), min(life for _, life in lives)
	return look


def _slot(connection, token, cells):
	return _plain((KEYS[0], SLOT)[cells[0]])(connection, token, cells)


def _shared(connection, token, _):
	"""A member of a sorted set, with the time at which it ends."""
	score = connection.call("ZSCORE", KEYS[0], token)
	seconds, micros = (int(part) for part in connection.call("TIME"))
	life = int(float(score)) - (seconds * 1000 + micros // 1000) if score is not None else -2
	return life >= 0, life


def _setnx(connection, token, _):
	"""A time; the token is beside it."""
	beside = connection.call("GET", BESIDE) or ""
	return beside.endswith(" " + token), connection.call("PTTL", KEYS[0])


LOOKS = {"alone": _plain("counter"), "other": _plain("other"), "both": _plain("counter", "other"),
	"turned": _plain("counter", "other"), "slot": _slot, "reader": _shared, "setnx": _setnx}


def is_backed(deadline_ns, nodes, answers):
	"""Whether a quorum may still have the key at the deadline. An answer is (when it came, value there, PTTL);
	a node that was not asked, or did not answer, may have it."""
	short = 0
	for came_ns, is_ours, pttl_ms in answers:
		kept = is_ours and (pttl_ms == -1 or came_ns + (pttl_ms + 1) * MS >= deadline_ns)
		short += not kept
	return nodes - short >= nodes // 2 + 1


class ClaimWatch:
	"""Asks the servers without the clients' knowledge, once for each claim that is seen in time."""

	def __init__(self, stage):
		self.stage = stage
		self.asked = {}  # name of the client -> the claim that was judged last
		self.compared = 0
		self.complaints = []

	def ask(self, server, client):
		if server.process.paused or server.process.status() is not None:
			return None
		try:
			with server.connect(timeout_s=1) as connection:
				is_ours, pttl_ms = LOOKS[client.kind](connection, client.token, client.cells)
		except (OSError, ServerError):
			return None
		return (now_ns(), is_ours, pttl_ms)

	def look(self):
		for client in self.stage.clients:
			client.follow()
			claim = client.claim
			if claim is None or claim == self.asked.get(client.name):
				continue
			self.asked[client.name] = claim
			answers = [self.ask(server, client) for server in self.stage.servers]
			client.follow()
			if client.claim != claim or now_ns() >= claim[1]:
				continue  # it may have been released, or have ended, meanwhile
			self.compared += 1
			if not is_backed(claim[1], len(answers), [answer for answer in answers if answer is not None]):
				self.complaints.append(f"{client.name} claims the lock until {claim[1]}, and no quorum has it so long: "
					f"{answers}")
