#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks what the hot path costs, once warm, against the budgets in the file `budgets`: instructions (callgrind),
system calls and allocations per piece of work. All three repeat exactly on one machine; see `budgets` for how far
compilers may differ, and for how to change a budget on purpose.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "budgets")
TOLERANCE = 0.03  # of instructions: compilers and C libraries differ
SKIPPED = 77
COLUMNS = ("instructions", "system calls", "allocations")


def fail(text):
	sys.exit("budget: " + text)


def run(command):
	done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
	if done.returncode != 0:
		fail("%s: exit code %d\n%s" % (" ".join(command), done.returncode, done.stderr))
	return done.stdout


def count(options, case):
	"""(pieces, system calls, allocations) of a case."""
	pieces, calls, allocations = map(int, run([options.counts, case]).split())
	return pieces, calls, allocations


def instructions(options, case):
	with tempfile.TemporaryDirectory() as directory:
		out = os.path.join(directory, "out")
		run([options.valgrind, "--tool=callgrind", "--callgrind-out-file=" + out, "--collect-atstart=no",
			"--instr-atstart=no",
			options.steps, case])
		with open(out) as f:
			found = re.search(r"^(?:totals|summary): (\d+)", f.read(), re.MULTILINE)
	if not found or int(found.group(1)) == 0:
		fail("callgrind counted nothing for " + case)
	return int(found.group(1))


def measure(options, case):
	pieces, calls, allocations = count(options, case)
	steps = instructions(options, case) / pieces if options.valgrind else None
	return (steps, calls / pieces, allocations / pieces)


def read_budgets():
	budgets = {}
	with open(FILE) as f:
		for line in f:
			words = line.partition("#")[0].split()
			if words:
				budgets[words[0]] = tuple(map(float, words[1:]))
	return budgets


def write_budgets(measured):
	with open(FILE) as f:
		comment = [line for line in f if line.startswith("#") or not line.strip()]
	with open(FILE, "w") as f:
		f.writelines(comment)
		for case, (steps, calls, allocations) in measured.items():
			f.write("%-14s %8.0f %14.3f %14.3f\n" % (case, steps, calls, allocations))


def judge(measured, budget):
	"""The measures that exceed the budget, as words; and those so far below it that it should be lowered."""
	over, under = [], []
	for column, value, allowed, tolerance in zip(COLUMNS, measured, budget, (TOLERANCE, 0, 0)):
		if value is None:
			continue
		if value > allowed * (1 + tolerance) + 0.001:
			over.append("%s %.3f > %.3f" % (column, value, allowed))
		elif value < allowed * (1 - tolerance) - 0.001:
			under.append("%s %.3f < %.3f" % (column, value, allowed))
	return over, under


def check(measured, budgets):
	"""Prints the table. Returns the number of cases over budget."""
	bad = 0
	print("%-14s %14s %14s %14s   per piece of work" % ("", *COLUMNS))
	for case, values in measured.items():
		over, under = judge(values, budgets.get(case, (0, 0, 0)))
		text = "OVER BUDGET: " + ", ".join(over) if over else "lower the budget: " + ", ".join(under) if under else "ok"
		print("%-14s %14s %14.3f %14.3f   %s" % (case, "-" if values[0] is None else "%.1f" % values[0],
			values[1], values[2], text))
		bad += bool(over)
	return bad


def self_test(measured):
	"""Every column of every case must be found too high against a budget a tenth below it."""
	for case, values in measured.items():
		for i, value in enumerate(values):
			budget = [float("inf")] * len(COLUMNS)
			budget[i] = 0.9 * value if value else -1.0
			if value is not None and len(judge(values, budget)[0]) != 1:
				fail("%s: %s over budget is not noticed" % (case, COLUMNS[i]))
	print("budgets that are too low are noticed")


def main():
	parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
	parser.add_argument("--counts", required=True, help="the program budget-counts")
	parser.add_argument("--steps", required=True, help="the program budget-steps")
	parser.add_argument("--valgrind", default="")
	parser.add_argument("--update", action="store_true", help="write what is measured as the new budgets")
	options = parser.parse_args()
	if not os.access(options.valgrind, os.X_OK):
		options.valgrind = None
	cases = run([options.counts]).split()
	with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
		measured = dict(zip(cases, pool.map(lambda case: measure(options, case), cases)))
	if options.update:
		if not options.valgrind:
			fail("new budgets need valgrind")
		write_budgets(measured)
		return 0
	self_test(measured)
	if check(measured, read_budgets()):
		fail("over budget. If that is on purpose, see " + FILE)
	if not options.valgrind:
		print("SKIPPED: instructions were not counted, valgrind is not installed")
		return SKIPPED
	return 0


sys.exit(main())
