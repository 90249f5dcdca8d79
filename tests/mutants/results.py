# SPDX-License-Identifier: MIT
"""The results of the mutants: a file of JSON lines, which a later run continues, and a page of it."""
import json
import os
from collections import Counter

from patches import DEFECTS, NOT_HERE

KILLED, SURVIVED, EQUIVALENT, INVALID = "killed", "survived", "equivalent", "invalid"


class Results:
	def __init__(self, path, sources):
		self.path = path
		self.sources = sources
		self.rows = {}
		if os.path.exists(path):
			with open(path, encoding="utf-8") as file:
				for line in file:
					row = json.loads(line)
					if row["sources"] == sources:
						self.rows[row["name"]] = row

	def add(self, mutant, status, **more):
		row = dict(name=mutant.name, source=mutant.source, kind=mutant.kind, what=mutant.what, status=status,
			sources=self.sources, **more)
		self.rows[mutant.name] = row
		with open(self.path, "a", encoding="utf-8") as file:
			file.write(json.dumps(row) + "\n")
		return row

	def forget(self, status):
		self.rows = {name: row for name, row in self.rows.items() if row["status"] != status}

	def layers_passed(self, mutant):
		return self.rows.get(mutant.name, {}).get("passed", [])

	def is_done(self, mutant, layers):
		row = self.rows.get(mutant.name)
		return row is not None and (row["status"] != SURVIVED or set(layers) <= set(row["passed"]))


def read_explanations(path):
	"""The name of a mutant, and after it, indented, why it may survive."""
	ret, name = {}, None
	with open(path, encoding="utf-8") as file:
		for line in file.read().splitlines():
			if not line.strip() or line.startswith("#"):
				continue
			if line[0] in " \t":
				ret[name] = (ret.get(name, "") + " " + line.strip()).strip()
			else:
				name = line.strip()
	return ret


# ---- the page ----

def _fate(row, explanations):
	if row["status"] == KILLED:
		return row["test"] + (", by a hang" if row["how"] == "timeout" else "")
	if row["status"] == EQUIVALENT:
		return "the same object code"
	if row["status"] == SURVIVED:
		return "**survived**" + (", explained" if row["name"] in explanations else "")
	return row["status"]


def _totals(rows, layers, explanations):
	columns = [*layers, "same code", "survived, explained", "survived"]
	lines = ["| | planted | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
	for source, title in (("hand", "by hand"), ("generated", "generated")):
		mine = [r for r in rows if r["source"] == source and r["status"] != INVALID]
		counts = [sum(r["status"] == KILLED and r["layer"] == layer for r in mine) for layer in layers]
		counts.append(sum(r["status"] == EQUIVALENT for r in mine))
		left = [r for r in mine if r["status"] == SURVIVED]
		counts.append(sum(r["name"] in explanations for r in left))
		counts.append(len(left) - counts[-1])
		lines.append(f"| {title} | {len(mine)} | " + " | ".join(map(str, counts)) + " |")
	return lines


def _by_hand(rows, explanations):
	lines = ["| defect | planted | killed by |", "|---|---|---|"]
	for number in [*range(1, len(DEFECTS)), 0]:
		if number in NOT_HERE:
			continue
		text = f"{number}. {DEFECTS[number]}" if number else DEFECTS[number]
		mine = [r for r in rows if r["source"] == "hand" and r["kind"] == str(number)]
		fates = Counter(_fate(row, explanations) for row in mine).most_common()
		by = ", ".join(f"{fate} ({count})" for fate, count in fates) or "not run"
		lines.append(f"| {text} | {len(mine)} | {by} |")
	return lines


def _survivors(rows, explanations):
	left = [r for r in rows if r["status"] == SURVIVED and r["name"] not in explanations]
	left.sort(key=lambda r: (r["what"], r["name"]))
	return [f"- `{r['name']}`" for r in left] or ["None."]


def page(rows, head, layers, explanations):
	"""Markdown. `layers`: (name, text)."""
	invalid = sum(r["status"] == INVALID for r in rows)
	names = [name for name, _ in layers]
	return "\n".join([
		"# Mutants", "", *head, "", "## Totals", "", "Killed by layer, cheapest first; later layers do not see what an earlier one killed.",
		"", *_totals(rows, names, explanations), "",
		f"{invalid} more that do not compile are not counted." if invalid else "All compile.", "",
		*[f"- {name}: {text}" for name, text in layers], "",
		"## By hand", "", *_by_hand(rows, explanations), "",
		"## Survivors without an explanation", "", "The others are in `explained`.", "", *_survivors(rows, explanations), ""])
