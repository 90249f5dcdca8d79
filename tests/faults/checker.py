#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the histories of a run.

    checker.py DIRECTORY

The directory has one NAME.history per client process and facts.json, which the director writes (see Facts).
Prints what it found. Exit code: 0 all is as it must be, 1 it is not, 64 usage.
"""
import json
import os
import sys

sys.dont_write_bytecode = True
import history  # noqa: E402  (needs the line above: nothing is left in the folder)

# The violations that may happen when an assumption of docs/promises.md is broken on purpose.
ALLOWED = {
	"": set(),
	"A1": {"overlap", "conflict", "lost"},  # a node forgot a lock and voted again
	"A2": {"overlap", "conflict", "lost"},  # a clock jumped further than the allowance
	"A3": {"conflict", "lost"},  # a client acted after its deadline: nobody else's claim is touched by that
	"A5": {"overlap", "conflict", "lost"},  # a node evicts locks
}


class Facts:
	"""Facts that the director knows and no client does."""

	def __init__(self, values):
		self.scenario = values["scenario"]
		self.breaks = values["breaks"]  # "" or a key of ALLOWED
		self.counter = values["counter"]  # what the counter was in the end
		self.healed_ns = values["healed_ns"]  # when the last fault was over; None: not judged
		self.bound_ms = values["bound_ms"]  # so soon after it somebody must have acquired
		self.survivors = values["survivors"]  # the clients that ran until the end
		self.clock_step_ms = values["clock_step_ms"]  # the host's own wall clock was set: 0 if not
		self.must_show = values["must_show"]  # so much was broken that a violation must be there
		self.complaints = values["complaints"]  # what the director saw and must not be


class Report:
	"""Figures, and what is wrong."""

	def __init__(self):
		self.failures = []
		self.shown = []  # violations that were expected, as an assumption was broken
		self.figures = {}


def overlaps(holds):
	"""Pairs of holds that overlap and must not: each with those before it that still last."""
	found = []
	lasting = []
	for hold in sorted((h for h in holds if h.end > h.start), key=lambda h: h.start):
		lasting = [other for other in lasting if other.end > hold.start]
		found += [(other, hold) for other in lasting if other.excludes(hold)]
		lasting.append(hold)
	return found


def conflicts(writes):
	"""Pairs of changes of the counter, from read to write, of which one began before the other was done."""
	found = []
	open_writes = []
	for write in sorted((w for w in writes if w.done is not None), key=lambda w: w.read_at):
		open_writes = [other for other in open_writes if other.done > write.read_at]
		found += [(other, write) for other in open_writes if other.hold.excludes(write.hold)]
		open_writes.append(write)
	return found


def check_overlaps(clients, judge):
	found = overlaps([hold for client in clients for hold in client.holds])
	for first, second in found:
		judge("overlap", f"{first.client} holds until {first.end}, {second.client} since {second.start}: "
			f"{(min(first.end, second.end) - second.start) / 1e6:.1f} ms together")
	return len(found)


def check_counter(clients, facts, judge, report):
	"""Lost updates: by pairs that were in each other's way, and by what the counter says in the end."""
	writes = [write for client in clients for write in client.writes]
	done = sum(len(write.hold.cells) for write in writes if write.done is not None)
	begun = sum(len(write.hold.cells) for write in writes)
	late = sum(write.late for write in writes)
	pairs = conflicts(writes)
	for first, second in pairs:
		if not first.late and not second.late:  # a late write is the application's own doing (A3)
			names = f"{first.hold.client} and {second.hold.client}"
			judge("conflict", f"{names} change the counter at {second.read_at}")
	lost = max(0, done - facts.counter)
	if facts.counter > begun:
		report.failures.append(f"the counter is {facts.counter} after {begun} updates")
	if lost > 0 and late == 0:
		judge("lost", f"{lost} of {done} updates are lost")
	torn = sum(client.torn for client in clients)
	if torn > 0 and late == 0:
		judge("conflict", f"{torn} times what was read by one that shares the lock was changed")
	report.figures.update(updates=done, late_writes=late, conflicts=len(pairs), lost_updates=lost)


def check_tokens(clients, report):
	tokens = [hold.token for client in clients for hold in client.holds]
	if "" in tokens:
		report.failures.append("a grant without a token")
	if len(set(tokens)) != len(tokens):
		report.failures.append("a token was used twice")


def check_healing(clients, facts, report):
	"""After the faults somebody acquires soon, and in the end every client that lives."""
	if facts.healed_ns is None:
		return
	after = [h.start for c in clients for h in c.holds if h.start >= facts.healed_ns]
	wait_ms = (min(after) - facts.healed_ns) / 1e6 if after else None
	report.figures["heal_ms"] = wait_ms
	if wait_ms is None or wait_ms > facts.bound_ms:
		took = "nobody" if wait_ms is None else f"only after {wait_ms:.0f} ms somebody"
		report.failures.append(f"after the faults {took} acquired (bound: {facts.bound_ms} ms)")
	for client in clients:
		if client.name not in facts.survivors:
			continue
		if not any(hold.start >= facts.healed_ns for hold in client.holds):
			report.failures.append(f"{client.name} never acquired again after the faults")
		if not client.ended:
			report.failures.append(f"{client.name} did not end in order")


def count(clients, report):
	holds = [hold for client in clients for hold in client.holds]
	refusals = {}
	for client in clients:
		for error, times in client.refusals.items():
			refusals[error] = refusals.get(error, 0) + times
	report.figures.update(
		clients=len(clients), tries=sum(client.invokes for client in clients), grants=len(holds),
		busy=refusals.get("BUSY", 0), noquorum=refusals.get("NOQUORUM", 0),
		extensions=sum(client.extensions for client in clients),
		lost_locks=sum(client.lost for client in clients))


def check(clients, facts):
	"""Returns the report of one run."""
	report = Report()
	allowed = ALLOWED["A2" if facts.breaks == "" and facts.clock_step_ms else facts.breaks]

	def judge(kind, text):
		(report.shown if kind in allowed else report.failures).append(f"{kind}: {text}")

	count(clients, report)
	report.figures["overlaps"] = check_overlaps(clients, judge)
	check_counter(clients, facts, judge, report)
	check_tokens(clients, report)
	check_healing(clients, facts, report)
	if not clients or report.figures["grants"] == 0:
		report.failures.append("nobody ever held the lock: this run proves nothing")
	if facts.must_show and report.figures["overlaps"] == report.figures["lost_updates"] == 0:
		report.failures.append(
			f"{facts.breaks} was broken again and again, and no violation was seen: is anybody looking?")
	for client in clients:
		report.failures += client.problems
	report.failures += facts.complaints
	return report


def check_directory(directory):
	with open(os.path.join(directory, "facts.json"), encoding="ascii") as file:
		facts = Facts(json.load(file))
	try:
		return check(history.read_all(directory), facts)
	except history.BadHistory as error:
		report = Report()
		report.failures.append(f"unreadable history: {error}")
		return report


def main(arguments):
	if len(arguments) != 1:
		print(__doc__, file=sys.stderr)
		return 64
	report = check_directory(arguments[0])
	print(" ".join(f"{name}={value}" for name, value in report.figures.items()))
	for text in report.shown:
		print(f"shown: {text}")
	for text in report.failures:
		print(f"FAILED: {text}")
	return 1 if report.failures else 0


if __name__ == "__main__":
	sys.exit(main(sys.argv[1:]))
