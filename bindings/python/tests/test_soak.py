# SPDX-License-Identifier: MIT
"""Many locks leave nothing: no memory, no descriptor, no handle. REDLOCK_SOAK says how many, else 3000."""
import asyncio
import gc
import os
import unittest

import libredlock
import libredlock.asyncio
from cluster import ClusterTest

ROUNDS = int(os.environ.get("REDLOCK_SOAK", 3000))
WARM, IN_FLIGHT, PAGE_KIB = 2000, 32, os.sysconf("SC_PAGE_SIZE") // 1024
GROWTH_KIB = 16384  # a handle of C and its object have 700 bytes or more, 70 000 KiB for 100 000


def memory_kib():
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as numbers:
        return int(numbers.read().split()[1]) * PAGE_KIB


class Soak(ClusterTest):
    def check(self, client, before):
        self.assertLess(memory_kib() - before[0], GROWTH_KIB)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before[1])
        self.assertLessEqual(len(client._native.locks), 1)

    def test_blocking(self):
        with libredlock.Client(self.cluster.urls, node_timeout=20) as client:
            for i in range(WARM + ROUNDS):
                with client.lock(f"soak-{i % 10}", 60):
                    if i == WARM:
                        before = memory_kib(), len(os.listdir("/proc/self/fd"))
            self.check(client, before)

    def test_asyncio(self):
        async def soak():
            async with libredlock.asyncio.Client(self.cluster.urls, node_timeout=20) as client:
                async def all_of(count):
                    await asyncio.gather(*(one(i, count // IN_FLIGHT) for i in range(IN_FLIGHT)))

                async def one(number, count):
                    for _ in range(count):
                        async with client.lock(f"soak-{number}", 60):
                            pass

                await all_of(WARM)
                before = memory_kib(), len(os.listdir("/proc/self/fd"))
                await all_of(ROUNDS)
                self.check(client, before)

        asyncio.run(soak())


if __name__ == "__main__":
    unittest.main()
