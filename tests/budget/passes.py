#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counts what a plain acquire on warm connections to three nodes passes: functions, files, and changes of file from
one function that is entered to the next. A header counts as a file. Fails above the ceilings, or if an acquire that
never waits passes a file of what it does not use. `--list` prints all functions by file.
"""
import argparse
import os
import re
import subprocess
import sys

# The last measurement. Lower them when the test says so.
CEILINGS = {"functions": 151, "files": 36, "changes of file": 268}
# Files for waiters, slots, kept locks, guarded sets, clusters and connections that open or break, alone.
ELSEWHERE = re.compile(r"^src/core/(many|share|slots|contend|enter|pace|queue|offset|fence|quarantine|keep)\.|"
	r"^src/(places|seen|guard|kept|hear)\.|"
	r"^src/net/(admission|auth|cluster|handshake|listener|loss|permit|record|redirect|sentinels|set|talk|tls)\.")


def run(command, text=None):
	done = subprocess.run(command, input=text, stdout=subprocess.PIPE, universal_newlines=True, check=True)
	return done.stdout.splitlines()


def passed(program):
	"""(file, function) of each function that was entered, in order."""
	addresses = run([program])
	lines = run(["addr2line", "-f", "-e", program], "\n".join(addresses))
	for function, place in zip(lines[::2], lines[1::2]):
		# From src on: a cache of compilations may have the object of another checkout.
		yield "src/" + os.path.normpath(place.rpartition(":")[0]).rpartition("/src/")[2], function


def count(calls):
	files = [file for file, _ in calls]
	return {"functions": len(set(calls)), "files": len(set(files)),
		"changes of file": sum(a != b for a, b in zip(files, files[1:]))}


def main():
	parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
	parser.add_argument("--list", action="store_true")
	parser.add_argument("program")
	options = parser.parse_args()
	calls = list(passed(options.program))
	if options.list:
		for file in sorted({file for file, _ in calls}):
			functions = sorted({function for f, function in calls if f == file})
			print("%-32s %3d  %s" % (file, len(functions), " ".join(functions)))
	counts, bad = count(calls), 0
	for what, number in counts.items():
		ceiling = CEILINGS[what]
		verdict = "ABOVE" if number > ceiling else "lower the ceiling" if number < ceiling else "ok"
		print("%-16s %4d, ceiling %4d   %s" % (what, number, ceiling, verdict))
		bad += number > ceiling
	for file in sorted({file for file, _ in calls if ELSEWHERE.search(file)}):
		print("passes " + file + ", which is for what it does not use")
		bad += 1
	if counts["functions"] < 30:
		sys.exit("passes: fewer functions than any acquire has: they were not counted")
	return 1 if bad else 0


sys.exit(main())
