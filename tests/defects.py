#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/defects.md names 31 defects, and tests: each row is there once, and each test that it names exists."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = {"unit": "tests/unit/test_{}.c", "integration": "tests/integration/test_{}.c", "cli": "tests/cli/{}.bats"}
KINDS = re.compile(r'`((unit|integration|cli)_\w+)`|"([^"]+)"')

rows = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", (ROOT / "docs/defects.md").read_text(), re.M)
bad = [] if sorted(int(number) for number, _ in rows) == list(range(1, 32)) else ["not each of 1 to 31 once"]
for number, cell in rows:
	text = ""
	for program, kind, case in KINDS.findall(cell):
		if program:
			file = ROOT / FILES[kind].format(program.removeprefix(kind + "_"))
			text = file.read_text() if file.exists() else ""
		if not text or case and not re.search(rf'\((test_)?{case}\b|@test "{re.escape(case)}"', text):
			bad.append(f"{number}: no {program or case}")
sys.exit("docs/defects.md: " + "; ".join(bad) if bad else 0)
