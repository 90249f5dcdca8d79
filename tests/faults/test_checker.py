#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Unit tests of the checker: what it must accept, and planted violations that it must find."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import checker  # noqa: E402
from claims import is_backed  # noqa: E402

MS = 1_000_000
TTL_MS = 1000


class Story:
	"""Histories written line by line, times in milliseconds, and the verdict on them."""

	def __init__(self):
		self.lines = {}
		self.tokens = 0
		self.facts = {
			"scenario": "story", "breaks": "", "counter": 0, "healed_ns": None, "bound_ms": 500,
			"survivors": [], "clock_step_ms": 0, "must_show": False, "complaints": []}

	def line(self, client, at_ms, text):
		lines = self.lines.setdefault(client, [f"0 start mode=plain ttl_ms={TTL_MS}"])
		lines.append(f"{int(at_ms * MS)} {text}")

	def grant(self, client, at_ms, deadline_ms, token=None, kind="w0"):
		self.tokens += 1
		self.line(client, at_ms, "invoke round=1")
		deadline = int(deadline_ms * MS)
		self.line(client, at_ms, f"grant round=1 deadline={deadline} token={token or self.tokens} "
			f"cells={kind[1:]} shared={int(kind[0] == 'r')}")

	def release(self, client, at_ms, result="OK"):
		self.line(client, at_ms, "release round=1")
		self.line(client, at_ms + 1, f"released round=1 result={result}")

	def update(self, client, read_ms, done_ms, value):
		self.line(client, done_ms, f"writes round=1 read_at={read_ms * MS} value={value}")
		self.line(client, done_ms, f"wrote round=1 value={value}")

	def hold(self, client, from_ms, to_ms, kind="w0"):
		"""Kind: r or w, whether it shares the lock or has it alone, and the cells that it has."""
		self.grant(client, from_ms, from_ms + TTL_MS - 12, kind=kind)
		self.release(client, to_ms)

	def write_to(self, directory):
		for client, lines in self.lines.items():
			with open(os.path.join(directory, client + ".history"), "w", encoding="ascii") as file:
				file.write("\n".join(lines) + "\n")
		with open(os.path.join(directory, "facts.json"), "w", encoding="ascii") as file:
			json.dump(self.facts, file)

	def report(self):
		with tempfile.TemporaryDirectory() as directory:
			self.write_to(directory)
			return checker.check_directory(directory)


class StoryTest(unittest.TestCase):
	def setUp(self):
		self.story = Story()

	def tell(self, lines):
		"""Calls of the story: "hold a 0 100; release b 150 GONE"."""
		for words in lines.split("; "):
			what, client, *rest = words.split(" ", 3 if words.startswith("line") else -1)
			getattr(self.story, what)(client, *[json.loads(x) if x[0].isdigit() else x for x in rest])

	def assert_clean(self):
		report = self.story.report()
		self.assertEqual(report.failures, [])
		self.assertEqual(report.shown, [])
		return report

	def assert_failure(self, text):
		report = self.story.report()
		found = any(text in failure for failure in report.failures)
		self.assertTrue(found, f"no {text!r} in {report.failures}")
		return report


BOTH_END = "; line a 5000 end owed=0; line b 5000 end owed=0"
CONFLICT = "grant a 0 %d; update a 10 60 1; release a 70; grant b %d 900; update b 50 65 1; release b 80"
KILLED = "grant a 0 900; line a 20 writes round=1 read_at=10000000 value=1"
HEALED = {"healed_ns": 1000 * MS, "survivors": ["a", "b"]}

