# SPDX-License-Identifier: MIT
"""Child processes: started, counted, and ended with this one, however it ends."""
import ctypes
import os
import signal
import subprocess

PR_SET_PDEATHSIG = 1
TICK = os.sysconf("SC_CLK_TCK")

_libc = ctypes.CDLL(None)
_running = []  # processes that go on while others are measured
realtime = False  # chrt -f 10 before every command


class Failed(Exception):
	"""A program did not do what it was asked; the text says which and why."""


def _die_with_parent():
	_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _whole(command):
	return (["chrt", "-f", "10"] if realtime else []) + [str(word) for word in command]


def start(command, **options):
	"""Starts a program that stays. Not in our process group: Ctrl-C is for us to pass on."""
	process = subprocess.Popen(_whole(command), preexec_fn=_die_with_parent, start_new_session=True, **options)
	_running.append(process)
	return process


def end(process):
	process.kill()  # also when it is stopped
	process.wait()
	_running.remove(process)
	for stream in (process.stdin, process.stdout, process.stderr):
		if stream:
			stream.close()


def end_all():
	for process in list(_running):
		end(process)


def output(command, at_gate=None, environment=None, codes=(0,)):
	"""Runs a program and returns what it prints. `at_gate` is called once it says READY; then it goes on."""
	child = subprocess.Popen(_whole(command), preexec_fn=_die_with_parent, text=True,
		stdin=subprocess.PIPE if at_gate else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
		env=environment)
	first, out, errors = "", "", ""
	try:
		if at_gate:
			first = child.stderr.readline()
			if first == "READY\n":
				at_gate()
			out, errors = child.communicate("\n")
		else:
			out, errors = child.communicate()
	finally:
		if child.poll() is None:
			child.kill()
			child.wait()
	if child.returncode not in codes:
		raise Failed("%s: exit code %d, %s" % (" ".join(map(str, command)), child.returncode,
			(first + errors).strip()))
	if at_gate and first != "READY\n":
		raise Failed("%s: did not wait at the gate, but wrote %r" % (" ".join(map(str, command)), first))
	return out


def run_quietly(command):
	"""Runs a tool whose output matters only when it fails."""
	done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
	if done.returncode != 0:
		raise Failed("%s failed:\n%s" % (" ".join(command), done.stdout))


def _cpu_of(pid):
	try:
		with open("/proc/%d/stat" % pid) as f:
			fields = f.read().rpartition(")")[2].split()
		return (int(fields[11]) + int(fields[12])) / TICK
	except (FileNotFoundError, ProcessLookupError):
		return 0.0


def cpu_seconds():
	"""Processor time of this process, of the children that ended, and of those that stay."""
	return sum(os.times()[:4]) + sum(_cpu_of(process.pid) for process in _running)
