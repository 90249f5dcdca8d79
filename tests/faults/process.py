# SPDX-License-Identifier: MIT
"""Processes of the world. The director is the first one, so that it inherits, and reaps, what others leave behind."""
import os
import signal
import time

_ended = {}  # pid -> exit code, or minus the signal
_ours = set()


def now_ns():
	return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def reap():
	"""Takes note of all that have ended."""
	while True:
		try:
			pid, status = os.waitpid(-1, os.WNOHANG)
		except ChildProcessError:
			return
		if pid == 0:
			return
		if pid in _ours:
			_ended[pid] = os.waitstatus_to_exitcode(status)


def wait_until(condition, limit_s, step_s=0.01):
	"""Polls. Returns whether the condition became true in time."""
	end = now_ns() + int(limit_s * 1e9)
	while True:
		too_late = now_ns() > end  # before the condition: a pause of ours must not decide
		if condition():
			return True
		if too_late:
			return False
		time.sleep(step_s)


class Process:
	def __init__(self, arguments, log, environment=None, stdin=None):
		"""Starts a program with its output in `log`. `stdin`: a descriptor, else /dev/null."""
		no_input = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
		actions = [
			no_input if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0),
			(os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
			(os.POSIX_SPAWN_DUP2, 1, 2)]
		# Python ignores SIGPIPE; what is tested here must not have that from us.
		self.pid = os.posix_spawn(arguments[0], arguments, dict(os.environ, **(environment or {})),
			file_actions=actions, setsigdef=[signal.SIGPIPE])
		_ours.add(self.pid)
		self.paused = False

	def status(self):
		"""None while it runs, else its exit code or minus the signal that ended it."""
		reap()
		return _ended.get(self.pid)

	def kill(self):
		if self.status() is None:
			os.kill(self.pid, signal.SIGKILL)
			if not wait_until(lambda: self.status() is not None, 60, 0.001):
				raise RuntimeError("a process does not end")
		self.paused = False

	def signal(self, number):
		if self.status() is None:
			os.kill(self.pid, number)

	def pause(self):
		"""SIGSTOP; returns when it stands still."""
		if self.status() is not None:
			return False
		os.kill(self.pid, signal.SIGSTOP)
		_, status = os.waitpid(self.pid, os.WUNTRACED)
		if not os.WIFSTOPPED(status):
			_ended[self.pid] = os.waitstatus_to_exitcode(status)
			return False
		self.paused = True
		return True

	def resume(self):
		if self.paused and self.status() is None:
			os.kill(self.pid, signal.SIGCONT)
		self.paused = False
