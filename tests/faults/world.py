# SPDX-License-Identifier: MIT
""" A world of its own: user, mount, process and network namespaces. Nothing in it has a name outside, so that
nothing can remain: when its first process ends, also by SIGKILL, the kernel ends all others, and with them go the
network and the files.
"""
import contextlib
import ctypes
import os
import select
import signal
import sys

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
MS_NOSUID, MS_NODEV = 2, 4
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
	"""This machine does not permit it: the tests are skipped."""


def _call(function, *arguments):
	if function(*arguments) != 0:
		number = ctypes.get_errno()
		raise OSError(number, os.strerror(number))


def _mount(source, target, kind, flags, data=None):
	options = data.encode() if data else None
	_call(libc.mount, source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options)


def _write(path, text):
	with open(path, "w", encoding="ascii") as file:
		file.write(text)


def _become_user_root(uid, gid):
	_write("/proc/self/setgroups", "deny")
	_write("/proc/self/uid_map", f"0 {uid} 1")
	_write("/proc/self/gid_map", f"0 {gid} 1")


def _unshare():
	"""Without a user namespace where that is permitted, else with one."""
	flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET
	uid, gid = os.geteuid(), os.getegid()
	try:
		_call(libc.unshare, flags)
	except PermissionError:
		try:
			_call(libc.unshare, flags | CLONE_NEWUSER)
			_become_user_root(uid, gid)
		except OSError as error:
			raise Unavailable(f"namespaces are not permitted here ({error.strerror})") from error
	except OSError as error:
		raise Unavailable(f"namespaces cannot be made here ({error.strerror})") from error


def _hide_under_tmpfs(keep_visible):
	"""Mounts an empty file system over a folder that nobody here needs. Seen in this namespace alone."""
	for path in ("/mnt", "/media", "/srv", "/opt", "/var/tmp", "/tmp"):
		needed = any(os.path.realpath(other).startswith(path + "/") for other in keep_visible)
		if not needed and os.path.isdir(path):
			_mount("faults", path, "tmpfs", MS_NOSUID | MS_NODEV, "size=2g,mode=0700")
			return path
	raise Unavailable("no folder to put files into")


def _set_up(keep_visible):
	"""In the first process of the world. Returns the folder for files."""
	with open("/proc/self/net/route", encoding="ascii") as file:
		if len(file.readlines()) > 1:
			raise RuntimeError("this is not a network namespace of its own: it has routes")
	try:
		_mount("none", "/", "none", MS_REC | MS_PRIVATE)
		with contextlib.suppress(OSError):  # where /proc is masked the old one has to do
			_mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV)
		folder = _hide_under_tmpfs(keep_visible)
	except OSError as error:
		raise Unavailable(f"a world of our own cannot be set up here ({error})") from error
	return folder


def _die_with(parent_pipe):
	"""SIGKILL when the process outside ends; the pipe tells when it already has."""
	_call(libc.prctl, PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
	readable, _, _ = select.select([parent_pipe], [], [], 0)
	if readable:
		os._exit(1)


def _inner(work, keep_visible, parent_pipe):
	code = 1
	try:
		os.setsid()  # Ctrl-C is for the process outside, which then ends this one and all others at once
		_die_with(parent_pipe)
		code = work(_set_up(keep_visible))
	except Unavailable as error:
		print(f"SKIPPED: {error}", flush=True)
		code = 77
	except BaseException:  # noqa: B036  (this is the end of the process)
		sys.excepthook(*sys.exc_info())
	finally:
		sys.stdout.flush()
		sys.stderr.flush()
		os._exit(code)


def run_inside(work, keep_visible):
	"""Calls work(folder) in the first process of a new world. Returns its exit code; 77: not possible."""
	try:
		_unshare()
	except Unavailable as error:
		print(f"SKIPPED: {error}", flush=True)
		return 77
	caught = []
	signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
	signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # none between fork and handler
	read_end, write_end = os.pipe()
	pid = os.fork()
	if pid == 0:
		os.close(write_end)
		signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
		_inner(work, keep_visible, read_end)

	def stop(number, _):
		caught.append(number)
		os.kill(pid, signal.SIGKILL)

	for number in signals:
		signal.signal(number, stop)
	signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
	_, status = os.waitpid(pid, 0)
	os.close(read_end)
	os.close(write_end)
	if caught:
		return 128 + caught[0]
	code = os.waitstatus_to_exitcode(status)
	return code if code >= 0 else 128 - code
