# SPDX-License-Identifier: MIT
"""libredlock for Python, as install.py builds it from bindings/python. Waits without limit by default."""
import libredlock

from measure import measure


def connect(nodes, ttl_s):
	client = libredlock.Client(["redis://127.0.0.1:" + port for port in nodes])
	return lambda name: client.lock(name, ttl_s)


measure(connect)
