# SPDX-License-Identifier: MIT
"""A copy of the sources in which faults are planted, with its builds."""
import hashlib
import json
import os
import shutil
import subprocess

from process import run

BUILD_LIMIT_S = 300
LINKER = ["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold"] if shutil.which("ld.gold") else []

# The builds: optimised as it is shipped, with the asserts that CI runs with; and with sanitizers.
BUILDS = {
	"plain": ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O2"] + LINKER,
	"asan": ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1", "-DREDLOCK_SANITIZE=address"] + LINKER,
}


def git(root, *arguments):
	return subprocess.run(["git", "-C", root, *arguments], check=True, stdout=subprocess.PIPE).stdout


def commit_of(root, revision):
	return git(root, "rev-parse", "--short", revision + "^{commit}").decode().strip()


def copy(root, to, commit, over):
	"""A commit, and over it these paths of the work tree as they are, with files that git does not know."""
	os.makedirs(to)
	packs = [git(root, "archive", commit)]
	if over:
		names = git(root, "ls-files", "-co", "--exclude-standard", "-z", "--", *over)
		present = b"\0".join(n for n in names.split(b"\0") if n and os.path.exists(os.path.join(root, n.decode())))
		packs.append(subprocess.run(["tar", "-C", root, "--null", "-T", "-", "-cf", "-"], input=present, check=True,
			stdout=subprocess.PIPE).stdout)
	for pack in packs:
		subprocess.run(["tar", "-C", to, "-xf", "-"], input=pack, check=True)


class Tree:
	def __init__(self, path, tmp):
		self.path = path
		self.tmp = tmp  # the tests' $TMPDIR
		self.planted = None
		os.makedirs(tmp, exist_ok=True)

	def build_dir(self, build):
		return os.path.join(self.path, "build", build)

	def configure(self, build):
		done = run(["cmake", "-S", self.path, "-B", self.build_dir(build), "-G", "Ninja", *BUILDS[build]],
			BUILD_LIMIT_S)
		if done.how:
			raise SystemExit(f"cannot configure {self.path}:\n{done.output}")

	def compile(self, build, targets, stop=None):
		return run(["ninja", "-C", self.build_dir(build), "-j1", *targets], BUILD_LIMIT_S, stop=stop)

	def tests(self, build):
		"""The tests that ctest knows: name -> (labels, command, environment)."""
		listing = subprocess.run(["ctest", "--test-dir", self.build_dir(build), "--show-only=json-v1"], check=True,
			stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
		ret = {}
		for test in json.loads(listing)["tests"]:
			properties = {p["name"]: p["value"] for p in test["properties"]}
			environment = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
			ret[test["name"]] = (properties.get("LABELS", []), test.get("command", []), environment)
		return ret

	def read(self, file):
		with open(os.path.join(self.path, file), encoding="utf-8") as source:
			return source.read()

	def write(self, file, text):
		with open(os.path.join(self.path, file), "w", encoding="utf-8") as source:
			source.write(text)

	def plant(self, mutant):
		"""Raises ValueError where the old text is not there exactly once."""
		self.planted = {}
		for file, edit in mutant.edits:
			text = self.read(file)
			self.planted.setdefault(file, text)
			self.write(file, edit(text))

	def restore(self):
		for file, text in (self.planted or {}).items():
			self.write(file, text)
		self.planted = None

	def object_hashes(self, files):
		"""Of the object files of these sources; {} when one of them is not C in src/."""
		ret = {}
		for file in files:
			if not (file.startswith("src/") and file.endswith(".c")):
				return {}
			inside = file[len("src/"):]
			folder = inside.split("/")[0] if "/" in inside else "client"
			path = os.path.join(self.build_dir("plain"), "src/CMakeFiles", f"rl_{folder}.dir", inside + ".o")
			with open(path, "rb") as compiled:
				ret[path] = hashlib.sha256(compiled.read()).hexdigest()
		return ret

	def objects(self, files):
		"""Ninja's names of these objects."""
		return [os.path.relpath(path, self.build_dir("plain")) for path in self.object_hashes(files)]


def sources_hash(path):
	"""Of what is mutated: results count for these sources only."""
	digest = hashlib.sha256()
	for folder in ("src", "ops", "include"):
		for dir_path, dirs, names in os.walk(os.path.join(path, folder)):
			dirs.sort()
			for name in sorted(names):
				with open(os.path.join(dir_path, name), "rb") as file:
					digest.update(name.encode() + b"\0" + file.read())
	return digest.hexdigest()[:16]
