# SPDX-License-Identifier: MIT
"""libredlock.Client on real servers: with, kinds, errors, loss, signals, fork, the end of the interpreter."""
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import redis
from cluster import SOON, ClusterTest, FaultTest, threads, until

import libredlock

TTL = 300  # keys that must go by a release do not go by themselves


class Plain(ClusterTest):
    def setUp(self):
        self.client = libredlock.Client(self.cluster.urls, node_timeout=20)
        self.addCleanup(self.client.close)

    def lock(self, name, **options):
        return self.client.lock(name, TTL, **options)

    def keys(self, name):
        return sum(redis.Redis(unix_socket_path=path).exists(name) for path in self.cluster.sockets)

    def test_with_holds_and_excludes(self):
        with self.lock("with") as lock:
            self.assertTrue(lock.locked() and lock.owned())
            self.assertGreater(lock.remaining, TTL / 2)
            self.assertGreaterEqual(self.keys("with"), 2)
            rival = self.lock("with", wait=0)
            self.assertEqual(rival.error, "")
            self.assertFalse(rival.acquire(blocking=False))
            self.assertRegex(rival.error, "^busy: held by")
            self.assertFalse(rival.acquire(timeout=0.05))
            with self.assertRaisesRegex(libredlock.LockBusy, "^busy: held by"):
                rival.__enter__()
            with self.assertRaises(ValueError):
                rival.acquire(blocking=False, timeout=1)
            with self.assertRaises(libredlock.LockStateError):
                rival.release()
            lock.extend()
            lock.extend(2 * TTL)
            self.assertGreater(lock.remaining, TTL)
        self.assertFalse(lock.locked() or lock.owned())
        self.assertTrue(rival.acquire())
        rival.release()

    def test_all_kinds(self):
        one, two = self.lock("shared", shared=True), self.lock("shared", shared=True)
        with one, two:
            self.assertFalse(one.upgrade())
            self.assertFalse(self.lock("shared").acquire(blocking=False))
            two.release()
            until(one.upgrade)
            one.downgrade()
            self.assertTrue(two.acquire())
        first, second, third = (self.lock("slots", slots=2) for _ in range(3))
        with first, second:
            self.assertEqual({first.slot, second.slot}, {0, 1})
            self.assertFalse(third.acquire(blocking=False))
        names = self.lock(["x", b"y\0"])
        with self.lock(b"y\0", reentrant=True) as y, y:
            self.assertFalse(names.acquire(blocking=False))
            self.assertEqual(names.obstacle, 1)
        with names:
            self.assertFalse(self.lock("x").acquire(blocking=False))
        with self.lock("own", token=b"a value"):
            self.assertGreaterEqual(self.keys("own"), 2)

    def test_redis_py_excludes_and_is_excluded(self):
        theirs = redis.Redis(unix_socket_path=self.cluster.sockets[0])
        with libredlock.Client(self.cluster.urls[:1], node_timeout=20) as client:
            with theirs.lock("both", timeout=TTL):
                self.assertFalse(client.lock("both").acquire(blocking=False))
            with client.lock("both", TTL) as ours:
                other = theirs.lock("both", timeout=TTL)
                self.assertFalse(other.acquire(blocking=False))
                other.local.token = ours.token
                other.extend(2 * TTL)
                other.release()
                self.assertFalse(ours.owned())
                with self.assertRaises(libredlock.LockLost):
                    ours.release()
                self.assertTrue(ours.acquire())

    def test_a_lock_that_was_taken_is_lost_at_the_end(self):
        with self.assertRaises(libredlock.LockLost) as raised:
            with self.lock("taken"):
                for path in self.cluster.sockets:
                    redis.Redis(unix_socket_path=path).set("taken", "x")
        self.assertEqual(raised.exception.name, "GONE")
        with self.assertRaises(ZeroDivisionError):  # the error of the block is not replaced
            with self.lock("taken2"):
                for path in self.cluster.sockets:
                    redis.Redis(unix_socket_path=path).delete("taken2")
                1 / 0
        with self.assertRaises(libredlock.LockLost):
            with libredlock.Client(self.cluster.urls).lock("short", 1, wait=SOON) as lock:
                until(lambda: lock.remaining == 0)
                with self.assertRaises(libredlock.LockLost):
                    lock.check()

    def test_errors_name_the_option(self):
        for text, make in (
            ("node 1: the scheme", lambda: libredlock.Client(["http://a"])),
            ("nonsense", lambda: libredlock.Client(self.cluster.urls, nonsense="1")),
            ("/nonexistent", lambda: libredlock.Client(file="/nonexistent")),
            ("ttl", lambda: self.client.lock("a", 0.001)),
        ):
            with self.assertRaisesRegex(libredlock.OptionError, text):
                make()
        for make in (lambda: self.lock(""), lambda: self.lock(["a", "a"])):
            with self.assertRaises(libredlock.OptionError):
                make()
        libredlock.Client(self.cluster.urls, sticky=1.5, max_extends=3).close()  # the library says which are durations
        with libredlock.Client(self.cluster.urls, prefix="app:", owner="web-1", node_timeout=20) as client:
            with client.lock("labelled", TTL) as lock:
                self.assertGreaterEqual(self.keys("app:labelled"), 2)
                self.assertTrue(lock.token.endswith(b"|web-1"))

    def test_a_waiting_thread_is_cancelled_and_others_run(self):
        raised = []
        with self.lock("wait"):
            waiter = self.lock("wait")

            def wait():
                try:
                    waiter.acquire()
                except libredlock.RedlockError as error:
                    raised.append(error)

            thread = threading.Thread(target=wait)
            thread.start()
            while thread.is_alive():  # this thread runs: the other one does not keep the GIL
                waiter.cancel()
                thread.join(0.01)
        self.assertIsInstance(raised[0], libredlock.LockCancelled)

    def test_a_forgotten_lock_is_released(self):
        self.lock("forgotten").acquire()
        gc.collect()
        self.assertEqual(self.client.drain(SOON), 0)
        self.assertEqual(self.keys("forgotten"), 0)

    def test_a_closed_client_says_so(self):
        client = libredlock.Client(self.cluster.urls)
        lock = client.lock("closed", TTL)
        lock.acquire()
        client.close()
        client.close()
        self.assertEqual(self.keys("closed"), 0)
        for call in (lock.acquire, lock.release, lock.cancel, lambda: client.lock("closed")):
            self.assertRaises(libredlock.LockStateError, call)

    def test_a_client_may_be_closed_while_threads_use_its_locks(self):
        for _ in range(5):
            client, raised = libredlock.Client(self.cluster.urls, node_timeout=20), []

            def work(number):
                try:
                    lock = client.lock(f"closing-{number % 3}", TTL)
                    while True:
                        with lock:
                            lock.locked(), lock.votes, lock.error
                except (libredlock.LockStateError, libredlock.LockCancelled) as error:
                    raised.append(error)

            workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
            for worker in workers:
                worker.start()
            until(lambda: client._native.calls > 2)
            client.close()
            for worker in workers:
                worker.join(SOON)
            self.assertEqual(len(raised), 8)

    def test_text_with_a_nul_is_refused(self):
        with self.assertRaisesRegex(libredlock.OptionError, "NUL"):
            libredlock.Client(self.cluster.urls, prefix="a\0b")

    def test_a_signal_without_an_exception_goes_on(self):
        old = signal.signal(signal.SIGUSR1, lambda *_: None)
        self.addCleanup(signal.signal, signal.SIGUSR1, old)
        with self.lock("signal"):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            start = time.monotonic()
            self.assertFalse(self.lock("signal").acquire(timeout=0.6))
            self.assertGreater(time.monotonic() - start, 0.55)
            timer.join()

    def test_a_child_process_has_no_locks(self):
        with self.lock("fork", renew=60, on_lost=lambda: None) as lock:
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    lock.extend()
                except libredlock.ForkedError:
                    self.client.close()
                    code = 0
                os._exit(code)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            self.assertTrue(lock.owned())


