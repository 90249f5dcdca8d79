# SPDX-License-Identifier: MIT
"""
The test layers, cheapest first, and what one of them says about a tree.

A layer is a set of tests in one of the builds. Its tests run side by side; the first that fails ends it. Where
tests depend on real time, one that failed is run again, alone: it must fail twice to count.
"""
import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from process import LIMITS, LITTLE_MEMORY, end_leftovers, run

SEEDS = "1..1500"


class Layer:
	def __init__(self, name, build, labels, jobs, again=False, without=(), text=""):
		self.name = name
		self.build = build
		self.labels = labels
		self.jobs = jobs
		self.again = again
		self.without = without
		self.text = text


# Tests of `redlock run` that are about processes and terminals, not about the lock.
SUPERVISOR = tuple(f"cli_run_{name}" for name in ("tty", "jobs", "death", "tree", "signals", "options", "report"))
LAYERS = [
	Layer("unit", "plain", {"unit"}, 2, without=("unit_run_", "mutants_"), text="unit tests"),
	Layer("fuzz", "plain", {"fuzz"}, 2, text="replay of the fuzzers' corpus"),
	Layer("asan", "asan", {"unit", "fuzz"}, 2, without=("unit_run_", "mutants_"),
		text="unit tests and corpus with AddressSanitizer and UndefinedBehaviorSanitizer"),
	Layer("sim", "plain", {}, 1, text=f"redlock-sim --seeds {SEEDS}"),
	Layer("integration", "plain", {"integration"}, 5, again=True, without=("integration_helpers",),
		text="integration tests, real servers"),
	Layer("sim_many", "plain", {}, 1, text="what ./check --long runs: redlock-sim --operations 1e6 --cover"),
	Layer("cli", "plain", {"cli"}, 5, again=True, without=SUPERVISOR, text="the command, real servers"),
]
NAMES = [layer.name for layer in LAYERS]
SIMULATOR = {"sim": ["--seeds", SEEDS, "--jobs", "1"], "sim_many": ["--operations", "1e6", "--cover"]}


def _calm():
	"""Sanitizers of gcc 12 want less address space randomization than new kernels do."""
	works = shutil.which("setarch") and subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL).returncode == 0
	return ["setarch", "-R"] if works else []


class Test:
	def __init__(self, name, command, environment):
		self.name = name
		self.command = command
		self.environment = environment


class Suite:
	"""The tests of every layer in one tree."""

	def __init__(self, tree, layers=None):
		self.tree = tree
		self.layers = layers if layers is not None else LAYERS
		self.tests = {}  # layer -> tests
		self.limits = {}  # (layer, test) -> seconds
		self.ended = False
		self.stop = threading.Event()

	def end(self):
		"""Ends what runs; nothing further begins. Called by another thread."""
		self.ended = True
		self.stop.set()

	def _new_stop(self):
		self.stop = stop = threading.Event()
		if self.ended:
			stop.set()
		return stop

	def prepare(self):
		"""Builds what all layers need."""
		for build in dict.fromkeys(layer.build for layer in self.layers):
			self.tree.configure(build)
			done = self.tree.compile(build, ["all"])
			if done.how:
				raise SystemExit(f"cannot build {self.tree.path}:\n{done.output[-4000:]}")
		for layer in self.layers:
			self.tests[layer.name] = self._find(layer)

	def _find(self, layer):
		if layer.name in SIMULATOR:
			program = os.path.join(self.tree.build_dir(layer.build), "bin/redlock-sim")
			return [Test(layer.name, [program, *SIMULATOR[layer.name]], {})]
		prefix = _calm() if layer.build == "asan" else []
		found = [Test(name, prefix + command, environment)
			for name, (labels, command, environment) in self.tree.tests(layer.build).items()
			if layer.labels & set(labels) and not name.startswith(layer.without or ("\0",))]
		if not found:
			raise SystemExit(f"layer {layer.name} has no tests")
		return found

	def targets(self, layer):
		"""The programs of a layer, as ninja calls them."""
		build_dir = self.tree.build_dir(layer.build) + "/"
		words = [w for t in self.tests[layer.name] for w in [*t.command, *t.environment.values()]]
		return sorted({w[len(build_dir):] for w in words if w.startswith(build_dir)})

	def _limit(self, layer, test):
		return self.limits.get((layer.name, test.name), 60)

	def _run(self, layer, test, stop):
		environment = dict(os.environ, TMPDIR=self.tree.tmp, **test.environment)
		limits = LIMITS + (LITTLE_MEMORY if layer.build == "plain" else [])
		return run(["nice", *limits, *test.command], self._limit(layer, test), cwd=self.tree.tmp, environment=environment,
			stop=stop)

	def _judge(self, layer, test, stop, verdicts):
		if stop.is_set():
			return
		done = self._run(layer, test, stop)
		if done.how in ("failed", "crashed") and layer.again:
			done = self._run(layer, test, stop)
		verdicts[test.name] = done
		if done.how:
			stop.set()

	def judge(self, layer):
		"""Returns (test, outcome) of the first test that fails, or None; and the times of all."""
		stop, verdicts = self._new_stop(), {}
		with ThreadPoolExecutor(layer.jobs) as pool:
			for test in self.tests[layer.name]:
				pool.submit(self._judge, layer, test, stop, verdicts)
		self._new_stop()
		end_leftovers(self.tree.tmp)
		shutil.rmtree(self.tree.tmp, ignore_errors=True)
		os.makedirs(self.tree.tmp, exist_ok=True)
		bad = [(name, done) for name, done in verdicts.items() if done.how not in ("", "stopped")]
		return (bad[0] if bad else None), {name: done.seconds for name, done in verdicts.items()}

	def fails(self, layer, name):
		"""Whether this test fails, alone."""
		done = [self._run(layer, test, self.stop) for test in self.tests[layer.name] if test.name == name]
		end_leftovers(self.tree.tmp)
		return any(d.how not in ("", "stopped") for d in done)

	def measure(self):
		"""Runs everything without a fault: it must pass, and its times are the base of the limits."""
		times = {}
		for layer in self.layers:
			bad, seconds = self.judge(layer)
			if bad:
				raise SystemExit(f"{bad[0]} {bad[1].how} without a fault:\n{bad[1].output[-4000:]}")
			times[layer.name] = seconds
		return times

	def set_limits(self, times):
		"""A hang is a failure: several times as long as without a fault, and never less than some seconds. Tests
		that compute all the time suffer most from others on the machine."""
		for layer, tests in times.items():
			for test, seconds in tests.items():
				self.limits[(layer, test)] = (12 if layer in SIMULATOR else 4) * seconds + 20
