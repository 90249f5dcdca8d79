# SPDX-License-Identifier: MIT
"""The table of README.md: a program for redis-py's Lock runs the same with libredlock, after another constructor and the
words of the table."""
import asyncio
import time
import unittest

import redis
import redis.asyncio
import redis.exceptions
from cluster import ClusterTest

import libredlock
import libredlock.asyncio

TTL = 300


class Library:
    """A column of the table: how a client is made, and what is called otherwise."""

    def __init__(self, client, waits, busy, lost):
        self.client, self.busy, self.lost = client, busy, lost
        self.waits = waits  # the keyword that limits the wait of a `with` block


class Program(ClusterTest):
    def libraries(self, theirs, ours):
        path, url = self.cluster.sockets[0], self.cluster.urls[0]
        errors = redis.exceptions
        yield Library(theirs(unix_socket_path=path), "blocking_timeout", errors.LockError, errors.LockNotOwnedError)
        yield Library(ours([url], node_timeout=20), "wait", libredlock.LockBusy, libredlock.LockLost)

    def value(self, *words):
        return redis.Redis(unix_socket_path=self.cluster.sockets[0]).execute_command(*words)

    def blocking(self, library):
        """The program of a user. Returns what it saw."""
        client, log = library.client, []
        lock, rival = client.lock("nightly", TTL), client.lock("nightly", TTL)
        log.append(("acquired", lock.acquire(), lock.owned(), lock.locked(), self.value("EXISTS", "nightly")))
        log.append(("busy", rival.acquire(blocking=False), rival.owned()))
        start = time.monotonic()
        try:
            with client.lock("nightly", TTL, **{library.waits: 0.3}):
                log.append("not excluded")
        except library.busy as error:
            log.append(("busy after a wait", time.monotonic() - start >= 0.15, str(error) != ""))
        lock.extend(2 * TTL)
        log.append(("extended", self.value("TTL", "nightly") > TTL))
        lock.release()
        log.append(("released", lock.owned(), lock.locked(), self.value("EXISTS", "nightly")))
        with client.lock("nightly", TTL) as held:
            log.append(("with", held.owned(), rival.acquire(blocking=False)))
        log.append(("again", rival.acquire(), rival.release()))
        try:
            with client.lock("taken", TTL):
                self.value("SET", "taken", "x", "PX", "100")
        except library.lost:
            log.append("lost")
        client.close()
        return log

    async def in_a_loop(self, library):
        client, log = library.client, []
        async with client.lock("loop", TTL) as held:
            rival = client.lock("loop", TTL)
            log.append(("held", await held.owned(), await rival.acquire(blocking=False)))
            await held.extend(2 * TTL)
        log.append(("again", await rival.acquire(), await rival.release(), await rival.owned()))
        try:
            async with client.lock("lost", TTL):
                self.value("SET", "lost", "x", "PX", "100")
        except library.lost:
            log.append("lost")
        await client.close()
        return log

    def test_blocking(self):
        theirs, ours = (self.blocking(library) for library in self.libraries(redis.Redis, libredlock.Client))
        self.assertEqual(ours, theirs)
        self.assertEqual(len(ours), 8)

    def test_asyncio(self):
        async def both():
            return [await self.in_a_loop(library)
                    for library in self.libraries(redis.asyncio.Redis, libredlock.asyncio.Client)]

        theirs, ours = asyncio.run(both())
        self.assertEqual(ours, theirs)
        self.assertEqual(len(ours), 3)


if __name__ == "__main__":
    unittest.main()
