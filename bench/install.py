# SPDX-License-Identifier: MIT
"""Rivals: copied and installed into a folder of the build; nothing of the system is changed. A program that only
the system's packages have is looked for, and named when it is missing."""
import filecmp
import json
import os
import shutil
import subprocess

import build
import postgres
import process

OURS = {"rival.mjs": "redlock.mjs", "rival.py": "redlock_binding.py"}  # bench/ours, and what it is called beside the rivals
SOURCE = os.path.join(build.ROOT, "bench", "theirs")
FOLDER = os.path.join(build.BUILD, "theirs")


def path(name):
	return os.path.join(FOLDER, name)


def _copy():
	"""Beside node_modules: there Node.js looks for packages."""
	os.makedirs(FOLDER, exist_ok=True)
	fresh = _installed()
	for name in sorted(os.listdir(SOURCE)):
		if os.path.isfile(os.path.join(SOURCE, name)):
			shutil.copy(os.path.join(SOURCE, name), FOLDER)
	for name, copy in OURS.items():
		shutil.copy(os.path.join(build.ROOT, "bench", "ours", name), path(copy))
	return fresh


def _installed():
	"""True when node_modules is of the same lock file."""
	return os.path.isdir(path("node_modules")) and os.path.isfile(path("package-lock.json")) and filecmp.cmp(
		path("package-lock.json"), os.path.join(SOURCE, "package-lock.json"), shallow=False)


def _npm(installed):
	for program in ("node", "npm"):
		if not shutil.which(program):
			return "%s is not installed" % program
	if installed:
		return ""
	try:
		process.run_quietly(["npm", "ci", "--prefix", FOLDER, "--ignore-scripts", "--no-audit", "--no-fund",
			"--loglevel=error"])
	except process.Failed as failure:
		shutil.rmtree(path("node_modules"), ignore_errors=True)
		first = next((line for line in str(failure).splitlines() if line.startswith("npm error")), str(failure))
		return "npm ci failed: " + first
	return ""


def _python(_installed):
	if subprocess.run(["/usr/bin/python3", "-c", "import redis"], capture_output=True).returncode != 0:
		return "not installed: apt-get install python3-redis"
	return ""


def _etcd(_installed):
	if not shutil.which("etcd") or not shutil.which("etcdctl"):
		return "not installed: apt-get install etcd-server etcd-client"
	return "" if shutil.which("node") else "node is not installed"


def _binding(language, folder, *command):
	"""A copy of bindings/LANGUAGE, built against the library of the benchmarks."""
	shutil.rmtree(path(folder), ignore_errors=True)
	shutil.copytree(os.path.join(build.ROOT, "bindings", language), path(folder))
	try:
		process.run_quietly(["env", "-C", path(folder), "REDLOCK_BUILD=" + build.BUILD, *command])
	except (process.Failed, OSError) as failure:
		return "bindings/%s does not build: %s" % (language, str(failure).splitlines()[-1])
	return ""


def _our_node(_installed):
	return _binding("node", "libredlock", "node", "build.js") if shutil.which("node") else "node is not installed"


def _our_python(_installed):
	return _binding("python", "python", "/usr/bin/python3", "setup.py", "-q", "build", "--build-lib", "lib")


NEEDS = {"npm": _npm, "python": _python, "our_node": _our_node, "our_python": _our_python, "etcd": _etcd, "postgres": lambda _installed: postgres.missing()}


def missing(needs):
	"""{need: why it is not met}, "" where it is."""
	installed = _copy()
	return {need: NEEDS[need](installed) for need in sorted(needs) if need}


def _first_line(*command):
	done = subprocess.run(command, capture_output=True, text=True)
	return done.stdout.strip().splitlines()[0] if done.returncode == 0 else "?"


def _npm_versions():
	with open(path("package.json")) as f:
		packages = {name: version.rpartition("@")[2] for name, version in json.load(f)["dependencies"].items()}
	return dict(packages, node=_first_line("node", "--version"))


def versions(reasons):
	"""Of what is there."""
	found = {}
	if reasons.get("npm") == "":
		found.update(_npm_versions())
	if reasons.get("python") == "":
		found["redis-py"] = _first_line("/usr/bin/python3", "-c", "import redis; print(redis.__version__)")
	if reasons.get("etcd") == "":
		found["etcd"] = _first_line("etcd", "--version").rpartition(" ")[2]
	if reasons.get("postgres") == "":
		found["PostgreSQL"] = postgres.version()
	return found
