# SPDX-License-Identifier: MIT
"""Whether the servers keep what a client claims: a quorum of them must have its key until the claimed deadline.

A validity that is too long does no harm until somebody else comes in that moment; here it shows at once.
"""
from process import now_ns
from server import ServerError

MS = 1_000_000


def is_backed(deadline_ns, nodes, answers):
	"""Whether a quorum may still have the key at the deadline. An answer is (when it came, value there, PTTL);
	a node that was not asked, or did not answer, may have it."""
	short = 0
	for came_ns, is_ours, pttl_ms in answers:
		kept = is_ours and (pttl_ms == -1 or came_ns + (pttl_ms + 1) * MS >= deadline_ns)
		short += not kept
	return nodes - short >= nodes // 2 + 1


class ClaimWatch:
	"""Asks the servers behind the clients' backs, once for each claim that is seen in time."""

	def __init__(self, stage):
		self.stage = stage
		self.asked = {}  # name of the client -> the claim that was judged last
		self.compared = 0
		self.complaints = []

	def ask(self, server, token):
		if server.process.paused or server.process.status() is not None:
			return None
		try:
			with server.connect(timeout_s=1) as connection:
				value = connection.call("GET", "counter")
				pttl_ms = connection.call("PTTL", "counter")
		except (OSError, ServerError):
			return None
		return (now_ns(), value == token, pttl_ms)

	def look(self):
		for client in self.stage.clients:
			client.follow()
			claim = client.claim
			if claim is None or claim == self.asked.get(client.name):
				continue
			self.asked[client.name] = claim
			answers = [self.ask(server, client.token) for server in self.stage.servers]
			client.follow()
			if client.claim != claim or now_ns() >= claim[1]:
				continue  # it may have been released, or have ended, meanwhile
			self.compared += 1
			if not is_backed(claim[1], len(answers), [answer for answer in answers if answer is not None]):
				self.complaints.append(f"{client.name} claims the lock until {claim[1]}, and no quorum has it so long: "
					f"{answers}")