class Programs(ClusterTest):
    """Programs of their own."""

    def start(self, program, **options):
        code = "import libredlock, threading, time, os, sys\nclient = libredlock.Client(sys.argv[1:])\n"
        words = [sys.executable, "-c", code + textwrap.dedent(program), *self.cluster.urls]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def test_ctrl_c_ends_a_wait(self):
        child = self.start(
            """
            import signal  # a shell ignores it in what it runs in the background
            signal.signal(signal.SIGINT, signal.default_int_handler)
            holder = client.lock("c", 300)
            holder.acquire()
            print("waits", flush=True)
            client.lock("c").acquire()
            """
        )
        self.assertEqual(child.stdout.readline(), "waits\n")
        end = time.monotonic() + SOON
        while child.poll() is None and time.monotonic() < end:  # one may come before the wait
            child.send_signal(signal.SIGINT)
            time.sleep(0.2)
        self.assertIn("KeyboardInterrupt", child.communicate(timeout=SOON)[1])
        self.assertEqual(redis.Redis(unix_socket_path=self.cluster.sockets[0]).exists("c"), 0)

    def test_the_interpreter_ends_with_everything_open(self):
        child = self.start(
            """
            held = client.lock("exit", 300, renew=60, on_lost=lambda: None)
            held.acquire()
            waiter = client.lock("exit", 300)
            threading.Thread(target=waiter.acquire, daemon=True).start()
            while not client._native.calls:
                time.sleep(0.01)
            """
        )
        said = child.communicate(timeout=SOON)[1]
        self.assertEqual((child.returncode, said), (0, ""))
        self.assertEqual(redis.Redis(unix_socket_path=self.cluster.sockets[0]).exists("exit"), 0)

    def test_the_module_is_no_command(self):
        run = subprocess.run([sys.executable, "-m", "libredlock"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(run.returncode, 64)
        self.assertIn("redlock command", run.stderr)


class Faults(FaultTest):
    def test_a_minority_may_die_or_hang(self):
        with libredlock.Client(self.cluster.urls, node_timeout=0.5) as client:
            for number, node in ((signal.SIGSTOP, 0), (signal.SIGCONT, 0), (signal.SIGKILL, 1)):
                self.cluster.send(number, node)
                with client.lock("minority", TTL, wait=SOON):
                    pass

    def test_no_quorum_names_the_nodes(self):
        self.cluster.send(signal.SIGKILL, 1, 2)
        with libredlock.Client(self.cluster.urls) as client:
            with self.assertRaisesRegex(libredlock.NoQuorum, "^no quorum: .* 2 are needed; node") as raised:
                client.lock("none").acquire(blocking=False)
            self.assertEqual([vote.kind for vote in raised.exception.votes][1:], [3, 3])

    def test_loss_calls_at_once_and_no_thread_stays(self):
        before, told = threads(), []
        with libredlock.Client(self.cluster.urls, node_timeout=0.3) as client:
            lock = client.lock("lost", 2, renew=0.3, danger=1, on_lost=lambda: told.append("lost"),
                               on_danger=lambda: told.append("danger"))
            with self.assertRaises(libredlock.LockLost):
                with lock:
                    self.assertEqual(threads(), before + 2)
                    self.cluster.send(signal.SIGSTOP, 0, 1, 2)
                    until(lambda: "lost" in told)
                    self.assertFalse(lock.locked())
                    self.cluster.send(signal.SIGCONT, 0, 1, 2)
            self.assertEqual(told, ["danger", "lost"])
        self.assertEqual(threads(), before)

    def test_fencing_tokens_rise(self):
        urls = [word for url in self.cluster.urls for word in ("-r", url)]
        self.cluster.command("init", "--fresh", "--max-ttl", "10m", *urls)
        with libredlock.Client(self.cluster.urls, node_timeout=20) as client:
            seen = []
            for _ in range(2):
                with client.lock("fenced", TTL, fence=True) as lock:
                    seen.append(lock.fence)
            self.assertTrue(0 < seen[0] < seen[1])


if __name__ == "__main__":
    unittest.main()
