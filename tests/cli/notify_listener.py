# SPDX-License-Identifier: MIT
"""A service manager's end of sd_notify(3): writes each datagram that arrives at SOCKET to stdout, until one has
LAST in it. SOCKET may begin with `@`: an abstract address."""
import socket
import sys

path, last = sys.argv[1:3]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind("\0" + path[1:] if path[0] == "@" else path)
listener.settimeout(120)
print("listening", flush=True)
text = ""
while last not in text:
    text = listener.recv(4096).decode()
    print(text, flush=True)
