# SPDX-License-Identifier: MIT
"""Plants mutants one at a time in several trees at once, and writes down what became of them."""
import json
import os
import queue
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from layers import Suite
from results import EQUIVALENT, INVALID, KILLED, SURVIVED, Results
from tree import Tree, sources_hash

MOST_TRIES = 3


def open_campaign(base, work, layers, jobs, say):
	"""`base`: a copy of the sources; each tree is a copy of it."""
	results = Results(os.path.join(work, "results.jsonl"), sources_hash(base))
	trees = [Tree(os.path.join(work, f"tree{i}"), os.path.join(work, f"t{i}")) for i in range(jobs)]
	for tree in trees:
		shutil.rmtree(tree.path, ignore_errors=True)
		shutil.copytree(base, tree.path, symlinks=True)
	return Campaign(work, [Suite(tree, layers) for tree in trees], results, say)


class Campaign:
	def __init__(self, work, suites, results, say):
		"""`suites`: one for each mutant at a time, all with the same layers."""
		self.work = work
		self.suites = suites
		self.layers = suites[0].layers
		self.results = results
		self.say = say
		self.mutex = threading.Lock()
		self.failure = None

	def prepare(self):
		"""Builds; and runs all layers once without a fault, or takes their times from an earlier run."""
		with ThreadPoolExecutor(len(self.suites)) as pool:
			list(pool.map(Suite.prepare, self.suites))
		path = os.path.join(self.work, "times.json")
		names = [layer.name for layer in self.layers]
		times = {}
		if os.path.exists(path):
			with open(path, encoding="utf-8") as file:
				times = json.load(file)
		if not set(names) <= set(times):
			self.say("without a fault ...")
			times.update(self.suites[0].measure())
			with open(path, "w", encoding="utf-8") as file:
				json.dump(times, file)
		for suite in self.suites:
			suite.set_limits(times)

	def run(self, mutants):
		"""Runs the mutants that are not done yet. Returns the rows of all."""
		names = [layer.name for layer in self.layers]
		todo = queue.SimpleQueue()
		for mutant in mutants:
			if not self.results.is_done(mutant, names):
				todo.put(mutant)
		self.say(f"{len(mutants)} mutants, {todo.qsize()} of them to do")
		workers = [threading.Thread(target=self._work, args=(suite, todo)) for suite in self.suites]
		for worker in workers:
			worker.start()
		try:
			for worker in workers:
				while worker.is_alive():
					worker.join(1)
		except BaseException:
			for suite in self.suites:
				suite.end()
			for worker in workers:
				worker.join()
			raise
		if self.failure:
			raise self.failure
		return [self.results.rows[m.name] for m in mutants if m.name in self.results.rows]

	def _work(self, suite, todo):
		while not suite.ended and self.failure is None:
			try:
				mutant = todo.get_nowait()
			except queue.Empty:
				return
			try:
				self._one(suite, mutant)
			except Exception as error:  # told by run()
				self.failure = error
			finally:
				suite.tree.restore()

	def _one(self, suite, mutant):
		start = time.monotonic()
		before = suite.tree.object_hashes(mutant.files)
		if before:  # the object files of the plain sources: an earlier mutant may have been here
			suite.tree.compile("plain", suite.tree.objects(mutant.files))
			before = suite.tree.object_hashes(mutant.files)
		suite.tree.plant(mutant)
		verdict = self._verdict(suite, mutant, before)
		if suite.ended:
			return
		with self.mutex:
			row = self.results.add(mutant, seconds=round(time.monotonic() - start, 1), **verdict)
			where = f"{row['layer']}: {row['test']} {row['how']}" if row["status"] == KILLED else ""
			self.say(f"{row['status']:10} {row['seconds']:6.1f} s  {where:34} {mutant.name}")

	def _verdict(self, suite, mutant, before):
		if before:
			done = suite.tree.compile("plain", suite.tree.objects(mutant.files))
			if done.how:
				return dict(status=INVALID, why=done.output[-600:])
			if suite.tree.object_hashes(mutant.files) == before:
				return dict(status=EQUIVALENT)
		passed = list(self.results.layers_passed(mutant))
		for layer in self.layers:
			if layer.name in passed:
				continue
			built = suite.tree.compile(layer.build, suite.targets(layer), suite.stop)
			if built.how:
				return dict(status=INVALID, why=built.output[-600:])
			bad = self._judge(suite, mutant, layer)
			if bad:
				test, outcome = bad
				return dict(status=KILLED, layer=layer.name, test=test, how=outcome.how, output=outcome.output[-400:])
			passed.append(layer.name)
		return dict(status=SURVIVED, passed=passed)

	def _judge(self, suite, mutant, layer):
		"""The first test that fails because of the fault. One that fails without it too, on a busy machine, says
		nothing: the layer runs again."""
		for _ in range(MOST_TRIES):
			bad, _ = suite.judge(layer)
			if not bad or not layer.again or not self._fails_anyway(suite, mutant, layer, bad[0]):
				return bad
			self.say(f"{bad[0]} fails without a fault too")
		return None

	def _fails_anyway(self, suite, mutant, layer, test):
		suite.tree.restore()
		suite.tree.compile(layer.build, suite.targets(layer), suite.stop)
		fails = suite.fails(layer, test)
		suite.tree.plant(mutant)
		suite.tree.compile(layer.build, suite.targets(layer), suite.stop)
		return fails
