# SPDX-License-Identifier: MIT
"""Lock of redis-py, for one server. Defaults: waits without limit, 100 ms between attempts."""
import redis

from measure import measure


def connect(nodes, ttl_s):
	client = redis.Redis(port=int(nodes[0]))
	return lambda name: client.lock(name, timeout=ttl_s)


measure(connect)
