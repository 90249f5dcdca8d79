# SPDX-License-Identifier: MIT
"""libredlock.asyncio on real servers, with the loop of asyncio and, once, of uvloop."""
import asyncio
import signal
import unittest

import redis
from cluster import SOON, ClusterTest, FaultTest, threads

import libredlock
from libredlock.asyncio import Client

TTL = 300


class Plain(ClusterTest, unittest.IsolatedAsyncioTestCase):
    def keys(self, name):
        return sum(redis.Redis(unix_socket_path=path).exists(name) for path in self.cluster.sockets)

    async def work(self):
        """The duties of every loop."""
        async with Client(self.cluster.urls, node_timeout=20) as client:
            async with client.lock("loop", TTL) as lock:
                self.assertTrue(lock.locked() and await lock.owned())
                rival = client.lock("loop", TTL, wait=0)
                self.assertFalse(await rival.acquire(blocking=False))
                self.assertFalse(await rival.acquire(timeout=0.05))
                with self.assertRaisesRegex(libredlock.LockBusy, "^busy: held by"):
                    async with rival:
                        pass
                await lock.extend(2 * TTL)
                self.assertGreater(lock.remaining, TTL)
                waiting = asyncio.ensure_future(rival.acquire())
                await asyncio.sleep(0.05)
            self.assertTrue(await asyncio.wait_for(waiting, SOON))
            await rival.release()
        self.assertEqual(self.keys("loop"), 0)

    async def test_a_loop_of_asyncio(self):
        before = threads()
        await self.work()
        self.assertEqual(threads(), before)

    async def test_many_at_once(self):
        async with Client(self.cluster.urls, node_timeout=20) as client:
            order = []

            async def one(name):
                async with client.lock(name, TTL):
                    order.append(name)

            await asyncio.gather(*(one(f"many-{i % 10}") for i in range(100)))
            self.assertEqual(len(order), 100)

    async def test_a_cancelled_task_holds_nothing(self):
        async with Client(self.cluster.urls, node_timeout=20) as client:
            async with client.lock("cancel", TTL):
                waiter = client.lock("cancel", TTL)
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(waiter.acquire(), 0.1)
            for delay in range(20):  # also at the moment of the grant
                task = asyncio.ensure_future(waiter.acquire())
                await asyncio.sleep(delay / 10000)
                if not task.cancel():
                    await waiter.release()
                await asyncio.wait([task])
                self.assertFalse(waiter.locked())
            self.assertEqual(await client.drain(SOON), 0)
            self.assertEqual(self.keys("cancel"), 0)
            async with waiter:
                pass

    async def test_a_release_that_is_cancelled_follows(self):
        async with Client(self.cluster.urls, node_timeout=20) as client:
            lock = client.lock("twice", TTL)

            async def hold():
                async with lock:
                    await lock.extend()
                    await lock.extend()

            for steps in range(30):  # in each await, and again in the release that follows
                task = asyncio.ensure_future(hold())
                for _ in range(steps):
                    await asyncio.sleep(0)
                for _ in range(3):
                    task.cancel()
                    await asyncio.sleep(0)
                await asyncio.wait([task])
                end = asyncio.get_running_loop().time() + SOON
                while lock.locked() and asyncio.get_running_loop().time() < end:
                    await asyncio.sleep(0.001)
                self.assertFalse(lock.locked())

    async def test_another_loop_is_told(self):
        async with Client(self.cluster.urls, node_timeout=20) as client:
            async with client.lock("loops", TTL) as lock:
                def other():
                    with self.assertRaisesRegex(RuntimeError, "another event loop"):
                        asyncio.run(lock.extend())

                await asyncio.get_running_loop().run_in_executor(None, other)

    async def test_kinds(self):
        async with Client(self.cluster.urls, node_timeout=20) as client:
            one, two = (client.lock("shared", TTL, shared=True) for _ in range(2))
            async with one:
                async with two:
                    self.assertFalse(await one.upgrade())
                while not await one.upgrade():
                    await asyncio.sleep(0.01)
                await one.downgrade()
            async with client.lock("slot", TTL, slots=3) as lock:
                self.assertEqual(lock.slot, 0)
            async with client.lock(["a", "b"], TTL):
                self.assertFalse(await client.lock("b").acquire(blocking=False))
                self.assertFalse(await client.lock("c").owned())

    async def test_close_ends_more_waiters_than_one_turn_has_events(self):
        async with Client(self.cluster.urls, node_timeout=20) as holder, holder.lock("crowd", TTL):
            client = Client(self.cluster.urls, node_timeout=20)
            waiters = [asyncio.ensure_future(client.lock("crowd", TTL).acquire()) for _ in range(200)]
            await asyncio.sleep(0)
            await client.close()
            ends = await asyncio.wait_for(asyncio.gather(*waiters, return_exceptions=True), SOON)
            self.assertEqual({type(end) for end in ends}, {libredlock.LockCancelled})

    async def test_a_closed_client_says_so(self):
        client = Client(self.cluster.urls, node_timeout=20)
        holder, waiter = client.lock("closed", TTL), client.lock("closed", TTL)
        await holder.acquire()
        waiting = asyncio.ensure_future(waiter.acquire())
        await asyncio.sleep(0.05)
        await client.close()
        self.assertEqual(self.keys("closed"), 0)
        with self.assertRaises(libredlock.LockCancelled):
            await waiting
        with self.assertRaises(libredlock.LockStateError):
            await holder.acquire()


class Uvloop(Plain):
    def test_a_loop_of_asyncio(self):
        import uvloop

        loop = uvloop.new_event_loop()
        loop.run_until_complete(self.work())
        loop.close()

    test_many_at_once = test_close_ends_more_waiters_than_one_turn_has_events = None
    test_a_cancelled_task_holds_nothing = test_kinds = test_a_closed_client_says_so = None
    test_a_release_that_is_cancelled_follows = test_another_loop_is_told = None


class Faults(FaultTest, unittest.IsolatedAsyncioTestCase):
    async def test_loss_cancels_the_block(self):
        told, steps = [], []
        async with Client(self.cluster.urls, node_timeout=0.3) as client:
            lock = client.lock("lost", 2, renew=0.3, on_lost=lambda: told.append(lock.remaining))
            with self.assertRaises(libredlock.LockLost):
                async with lock:
                    steps.append("held")
                    self.cluster.send(signal.SIGSTOP, 0, 1, 2)
                    await asyncio.sleep(SOON)
                    steps.append("not cancelled")
            self.cluster.send(signal.SIGCONT, 0, 1, 2)
            self.assertEqual((told, steps), ([0.0], ["held"]))
            await asyncio.sleep(0)  # the task itself is not cancelled
            async with client.lock("lost", TTL):
                pass

    async def test_a_cancel_from_outside_stays_one(self):
        async with Client(self.cluster.urls, node_timeout=0.5) as client:
            self.cluster.send(signal.SIGKILL, 0)

            async def hold():
                async with client.lock("outside", TTL, wait=SOON):
                    held.set_result(None)
                    await asyncio.sleep(SOON)

            held = asyncio.get_running_loop().create_future()
            task = asyncio.ensure_future(hold())
            await asyncio.wait_for(held, SOON)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            async with client.lock("outside", TTL, wait=SOON):
                pass


if __name__ == "__main__":
    unittest.main()
