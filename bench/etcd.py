# SPDX-License-Identifier: MIT
"""One etcd of our own, with the settings it has by default: it syncs its log to the disk."""
import os
import time
import urllib.error
import urllib.request

import process
from servers import START_LIMIT_S, free_port


class Etcd:
	def __init__(self, directory):
		self.address = "127.0.0.1:%d" % free_port()
		url, peers = "http://" + self.address, "http://127.0.0.1:%d" % free_port()
		self.child = process.start(["etcd", "--name", "bench", "--data-dir", os.path.join(directory, "etcd"),
			"--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peers,
			"--initial-advertise-peer-urls", peers, "--initial-cluster", "bench=" + peers, "--log-level", "error"],
			stdout=-3, stderr=-3)
		if not self._wait():
			process.end(self.child)
			raise process.Failed("etcd does not start")

	def _wait(self):
		end = time.monotonic() + START_LIMIT_S
		while time.monotonic() < end and self.child.poll() is None:
			try:
				with urllib.request.urlopen("http://%s/health" % self.address, timeout=START_LIMIT_S) as answer:
					return b"true" in answer.read()
			except (urllib.error.URLError, OSError):
				time.sleep(0.05)
		return False
