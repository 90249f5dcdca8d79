# SPDX-License-Identifier: MIT
"""A relay in front of a Unix socket: hold_relay.py LISTEN SERVER HOLD. While the file HOLD exists, what clients
say is kept back, also when they have gone; then it is passed on. What the server says is passed on at once."""
import os, select, socket, sys

listen, server, hold = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(listen)
listener.listen(16)
print("ready", flush=True)
pairs = []  # [client or None, server, bytes that are kept back]
while True:
	clients = {p[0]: p for p in pairs if p[0]}
	servers = {p[1]: p for p in pairs}
	ready = select.select([listener, *clients, *servers], [], [], 0.01)[0]
	for s in ready:
		if s is listener:
			pairs.append([listener.accept()[0], socket.socket(socket.AF_UNIX), b""])
			pairs[-1][1].connect(server)
		elif s in clients:
			got = s.recv(65536)
			clients[s][2] += got
			if not got:
				clients[s][0] = None
		elif s in servers and (got := s.recv(65536)) and servers[s][0]:
			servers[s][0].sendall(got)
	if not os.path.exists(hold):
		for p in pairs:
			p[1].sendall(p[2])
			p[2] = b""
		pairs = [p for p in pairs if p[0]]
