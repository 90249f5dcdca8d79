# SPDX-License-Identifier: MIT
"""A pair of acquire and release by libredlock for Python, blocking and with asyncio: "NAME MEDIAN P99" in microseconds.

    pair.py ROUNDS URL..."""
import asyncio
import sys
import time

import libredlock
import libredlock.asyncio


def show(name, times):
    times = sorted(times[len(times) // 11:])  # the first ones connect
    print(f"{name} {times[len(times) // 2] / 1e3:.1f} {times[len(times) * 99 // 100] / 1e3:.1f}", flush=True)


def blocking(rounds, urls):
    with libredlock.Client(urls) as client:
        lock, times = client.lock("pair"), []
        for _ in range(rounds):
            start = time.perf_counter_ns()
            lock.acquire()
            lock.release()
            times.append(time.perf_counter_ns() - start)
    show("Python", times)


async def in_loop(rounds, urls):
    async with libredlock.asyncio.Client(urls) as client:
        lock, times = client.lock("pair"), []
        for _ in range(rounds):
            start = time.perf_counter_ns()
            await lock.acquire()
            await lock.release()
            times.append(time.perf_counter_ns() - start)
    show("asyncio", times)


if __name__ == "__main__":
    total = int(sys.argv[1]) * 11 // 10
    blocking(total, sys.argv[2:])
    asyncio.run(in_loop(total, sys.argv[2:]))
