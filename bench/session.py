# SPDX-License-Identifier: MIT
"""Shared by bench/run and bench/scale: servers for the length of a session, and an orderly end."""
import contextlib
import datetime
import os
import platform
import shlex
import signal
import sys
import tempfile
import time

import build
import process
from servers import Servers


def _stop(number, _frame):
	raise SystemExit(128 + number)


@contextlib.contextmanager
def session(node_count):
	"""Yields (servers, directory for files). Whatever happens, nothing is left behind."""
	for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
		signal.signal(number, _stop)
	with tempfile.TemporaryDirectory(prefix="rl-bench.") as directory:
		try:
			yield Servers(node_count, directory), directory
		finally:
			process.end_all()


def rounds(count, end, one_round):
	"""The results of so many rounds, fewer when another one would not end in time (time.monotonic())."""
	done, longest = [], 0.0
	while len(done) < count and time.monotonic() + longest < end:
		start = time.monotonic()
		done.append(one_round(len(done)))
		longest = max(longest, time.monotonic() - start)
	return done


def facts(servers):
	"""The facts without which figures mean nothing."""
	return {
		"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
		"command": shlex.join(["bench/" + os.path.basename(sys.argv[0])] + sys.argv[1:]),
		"commit": build.commit(),
		"machine": "%d x %s, %s" % (os.cpu_count(), _processor(), platform.release()),
		"server": servers.version(),
		"realtime": process.realtime,
	}


def _processor():
	with open("/proc/cpuinfo") as f:
		for line in f:
			if line.startswith("model name"):
				return line.partition(":")[2].strip()
	return platform.machine()


def main(function):
	"""Runs the program and turns what can go wrong into a sentence and an exit code."""
	try:
		code = function()
		sys.stdout.flush()
		sys.exit(code)
	except BrokenPipeError:  # the reader of the output has seen enough
		os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
		sys.exit(128 + signal.SIGPIPE)
	except process.Failed as failure:
		sys.exit("%s: %s" % (os.path.basename(sys.argv[0]), failure))
