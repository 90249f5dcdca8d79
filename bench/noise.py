# SPDX-License-Identifier: MIT
"""Was the machine quiet? Measures the processor time of other programs while something of ours ran."""
import os
import statistics

import process

MOST_FOREIGN = 5  # percent of all processors, in the median of the runs
MOST_SPREAD = 15  # percent between the fastest and the slowest p50 of the same probe


def _busy_seconds():
	with open("/proc/stat") as f:
		user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, f.readline().split()[1:9])
	return (user + nice + system + irq + softirq + steal) / process.TICK


class Meter:
	"""Measures from its making to foreign_percent()."""

	def __init__(self):
		self._now = lambda: (os.times().elapsed, _busy_seconds(), process.cpu_seconds())
		self._begin = self._now()

	def foreign_percent(self):
		elapsed, busy, ours = (now - begin for now, begin in zip(self._now(), self._begin))
		whole = max(elapsed, 1 / process.TICK) * os.cpu_count()
		return min(100.0, max(0.0, 100 * (busy - ours) / whole))


def spread_percent(values):
	return 100 * (max(values) - min(values)) / statistics.median(values) if values else 0.0


def verdict(foreign, probe_p50):
	"""From the foreign percents of all runs and the probe's p50 of all rounds. Returns (quiet, sentence)."""
	others, spread = statistics.median(foreign) if foreign else 0.0, spread_percent(probe_p50)
	preempted = process.realtime  # then others only get what ours leave
	quiet = (preempted or others <= MOST_FOREIGN) and spread <= MOST_SPREAD
	text = "other programs took %.0f %% of the processors (median of the runs; %.0f %% in the worst)" % (
		others, max(foreign, default=0.0))
	if len(probe_p50) > 1:
		text += "; the p50 of the probe itself spread by %.0f %%" % spread
	return quiet, text + (": quiet enough to judge" if quiet else ": TOO NOISY TO JUDGE")
