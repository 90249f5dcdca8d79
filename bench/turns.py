# SPDX-License-Identifier: MIT
"""The actions of the claimants of one name: the files of common/turns.h, and figures of them."""
import collections
import mmap
import struct
import typing

NS_PER_MS = 10 ** 6
HEADER = struct.Struct("3Q")  # threads, capacity, attempts
TURN = struct.Struct("4Q")


class Turn(typing.NamedTuple):
	claimant: tuple  # (process, thread)
	asked: int  # CLOCK_MONOTONIC in ns; 0: not yet, for this and all others
	granted: int
	releasing: int
	released: int

	def waits(self):
		return not self.granted

	def holds(self):
		return bool(self.granted) and not self.releasing


class File:
	"""Of one process, which may still run, or be dead."""

	def __init__(self, path, process):
		self.process = process
		with open(path, "rb") as f:
			self.memory = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
		self.threads, self.capacity, _ = HEADER.unpack_from(self.memory)

	def attempts(self):
		return HEADER.unpack_from(self.memory)[2]

	def counts(self):
		return struct.unpack_from("%dQ" % self.threads, self.memory, HEADER.size)

	def claimants(self):
		return [(self.process, thread) for thread in range(self.threads)]

	def _turn(self, thread, number):
		at = HEADER.size + 8 * self.threads + (thread * self.capacity + number) * TURN.size
		return Turn((self.process, thread), *TURN.unpack_from(self.memory, at))

	def last(self):
		"""The present action of the first thread; None: nothing yet."""
		count = self.counts()[0]
		return self._turn(0, count - 1) if count else None

	def turns(self):
		return [self._turn(thread, i) for thread, count in enumerate(self.counts()) for i in range(count)]

	def close(self):
		self.memory.close()


def percentiles(values):
	"""In microseconds; None of nothing."""
	ordered = sorted(values)
	at = lambda share: ordered[int(len(ordered) * share)] / 1000
	return {"p50": at(0.5), "p99": at(0.99), "max": ordered[-1] / 1000} if ordered else None


def handoffs(held):
	"""From the call of release to the grant of another process that waited by then."""
	return [b.granted - a.releasing for a, b in zip(held, held[1:])
		if a.claimant[0] != b.claimant[0] and b.asked <= a.releasing <= b.granted]


def longest_gap(held, begin, since, end):
	"""The longest time without a holder that ended after `since`; a holder that died counts from its grant."""
	free = [begin] + [turn.releasing or turn.granted for turn in held]
	taken = [turn.granted for turn in held] + [end]
	return max([b - a for a, b in zip(free, taken) if b >= since and b > a], default=0)


def overlaps(held):
	return sum(b.granted < a.releasing for a, b in zip(held, held[1:]))


def figures(turns, claimants, begin, end, since=0):
	"""Waits that are not over at the end count with their age."""
	held = sorted((turn for turn in turns if turn.granted and turn.granted <= end), key=lambda turn: turn.granted)
	counts = collections.Counter(turn.claimant for turn in held)
	each = [counts[claimant] for claimant in claimants]
	done = [turn for turn in held if turn.released]
	waits = [min(turn.granted or end, end) - turn.asked for turn in turns if turn.asked < end]
	return {
		"turns": len(held),
		"rate": len(held) / ((end - begin) / 1e9),
		"fewest": min(each), "most": max(each), "starved": each.count(0),
		"wait_us": percentiles(waits),
		"samples_ns": waits,
		"acquire_us": percentiles([turn.granted - turn.asked for turn in done]),
		"turn_us": percentiles([turn.released - turn.asked for turn in done]),
		"handoff_us": percentiles(handoffs(held)),
		"gap_ms": longest_gap(held, begin, since, end) / NS_PER_MS,
		"overlaps": overlaps(held),
	}
