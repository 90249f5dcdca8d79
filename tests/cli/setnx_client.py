# SPDX-License-Identifier: MIT
"""A client of the old SETNX protocol, by the letter of redis.io's page (SETNX, "Handling deadlocks"), on each of SOCKET,...:

    SOCKETS acquire NAME SECONDS     prints the value, or "busy"
    SOCKETS release NAME VALUE
    SOCKETS work NAME SECONDS UNTIL DIRECTORY   holds again and again until that time; DIRECTORY is made by a holder,
                                                and must not be there; now and then one dies without a release
"""
import os
import random
import sys
import time

import redis

sockets, verb, name = sys.argv[1:4]
nodes = [redis.Redis(unix_socket_path=path, decode_responses=True) for path in sockets.split(",")]
quorum = len(nodes) // 2 + 1


def take(node, timeout):
    value = int(time.time()) + timeout + 1
    if node.setnx(name, value):
        return value
    found = node.get(name)
    if found is None or int(found) > time.time():
        return None
    found = node.getset(name, value)
    return value if found is None or int(found) < time.time() else None


def give_back(node, value):
    if value is not None and value > time.time():
        node.delete(name)


def acquire(timeout):
    values = [take(node, timeout) for node in nodes]
    if sum(value is not None for value in values) >= quorum:
        return values
    for node, value in zip(nodes, values):
        give_back(node, value)
    return None


def work(timeout, until, directory):
    held = 0
    while time.time() < until:
        values = acquire(timeout)
        if values is None:
            time.sleep(random.uniform(0.005, 0.02))
            continue
        os.mkdir(directory)
        time.sleep(0.002)
        os.rmdir(directory)
        held += 1
        if random.random() < 0.98:
            for node, value in zip(nodes, values):
                give_back(node, value)
        time.sleep(random.uniform(0, 0.01))
    print(held)


if verb == "acquire":
    got = acquire(int(sys.argv[4]))
    print("busy" if got is None else max(value or 0 for value in got))
elif verb == "release":
    for node in nodes:
        give_back(node, int(sys.argv[4]))
else:
    work(int(sys.argv[4]), float(sys.argv[5]), sys.argv[6])
