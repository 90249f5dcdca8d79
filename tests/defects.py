#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""defects.py BUILD: docs/defects.md names 31 defects, each once, and tests. Each name in its last column is that of a
file, of a test of this build, of a fault scenario where the row speaks of tests/faults, or of a control of the
simulator where it speaks of one; and each test in quotes is in the file of the test named before it."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = {"unit": "tests/unit/test_{}.c", "integration": "tests/integration/test_{}.c", "cli": "tests/cli/{}.bats"}
NAMES = re.compile(r'`([^`]+)`|"([^"]+)"')


def tests_of(build):
	listed = subprocess.run(["ctest", "--test-dir", build, "-N"], check=True, capture_output=True, text=True).stdout
	return set(re.findall(r"^ *Test +#\d+: (\S+)$", listed, re.M))


def source(test):
	kind, _, name = test.partition("_")
	file = ROOT / FILES[kind].format(name) if kind in FILES else None
	return file.read_text() if file and file.exists() else ""


def wrong_names(cell, tests, scenarios):
	"""The names in a row's last column that stand for nothing."""
	text = ""
	for name, case in NAMES.findall(cell):
		if case:
			if not re.search(rf'\((test_)?{re.escape(case)}\b|@test "{re.escape(case)}"', text):
				yield case
			continue
		text = source(name)
		known = ((ROOT / name).exists() if "/" in name else name in tests) \
			or ("tests/faults" in cell and name in scenarios) \
			or ("control" in cell and f"sim_break_{name}" in tests)
		if not known:
			yield name


tests = tests_of(sys.argv[1])
scenarios = set(re.findall(r'(?:Scenario|breaking)\("([a-z]+)"', (ROOT / "tests/faults/scenarios.py").read_text()))
rows = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", (ROOT / "docs/defects.md").read_text(), re.M)
bad = [] if sorted(int(number) for number, _ in rows) == list(range(1, 32)) else ["not each of 1 to 31 once"]
bad += [f"{number}: no {name}" for number, cell in rows for name in wrong_names(cell, tests, scenarios)]
for wrong in ("`sim_break_nothing`", "`unit_nothing`", "`quite`", "`src/os/nothing.c`", "`calm`", "`count`",
	"`nothing` of `tests/faults`", "control `nothing`", '`unit_client` "nothing"', '`layers` "nothing_is_printed"'):
	bad += [] if list(wrong_names(wrong, tests, scenarios)) else [f"{wrong} was planted and not found"]
sys.exit("docs/defects.md: " + "; ".join(bad) if bad else 0)
