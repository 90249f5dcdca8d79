# SPDX-License-Identifier: MIT
"""A PostgreSQL server of our own, for its advisory locks: a new cluster, a Unix socket only, not as root."""
import contextlib
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time

import build
import process

USER = "postgres"  # Debian's, where we are root, which PostgreSQL refuses to run as
START_LIMIT_S = 15


def _program(name):
	found = sorted(glob.glob("/usr/lib/postgresql/*/bin/" + name))
	return found[-1] if found else shutil.which(name)


def missing():
	"""The reason why there is no PostgreSQL; "" if there is one."""
	if not _program("postgres") or not _program("initdb"):
		return "not installed: apt-get install postgresql"
	if not os.path.exists(build.program("pgturns")):
		return "not built: apt-get install libpq-dev"
	return ""


def version():
	done = subprocess.run([_program("postgres"), "--version"], capture_output=True, text=True, check=True)
	return done.stdout.split()[2]


def _as_user():
	return ["setpriv", "--reuid=" + USER, "--regid=" + USER, "--clear-groups", "--pdeathsig=INT"] \
		if os.geteuid() == 0 else []


def _await(server, directory):
	end = time.monotonic() + START_LIMIT_S
	while time.monotonic() < end and server.poll() is None:
		if os.path.exists(os.path.join(directory, ".s.PGSQL.5432")):
			return
		time.sleep(0.05)
	raise process.Failed("PostgreSQL does not start, see %s/log" % directory)


@contextlib.contextmanager
def running():
	"""Yields the folder of its socket."""
	with tempfile.TemporaryDirectory(prefix="rl-pg.") as directory:
		if os.geteuid() == 0:
			shutil.chown(directory, USER, USER)
		data = os.path.join(directory, "data")
		process.run_quietly(_as_user() + [_program("initdb"), "-D", data, "-U", "bench", "-A", "trust", "--no-sync"])
		with open(os.path.join(directory, "log"), "w") as log:
			server = process.start(_as_user() + [_program("postgres"), "-D", data, "-k", directory, "-p", "5432",
				"-c", "listen_addresses="], stdout=log, stderr=log, cwd="/")
		try:
			_await(server, directory)
			yield directory
		finally:
			server.send_signal(signal.SIGINT)  # killed, it would leave its shared memory
			with contextlib.suppress(subprocess.TimeoutExpired):
				server.wait(START_LIMIT_S)
			process.end(server)