# Stories: the history, the violation that it has (None: none), figures of the report, and facts.
STORIES = {
	"one after the other": ("hold a 0 100; hold b 100 200; hold a 201 300", None, {"grants": 3}),
	"planted overlap": ("hold a 0 100; hold b 99.999 200", "overlap", {"overlaps": 1}),
	"long hold after short ones": ("hold a 0 900; hold b 910 920; grant c 930 1900; release c 1800; hold a 1700 1705; "
		"hold b 1710 1720", "overlap", {"overlaps": 2}),
	"readers overlap": ("hold a 0 100 r0; hold b 50 200 r0; hold c 60 70 r0", None, {"overlaps": 0}),
	"a writer beside readers": ("hold a 0 100 r0; hold b 10 20 r0; hold c 50 60 w0", "overlap", {"overlaps": 1}),
	"a reader beside a writer": ("hold a 0 100 w0; hold b 10 20 r0; hold c 30 40 r0", "overlap", {"overlaps": 2}),
	"two slots": ("hold a 0 100 w0; hold b 10 200 w1; hold a 110 120 w0", None, {"overlaps": 0}),
	"one slot twice": ("hold a 0 100 w0; hold b 10 200 w1; hold c 110 120 w1", "overlap", {"overlaps": 1}),
	"one of several names": ("hold a 0 100 w0,1; hold b 50 60 w1", "overlap", {"overlaps": 1}),
	"updates of two slots": ("grant a 0 900; update a 10 60 1; release a 70; grant b 0 900 x w1; update b 10 60 1; release b 70",
		None, {"conflicts": 0}, {"counter": 2}),
	"an update of two names counts twice": ("grant a 0 900 x w0,1; update a 10 60 1; release a 70", "lost: 1 of 2", {},
		{"counter": 1}),
	"what a reader reads changes": ("grant a 0 900 x r0; line a 50 torn round=1; release a 60", "was changed"),
	"what it reads too late may": ("grant a 0 40 x r0; line a 50 torn round=1; release a 60 GONE", None),
	"a deadline ends a hold": ("grant a 0 500; release a 900 GONE; hold b 500 600", None),
	"a killed holder holds until its deadline": ("grant a 0 500; hold b 499 600", "overlap"),
	"an extension counts": ("grant a 0 500; line a 300 extended round=1 deadline=1200000000; release a 1190; "
		"hold b 1100 1110", "overlap"),
	"a loss that was noticed ends a hold": ("grant a 0 900; line a 300 lost round=1; release a 700 GONE; hold b 310 400",
		None, {"lost_locks": 1}),
	"a hold that was over when it was seen": ("grant a 600 500; release a 700 GONE; hold b 550 650", None),
	"token twice": ("grant a 0 900 x; release a 10; grant b 20 900 x; release b 30", "token was used twice"),
	"claim beyond the TTL": ("grant a 0 1001", "more than the TTL"),
	"extension beyond the TTL": ("grant a 0 900; line a 300 extended round=1 deadline=1301000000", "more than the TTL"),
	"lost lock that comes back": ("grant a 0 900; line a 300 lost round=1; "
		"line a 310 extended round=1 deadline=1200000000", "came back"),
	"refused for a reason that must not be": ("grant a 0 900; line a 10 refused round=1 error=SYSTEM votes=DOWN", "says S"),
	"an extend that must not be": ("grant a 0 900; line a 10 not_extended round=1 error=STATE", "says S"),
	"release that must not be": ("grant a 0 900; release a 10 STATE", "release says STATE"),
	"acquire while holding": ("grant a 0 900; line a 10 invoke round=2", "acquires while it holds"),
	"nobody ever held": ("line a 0 invoke round=1", "proves nothing"),
	"time that runs backward": ("hold a 100 200; line a 150 invoke round=2", "time runs backward"),
	"a planted loss without a conflict": ("grant a 0 900; update a 10 20 1; release a 30", "1 of 1 updates are lost"),
	"a late application does not excuse an overlap": ("hold a 0 100; hold b 50 200", "overlap", {}, {"breaks": "A3"}),
	"updates in order": ("grant a 0 900; update a 10 20 1; release a 30; grant b 40 900; update b 50 60 2; release b 70",
		None, {"updates": 2}, {"counter": 2}),
	"a planted conflict": (CONFLICT % (900, 40), "conflict", {"lost_updates": 1}, {"counter": 1}),
	"and what it cost": (CONFLICT % (900, 40), "lost: 1 of 2 updates", {}, {"counter": 1}),
	"a late write is counted and is not the lock's fault": (CONFLICT % (45, 45), None,
		{"late_writes": 1, "lost_updates": 1}, {"counter": 1}),
	"a write after a noticed loss is late": ("grant a 0 900; line a 20 lost round=1; update a 10 30 1; release a 40 GONE",
		None, {"late_writes": 1}, {"counter": 1}),
	"a counter that nobody raised": ("hold a 0 30", "the counter is 1 after 0 updates", {}, {"counter": 1}),
	"killed before a write": (KILLED, None, {}, {"counter": 0}),
	"killed after a write": (KILLED, None, {}, {"counter": 1}),
	"a broken assumption that must show": ("hold a 0 100; hold b 100 200", "is anybody looking", {},
		{"breaks": "A1", "must_show": True}),
	"a complaint of the director": ("hold a 0 10", "a key is left", {}, {"complaints": ["a key is left"]}),
	"all recover": ("hold a 1400 1500; hold b 3000 3010" + BOTH_END, None, {"heal_ms": 400}, HEALED),
	"too late": ("hold a 900 950; hold a 1501 1600; hold b 3000 3010" + BOTH_END, "only after 501 ms", {}, HEALED),
	"nobody recovers": ("hold a 900 950", "nobody acquired", {}, HEALED),
	"one client is stuck": ("hold a 1400 1500; hold b 900 950" + BOTH_END, "b never acquired again", {}, HEALED),
	"one client does not end": ("hold a 1400 1500; hold b 1600 1650; line a 5000 end owed=0", "b did not end", {}, HEALED),
}


