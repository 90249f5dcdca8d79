# SPDX-License-Identifier: MIT
"""Real servers for the tests: a cluster of the redlock command in a directory of its own."""
import faulthandler
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

REDLOCK = os.environ["REDLOCK_BIN"]
SOON = 30  # seconds that a thing may take on a busy machine

faulthandler.dump_traceback_later(int(os.environ.get("TEST_HANGS_AFTER", 900)), exit=True, file=sys.__stderr__)


class Cluster:
    def __init__(self, nodes=3):
        self.path = tempfile.mkdtemp(prefix="redlock-py.", dir="/tmp")  # short: Unix sockets
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=self.path)
        self.command("cluster", "start", "-q", "--nodes", str(nodes))
        self.folders = [pathlib.Path(self.path, "redlock", "cluster", f"node-{i + 1}") for i in range(nodes)]
        self.sockets = [str(folder / "redis.sock") for folder in self.folders]
        self.urls = ["unix://" + path for path in self.sockets]
        self.pids = [int((folder / "redis.pid").read_text()) for folder in self.folders]

    def command(self, *words):
        subprocess.run([REDLOCK, *words], check=True, env=self.environment)

    def send(self, number, *nodes):
        for node in nodes:
            os.kill(self.pids[node], number)

    def close(self):
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        self.command("cluster", "stop", "-q")
        shutil.rmtree(self.path)


class ClusterTest(unittest.TestCase):
    """A cluster for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)


class FaultTest(unittest.TestCase):
    """A cluster for each test, which may break it."""

    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)


def until(condition):
    end = time.monotonic() + SOON
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("did not happen in time")
        time.sleep(0.005)


def threads():
    """All threads of the process, those of C among them."""
    return len(os.listdir("/proc/self/task"))
