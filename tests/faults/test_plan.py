#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Tests of the plans: test_plan.py SEED NODES CLIENTS CLEAN-SECONDS BROKEN-SECONDS, which is what CI plays.
"""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import KINDS  # noqa: E402
from scenarios import SCENARIOS, group, plan  # noqa: E402

SEED, NODES, CLIENTS, CLEAN_S, BROKEN_S = map(int, sys.argv[1:6])


def lines(scenario, seed, seconds=30):
	return [str(event) for event in plan(scenario, seed, seconds, NODES, CLIENTS)]


class Plans(unittest.TestCase):
	def test_same_seed_same_plan(self):
		for scenario in SCENARIOS:
			self.assertEqual(lines(scenario, 7), lines(scenario, 7))
			if scenario.faults:
				self.assertNotEqual(lines(scenario, 7), lines(scenario, 8))

	def test_all_within_the_time(self):
		for scenario in SCENARIOS:
			for event in plan(scenario, SEED, 20, NODES, CLIENTS):
				self.assertLessEqual(event.at_ms + event.lasts_ms, 20_000)

	def test_every_number_of_nodes_has_plans(self):
		for nodes in (1, 3, 5, 7, 9):
			for scenario in SCENARIOS:
				for event in plan(scenario, SEED, 20, nodes, CLIENTS):
					most = (scenario.clients or CLIENTS) if KINDS[event.kind].lane == "client" else nodes
					self.assertTrue(event.targets and set(event.targets) <= set(range(most)), event)

	def test_a_wiped_node_stays_away_for_longer_than_the_ttl(self):
		for scenario in SCENARIOS:
			for event in plan(scenario, SEED, 60, NODES, CLIENTS):
				if event.kind == "wipe_delayed":
					self.assertGreater(event.lasts_ms, scenario.ttl_ms)

	def test_small_steps_are_within_the_allowance(self):
		for scenario in group("clean"):
			for event in plan(scenario, SEED, 60, NODES, CLIENTS):
				if event.kind.startswith("jump"):
					drift_ms = scenario.ttl_ms / 100 + 2
					self.assertLess(event.value, drift_ms - 1)  # servers round to a millisecond
					self.assertGreaterEqual(event.lasts_ms, scenario.ttl_ms)

	def test_clean_scenarios_break_nothing(self):
		broken = {kind for scenario in group("broken") for kind in scenario.faults} - {"power_loss"}
		for scenario in group("clean") + group("kinds"):
			self.assertFalse(broken & set(scenario.faults))
			self.assertEqual(scenario.fsync, "always")
			self.assertFalse(scenario.careless)

	def test_ci_plays_every_kind_of_fault(self):
		played = set()
		for name, seconds in (("clean", CLEAN_S), ("broken", BROKEN_S)):
			scenarios = group(name)
			for scenario in scenarios:
				events = plan(scenario, SEED, seconds / len(scenarios), NODES, CLIENTS)
				played |= {event.kind for event in events}
		in_the_long_run = {kind for scenario in group("failovers") for kind in scenario.faults}
		self.assertEqual(set(KINDS) - played, in_the_long_run)


if __name__ == "__main__":
	unittest.main(argv=sys.argv[:1])
