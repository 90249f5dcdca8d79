# SPDX-License-Identifier: MIT
"""A name server that is slow, silent, wrong, or says something else each time."""
import socket
import struct
import threading

A, AAAA = 1, 28
NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3


class NameServer:
	"""Answers on 127.0.0.1, port 53, in a thread. Change `names` at any time."""

	def __init__(self):
		self.names = {}  # "a.test": {"a": [...], "aaaa": [...], "delay": s, "silent": bool, "code": n, "lie": bool}
		self.asked = []
		self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		self.socket.bind(("127.0.0.1", 53))
		threading.Thread(target=self.serve, daemon=True).start()

	def serve(self):
		while True:
			query, client = self.socket.recvfrom(1500)
			name, kind, question = self.parse(query)
			self.asked.append(name)
			entry = self.names.get(name, {"code": NXDOMAIN})
			if entry.get("silent"):
				continue
			if entry.get("lie"):  # somebody else's answer, and half a one
				self.socket.sendto(self.answer(struct.pack(">H", query[0] ^ 0x5a5a) + query[2:], question, kind,
					{"a": ["127.0.0.9"], "aaaa": ["::9"]}), client)
			answer = self.answer(query, question, kind, entry)
			threading.Timer(entry.get("delay", 0), self.socket.sendto, (answer, client)).start()

	@staticmethod
	def parse(query):
		labels, at = [], 12
		while query[at]:
			labels.append(query[at + 1:at + 1 + query[at]].decode())
			at += 1 + query[at]
		return ".".join(labels).lower(), struct.unpack(">H", query[at + 1:at + 3])[0], query[12:at + 5]

	@staticmethod
	def answer(query, question, kind, entry):
		family = {A: (socket.AF_INET, "a"), AAAA: (socket.AF_INET6, "aaaa")}.get(kind)
		code = entry.get("code", NOERROR)
		found = entry.get(family[1], []) if family and code == NOERROR else []
		records = b"".join(struct.pack(">HHHIH", 0xc00c, kind, 1, 0, len(data)) + data
			for data in (socket.inet_pton(family[0], text) for text in found))
		return query[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0) + question + records
