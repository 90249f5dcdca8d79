# SPDX-License-Identifier: MIT
"""Measures a rival in Python: the command line of common/options.h (-n -t -c -g -o), the same loops, the same line
of JSON. -x is contention: -c claimants of one name, as in common/turns.h, with -r. Each claimant is a thread.

A rival is a function connect(nodes, ttl_s) that returns a function from a name to one claimant of it, which has
acquire(), waiting for a busy lock without limit, and release().
"""
import argparse
import array
import json
import math
import os
import resource
import sys
import threading
import time

TTL_S = 30
HOLD_S = 0.001
GRACE_S = 1  # for what was begun in time; after that it counts as stuck
WARM_UP_PAIRS = 500


def command_line(words):
	parser = argparse.ArgumentParser()
	parser.add_argument("-n", dest="pairs", type=float, default=math.inf)
	parser.add_argument("-t", dest="seconds", type=float, default=math.inf)
	parser.add_argument("-c", dest="count", type=int, default=1)
	parser.add_argument("-r", dest="rest_ms", type=float, default=0)
	parser.add_argument("-g", dest="gate", action="store_true")
	parser.add_argument("-x", dest="contend", action="store_true")
	parser.add_argument("-o", dest="output")
	parser.add_argument("nodes", nargs="*")
	return parser.parse_args(words)


def memory_kb(key):
	with open("/proc/self/status") as f:
		return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))


def cpu_s():
	usage = resource.getrusage(resource.RUSAGE_SELF)
	return usage.ru_utime + usage.ru_stime


def summary(samples_s):
	if not samples_s:
		return None
	ordered = sorted(samples_s)
	points = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999))
	found = {name: ordered[int(len(ordered) * share)] * 1e6 for name, share in points}
	return dict(found, max=ordered[-1] * 1e6)


class Result:
	"""Lists are appended to by many threads: the interpreter keeps each append whole."""

	def __init__(self, pairs, seconds):
		self.acquire, self.pair, self.errors = [], [], []
		self.pairs, self.running = pairs, set()
		self.begin_kb, self.begin_cpu, self.begin = memory_kb("VmRSS"), cpu_s(), time.monotonic()
		self.end = self.begin + seconds

	def over(self):
		done = len(self.pair) + len(self.errors) + len(self.running)
		return done >= self.pairs or time.monotonic() >= self.end

	def facts(self):
		seconds, peak_kb = time.monotonic() - self.begin, memory_kb("VmHWM")
		return {
			"pairs": len(self.pair), "failed": len(self.errors), "seconds": seconds,
			"pairs_per_s": len(self.pair) / seconds,
			"cpu_us_per_pair": (cpu_s() - self.begin_cpu) * 1e6 / max(1, len(self.pair)),
			"peak_kb": peak_kb, "growth_kb": peak_kb - self.begin_kb,
			"acquire_us": summary(self.acquire), "pair_us": summary(self.pair),
			"error": str(self.errors[0]) if self.errors else "",
		}


def pairs(claimant, result):
	while not result.over():
		result.running.add(claimant)
		begin = time.monotonic()
		try:
			claimant.acquire()
			held = time.monotonic()
			claimant.release()
			result.acquire.append(held - begin)
			result.pair.append(time.monotonic() - begin)
		except Exception as error:  # whatever the rival raises
			result.errors.append(error)
		result.running.discard(claimant)


def together(function, claimants, result, limit_s=None):
	"""A thread for each claimant, until all have ended or time is up."""
	threads = [threading.Thread(target=function, args=(c, result), daemon=True) for c in claimants]
	for thread in threads:
		thread.start()
	end = time.monotonic() + limit_s if limit_s is not None else None
	for thread in threads:
		thread.join(max(0, end - time.monotonic()) if end is not None else None)


def apart(options, claimants):
	warm_up = Result(max(WARM_UP_PAIRS, 4 * options.count), math.inf)
	together(pairs, claimants, warm_up)
	if options.gate:
		print("READY", file=sys.stderr, flush=True)
		sys.stdin.readline()
	result = Result(options.pairs, options.seconds)
	limit_s = None if options.seconds == math.inf else options.seconds + GRACE_S
	together(pairs, claimants, result, limit_s)
	return result, {"stuck": len(result.running)}


class Resource:
	"""The state that all claimants of one name share: its holder, and since when it has none."""

	def __init__(self, claimants, rest_s):
		self.mutex = threading.Lock()
		self.asked = {claimant: None for claimant in claimants}
		self.turns = {claimant: 0 for claimant in claimants}
		self.rest_s, self.last, self.released, self.holders, self.overlaps = rest_s, None, 0, 0, 0

	def granted(self, claimant, result):
		with self.mutex:
			now = time.monotonic()
			result.acquire.append(now - self.asked[claimant])
			if self.last not in (None, claimant) and self.asked[claimant] <= self.released:
				result.pair.append(now - self.released)
			self.asked[claimant] = None
			self.overlaps += self.holders > 0
			self.holders += 1
			self.last = claimant
			self.turns[claimant] += 1

	def given_up(self):
		with self.mutex:
			self.holders -= 1
			self.released = time.monotonic()

	def work(self, claimant, result):
		while not result.over():
			try:
				self.asked[claimant] = time.monotonic()
				claimant.acquire()
				self.granted(claimant, result)
				time.sleep(HOLD_S)
				self.given_up()
				claimant.release()
				time.sleep(self.rest_s)
			except Exception as error:  # whatever the rival raises
				result.errors.append(error)


def contend(options, claimants):
	claimants[0].acquire()  # connects
	claimants[0].release()
	shared = Resource(claimants, options.rest_ms / 1000)
	result = Result(math.inf, options.seconds)
	together(shared.work, claimants, result, options.seconds)
	now = time.monotonic()
	result.acquire.extend(now - asked for asked in shared.asked.values() if asked is not None)
	turns = shared.turns.values()
	return result, {"turns_per_s": sum(turns) / (now - result.begin), "fewest": min(turns), "most": max(turns),
		"overlaps": shared.overlaps}


def measured(connect, words):
	options = command_line(words)
	claim = connect(options.nodes, TTL_S)
	names = ["bench-%d-%d" % (os.getpid(), 0 if options.contend else i) for i in range(options.count)]
	result, more = (contend if options.contend else apart)(options, [claim(name) for name in names])
	facts = dict(result.facts(), **more)
	if options.output:
		with open(options.output, "wb") as f:
			samples = result.acquire if options.contend else result.pair
			array.array("I", sorted(min(int(s * 1e9), 0xffffffff) for s in samples)).tofile(f)
	return facts


def measure(connect):
	print(json.dumps(measured(connect, sys.argv[1:])), flush=True)
	os._exit(0)  # what is stuck would keep the process
