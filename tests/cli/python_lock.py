# SPDX-License-Identifier: MIT
"""A lock by Debian's python3-redis, in steps: SOCKET acquire|forever|release NAME [TOKEN]."""
import sys

import redis
from redis.exceptions import LockNotOwnedError

socket_path, verb, name = sys.argv[1:4]
client = redis.Redis(unix_socket_path=socket_path)
lock = client.lock(name, timeout=None if verb == "forever" else 60)
if verb == "release":
    lock.local.token = sys.argv[4].encode()
    try:
        lock.release()
        print("released")
    except LockNotOwnedError:
        print("not owned")
elif lock.acquire(blocking=False):
    print(lock.local.token.decode())
else:
    print("busy")
