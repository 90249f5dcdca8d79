# SPDX-License-Identifier: MIT
"""Tests of the script itself: quick enough for every run of ctest."""
import os
import shutil
import tempfile

from campaign import Campaign
from generate import choose, make, sites_of, sources
from layers import Layer, Suite, Test
from mutant import replace_once
from patches import DEFECTS, NOT_HERE, hand_written
from results import KILLED, SURVIVED, Results, page, read_explanations
from process import run
from tree import Tree

SAMPLE = '''#define LIMIT 7
/* if (a == 1) */
static int f(int a)
{
	assert(a == 1);
	const char *text = "a == 1";
	if (a <= 2 && text != 0)
		return a + 1;
	g(a);
	return 0;
}
'''
WANTED = {
	"comparison: if (a <= 2 && text != 0) -> if (a < 2 && text != 0)",
	"equality: if (a <= 2 && text != 0) -> if (a <= 2 && text == 0)",
	"logic: if (a <= 2 && text != 0) -> if (a <= 2 || text != 0)",
	"negation: if (a <= 2 && text != 0) -> if (!(a <= 2 && text != 0))",
	"arithmetic: return a + 1; -> return a - 1;",
	"constant: return 0; -> return 1;",
	"dropped: g(a); -> ;",
}


def _check(condition, text):
	if not condition:
		raise AssertionError(text)


def _generator(root):
	made = {f"{s.kind}: " + make(s, SAMPLE).name.removeprefix("f.c: ") for s in sites_of("f.c", SAMPLE)}
	_check(WANTED <= made, f"not generated: {WANTED - made}")
	_check(not any("assert" in name or "LIMIT" in name or '"a ' in name for name in made), "touches what it must not")
	first, second = choose(root, 40, 7), choose(root, 60, 7)
	_check([m.name for m in first] == [m.name for m in second[:40]], "a seed does not choose the same ones")
	_check(len({m.name for m in second}) == 60, "two with one name")
	_check([m.name for m in choose(root, 40, 8)] != [m.name for m in first], "the seed has no effect")
	folders = {os.path.dirname(f) for f in sources(root)}
	_check({os.path.dirname(m.files[0]) for m in first} == folders, "a folder is left out")


def _table(root):
	"""Each hand-written one still fits the sources, and each defect is planted or said not to be here."""
	mutants = hand_written()
	for mutant in mutants:
		texts = {}
		for file, edit in mutant.edits:
			if file not in texts:
				with open(os.path.join(root, file), encoding="utf-8") as source:
					texts[file] = source.read()
			try:
				texts[file] = edit(texts[file])
			except ValueError as error:
				raise AssertionError(f"patches.py, {mutant.name}: {file}: {error}") from error
	_check(len({m.name for m in mutants}) == len(mutants), "two hand-written ones with one name")
	_check({int(m.kind) for m in mutants} | set(NOT_HERE) == set(DEFECTS), "a defect is neither planted nor excused")
	try:
		replace_once("a", "b")("aa")
	except ValueError:
		return
	raise AssertionError("two places are taken for one")


def _explained(root):
	"""Every explained mutant is still there: a line of the sources, or a hand-written one."""
	by_hand = {m.name for m in hand_written()}
	for name in read_explanations(os.path.join(root, "tests/mutants/explained")):
		if name in by_hand:
			continue
		_check(": " in name and " -> " in name, f"explained: {name}")
		file, _, rest = name.partition(": ")
		with open(os.path.join(root, file), encoding="utf-8") as source:
			lines = {line.strip() for line in source}
		_check(rest.split(" -> ")[0] in lines, f"explained, but not in the sources: {name}")


class _SmallTree(Tree):
	"""Only the arithmetic and its unit test, built by the compiler alone."""

	def configure(self, build):
		os.makedirs(self.build_dir(build), exist_ok=True)

	def compile(self, build, targets, stop=None):
		words = ["-I", "src", "-I", "include", "-I", "tests/unit", "-I", "tests/lib", "src/core/quorum.c", "src/core/validity.c", "tests/unit/test_quorum.c"]
		return run(["cc", "-std=c11", "-D_GNU_SOURCE", "-w", *words, "-o", self.build_dir(build) + "/quorum",
			"-lcmocka"], 60, cwd=self.path, stop=stop)

	def object_hashes(self, files):
		return {}


def _kill(root, work):
	"""A known mutant is killed, one that changes nothing survives, one that hangs is killed by the limit."""
	layer = Layer("unit", "plain", {"unit"}, 1, text="one unit test")
	tree = _SmallTree(os.path.join(work, "tree"), os.path.join(work, "t"))
	for folder in ("src/core", "include", "tests/unit", "tests/lib"):
		shutil.copytree(os.path.join(root, folder), os.path.join(tree.path, folder))
	suite = Suite(tree, [layer])
	suite._find = lambda _: [Test("quorum", [tree.build_dir("plain") + "/quorum"], {})]
	results = os.path.join(work, "results.jsonl")
	campaign = Campaign(work, [suite], Results(results, "sources"), lambda _: None)
	campaign.prepare()
	suite.limits[("unit", "quorum")] = 2
	known = [m for m in hand_written() if m.name == "half is a majority"]
	file, text = "src/core/quorum.c", "return node_count / 2 + 1;"
	harmless, hangs = (hand_written()[0] for _ in range(2))
	harmless.name, harmless.edits = "harmless", [(file, replace_once(text, "return 1 + node_count / 2;"))]
	hangs.name, hangs.edits = "hangs", [(file, replace_once(text, "for (;;)\n\t\t;"))]
	rows = campaign.run([*known, harmless, hangs])
	_check([r["status"] for r in rows] == [KILLED, SURVIVED, KILLED], f"{rows}")
	_check([r.get("how") for r in rows] == ["failed", None, "timeout"], f"{rows}")
	_check(text in tree.read(file), "the source is not as it was")
	table = page(rows, ["head"], [("unit", "one unit test")], {"harmless": "the same sum"})
	_check("quorum, by a hang (1)" in table and "survived**, explained (1)" in table and "- `" not in table, table)
	again = Results(results, "sources")
	_check(again.is_done(known[0], ["unit"]) and not again.is_done(harmless, ["unit", "sim"]),
		"a later run does not go on with the results")


def self_test(root, say):
	work = tempfile.mkdtemp(prefix="rl-mutants.")
	try:
		_generator(root)
		_table(root)
		_kill(root, work)
		_explained(root)
	except AssertionError as error:
		say(f"self-test: {error}")
		return 1
	finally:
		shutil.rmtree(work, ignore_errors=True)
	say("self-test passed")
	return 0