class Stories(StoryTest):
	def test_stories(self):
		for name, (told, failure, *more) in STORIES.items():
			figures, facts = (*more, {}, {})[:2]
			with self.subTest(name):
				self.story = Story()
				self.story.facts.update(facts)
				self.tell(told)
				report = self.assert_failure(failure) if failure else self.assert_clean()
				for figure, want in figures.items():
					self.assertEqual(report.figures[figure], want)

	def test_broken_assumption_is_shown_and_does_not_fail(self):
		for facts in ({"breaks": "A1"}, {"breaks": "A2"}, {"breaks": "A5"}, {"clock_step_ms": 50}):
			self.story = Story()
			self.story.facts.update(facts)
			self.tell("hold a 0 100; hold b 50 200")
			report = self.story.report()
			self.assertEqual((report.failures, len(report.shown)), ([], 1))


class Reading(StoryTest):
	def test_lines_that_no_client_writes(self):
		for line in ("grant round=1", "grunt round=1", "invoke", "invoke round=x", "lost round=1",
				"wrote round=1 value=1", "release round=1 more=1", "invoke round"):
			self.story = Story()
			self.story.line("a", 0, line)
			self.assert_failure("unreadable history")

	def test_line_that_a_killed_client_did_not_finish(self):
		self.tell("hold a 0 10")
		with tempfile.TemporaryDirectory() as directory:
			self.story.write_to(directory)
			with open(os.path.join(directory, "a.history"), "a", encoding="ascii") as file:
				file.write("20000000 gra")
			self.assertEqual(checker.check_directory(directory).failures, [])

	def test_exit_codes(self):
		for to_ms, code in ((100, 0), (101, 1)):
			story = Story()
			story.hold("a", 0, to_ms)
			story.hold("b", 100, 200)
			with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(io.StringIO()):
				story.write_to(directory)
				self.assertEqual(checker.main([directory]), code)


class Claims(unittest.TestCase):
	"""A claim until 1000 ms, and what five servers said at 100 ms."""

	def backed(self, *pttls, nodes=5):
		answers = [(100 * MS, pttl is not None, -2 if pttl is None else pttl) for pttl in pttls]
		return is_backed(1000 * MS, nodes, answers)

	def test_a_quorum_has_it_until_then(self):
		self.assertTrue(self.backed(900, 900, 899, None, 5))
		self.assertTrue(self.backed(900, -1, 2000))
		self.assertTrue(self.backed(None, None))  # the other three may have it

	def test_planted_claims_that_are_too_long(self):
		self.assertFalse(self.backed(900, 900, 898, 898, 898))
		self.assertFalse(self.backed(None, None, None))
		self.assertFalse(self.backed(900, 100, nodes=2))

	def test_the_key_of_somebody_else_does_not_count(self):
		self.assertFalse(is_backed(1000 * MS, 3, [(100 * MS, False, 5000)] * 2))


if __name__ == "__main__":
	unittest.main()
