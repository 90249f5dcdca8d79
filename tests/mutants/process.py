# SPDX-License-Identifier: MIT
"""Runs one command with limits, and ends all that it leaves behind."""
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time

KEPT_BYTES = 8000  # of the output
STEP_S = 0.02

# A fault may make a program eat memory or print without end. Sanitizers need address space.
_prlimit = shutil.which("prlimit")
LIMITS = [_prlimit, "--core=0", f"--fsize={256 << 20}"] if _prlimit else []
LITTLE_MEMORY = [f"--as={4 << 30}"] if _prlimit else []


class Outcome:
	def __init__(self, how, output, seconds):
		self.how = how  # "" (success), "failed", "crashed", "timeout", "stopped"
		self.output = output
		self.seconds = seconds


def _wait(process, limit_s, stop):
	"""Returns why it was ended, "" if it ended by itself."""
	end = time.monotonic() + limit_s
	while process.poll() is None:
		late = time.monotonic() > end
		if late or (stop is not None and stop.is_set()):
			os.killpg(process.pid, signal.SIGKILL)  # not reaped yet: the group is there
			process.wait()
			return "timeout" if late else "stopped"
		time.sleep(STEP_S)
	return ""


def run(command, limit_s, cwd=None, environment=None, stop=None):
	"""`stop`: a threading.Event; when it is set, the command is ended."""
	start = time.monotonic()
	with tempfile.TemporaryFile() as output:
		process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=output,
			stderr=subprocess.STDOUT, start_new_session=True)
		how = _wait(process, limit_s, stop)
		if how == "" and process.returncode != 0:
			how = "crashed" if process.returncode < 0 else "failed"
		output.seek(max(0, output.seek(0, os.SEEK_END) - KEPT_BYTES))
		text = output.read().decode(errors="replace")
	return Outcome(how, text, time.monotonic() - start)


def _belongs(process_dir, folder):
	try:
		if os.readlink(process_dir + "/cwd").startswith(folder):
			return True
		for name in ("cmdline", "environ"):
			with open(f"{process_dir}/{name}", "rb") as file:
				if folder.encode() in file.read():
					return True
	except OSError:
		pass
	return False


def end_leftovers(folder):
	"""Ends the processes that work in `folder`: the tests put all their files there ($TMPDIR)."""
	for process_dir in glob.glob("/proc/[0-9]*"):
		pid = int(os.path.basename(process_dir))
		if pid != os.getpid() and _belongs(process_dir, folder):
			try:
				os.kill(pid, signal.SIGKILL)
			except OSError:
				pass
