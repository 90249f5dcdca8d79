#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""language.py [FILE...]: comments, test names, pages, man pages and messages are plain English (CONTRIBUTING.md,
"Style"), as far as patterns can tell. Prints each violation as "RULE: FILE:LINE: text"; without FILE, of the tree.

BEGINNINGS apply to each sentence of a comment, page or string, OPENINGS to the first words of a comment, and ANYWHERE
to all of these. First the test plants sentences, and sees that it finds only the bad ones."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# (file, phrase, reason): a violation whose text has the phrase is allowed in that file.
EXCEPTIONS = []

GAP = r"(?:[ \t]|\n[ \t]*(?:/?\*+|//|--|#)?)+"


def words(text):
	return text.replace(" ", GAP)


SENTENCE = r"(?:\A|[.:;?!][\"')*`]*" + GAP + r")"
BEGINNINGS = {
	"names-no-subject": re.compile(SENTENCE + words(
		r"(?:Whoever|Whose|Whom|Who|What(?! is new)|(?:Those|He|They) (?:who|that|which|whom|whose))\b")),
}
OUTSIDE = "that|which|who|whose|whom|with|without|in|at|to|for|from|has|is|was|had|can|may|must|does|did|alone|else"
OPENINGS = {
	"names-no-subject": re.compile(words(r"\A(?:who|whoever|whose|whom|what|those (?:who|that|which))\b")),
	"points-outside": re.compile(words(
		rf"\A(?:It|Its|Of|And|The same|One (?:of (?:which|them|those)|more|{OUTSIDE})|One[,.:;]"
		r"|This (?:is|was|has|does|makes|may|must|can|one|way|too|also))\b")),
}
ALLOWED = re.compile(words("|".join((  # a process is left behind, a clock is 3 s behind, a server is behind a proxy
	r"\b(?:leave|leaves|leaving|left|fall|falls|fell|falling|lag|lags)\b(?: [\w']+){0,4}? behind\b",
	r"\b(?:s|ms|seconds?) behind\b", r"\A[\"']?behind[\"']?\Z", r"\bbehind (?:(?:an?|the) )?(?:proxy|firewall|NAT)\b",
	r"\bthere (?:is|are|was|were) none\b", r"\b(?:is|are) none of\b",
))))
ANYWHERE = {
	"behind": re.compile(r"\bbehind\b"),
	"in-the-place-of": re.compile(words(r"\bin the places? of\b")),
	"is-none": re.compile(words(r"\b(?:is|are|was|were|be) none\b")),
	"is-had": re.compile(words(r"\b(?:is|are|was|were|be)(?: not)? had\b")),
	"names-no-subject": re.compile(words(
		r"\b(?:[Ww]hoever|[Ww]hoso?ever|[Ww]hosever|(?:those|he|she) who|that which)\b")),
	"in-the-way": re.compile(words(r"\bin (?:the|its|their|our) way\b(?! of)")),
	"seldomer": re.compile(r"\bseldomer\b"),
}
IN_NAMES = re.compile(r"^(?:test_)?(?:who|whoever|whose|whom|what|those_(?:who|that))_"
	r"|(?:^|_)(?:behind|in_the_place_of|(?:is|are|was)_none|is_had)(?:_|$)")

C_TOKEN = re.compile(r'/\*(?P<block>.*?)\*/|//(?P<line>[^\n]*(?:\n[ \t]*//[^\n]*)*)'
	r'|(?P<string>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)|\'(?:\\.|[^\'\\\n])*\'', re.S)
HASH = re.compile(r'^(?P<own>[ \t]*#(?!!)[^\n]*(?:\n[ \t]*#[^\n]*)*)|[ \t](?P<tail>#[ \t][^\n]*)', re.M)
DASHES = re.compile(r'^(?P<own>[ \t]*--[^\n]*(?:\n[ \t]*--[^\n]*)*)|(?P<tail>--[^\n]*)', re.M)
DOCSTRING = re.compile(r'"""(?P<own>.*?)"""', re.S)
QUOTED = re.compile(r'"(?P<string>(?:\\.|[^"\\\n])*)"|\'(?P<single>[^\'\n]* [^\'\n]*)\'')
NAMES = re.compile(r'@test "(?P<case>[^"]*)"|\b(?:cmocka_unit_test\w*|TEST|SCENARIO)\(\s*(?P<name>\w+)')
PARAGRAPH = re.compile(r'(?P<own>(?:^[^\n]*\S[^\n]*\n?)+)', re.M)
ITEM = re.compile(r'\n(?=[ \t]*(?:[-*|]|\d+\.)[ \t])')


def pieces(file, text):
	"""(kind, offset, text) of what is written for people; a comment's text begins with its first word."""
	def of(pattern, kinds):
		for m in pattern.finditer(text):
			for group, kind in kinds.items():
				if m.groupdict().get(group) is not None:
					yield kind, m.start(group), m.group(group)
	suffix = file.suffix
	if suffix in (".c", ".h", ".pml"):
		for m in C_TOKEN.finditer(text):
			if m.lastgroup in ("block", "line"):
				own = not text[text.rfind("\n", 0, m.start()) + 1:m.start()].strip()
				yield "comment" if own else "tail", m.start(m.lastgroup), m.group(m.lastgroup)
			elif m.lastgroup == "string":
				yield "string", m.start() + 1, m.group()[1:]
	elif suffix in (".md", ".scd"):
		for kind, at, paragraph in of(PARAGRAPH, {"own": "page"}):
			start = 0
			for end in [m.start() + 1 for m in ITEM.finditer(paragraph)] + [len(paragraph)]:
				yield kind, at + start, paragraph[start:end]
				start = end
	elif suffix == ".lua":
		yield from of(DASHES, {"own": "comment", "tail": "tail"})
	else:
		yield from of(HASH, {"own": "comment", "tail": "tail"})
		yield from of(QUOTED, {"string": "string", "single": "string"})
		if suffix == ".py":
			yield from of(DOCSTRING, {"own": "docstring"})


def question(text, at):
	"""Whether the sentence that begins there ends with a question mark."""
	end = re.search(r"[.?!](?:\s|[\"')*]|\Z)|\n\s*\n", text[at:])
	return bool(end) and end.group()[0] == "?"


def violations(file, text):
	"""(rule, offset, what is wrong) of a file."""
	for kind, at, piece in pieces(file, text):
		lead = re.match(r"(?:\s|[-*|#/\d.]+(?=[\s*]))*", piece).end()
		body = piece[lead:]
		allowed = [m.span() for m in ALLOWED.finditer(piece)]
		for rule, pattern in ANYWHERE.items():
			for m in pattern.finditer(piece):
				if not any(begin <= m.start() and m.start() < end for begin, end in allowed):
					yield rule, at + m.start(), piece[max(0, m.start() - 20):m.end() + 30]
		if kind == "page" and piece.startswith("#"):
			continue
		for rule, pattern in BEGINNINGS.items():
			for m in pattern.finditer(body):
				if not question(body, m.start() + 1 if m.start() else 0):
					yield rule, at + lead + m.start(), body[m.start():m.start() + 60]
		if kind == "comment" or (kind == "tail" and re.match(r"who|those", body)):
			for rule, pattern in OPENINGS.items():
				if pattern.match(body) and not question(body, 0) and not body.rstrip().endswith("----"):
					yield rule, at + lead, body[:60]
	for m in NAMES.finditer(text):
		case = m.group("case")
		name = m.group("name") or re.sub(r"\W+", "_", case).lower()
		if IN_NAMES.search(name) and not (case and case.endswith("?")):
			yield "test-name", m.start(), case or name


def written_here():
	"""The files of the tree that people write: not corpora, recorded data, or this file, which has the patterns."""
	if (ROOT / ".git").exists():
		listed = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True, capture_output=True, text=True).stdout.split()
	else: # an archive
		found = (file.relative_to(ROOT) for file in sorted(ROOT.rglob("*")))
		listed = [str(file) for file in found if file.parts[0] != "build"]
	for name in listed:
		file = ROOT / name
		if "corpus" in name or file == pathlib.Path(__file__).resolve() or not file.is_file():
			continue
		if file.suffix in (".c", ".h", ".pml", ".md", ".scd", ".lua", ".sh", ".bash", ".py", ".bats", ".cmake", ".mjs") \
			or file.name == "CMakeLists.txt" or (not file.suffix and file.read_bytes()[:2] == b"#!"):
			yield name


def check(names):
	for name in names:
		text = (ROOT / name).read_text(errors="replace")
		for rule, at, what in violations(ROOT / name, text):
			what = " ".join(what.split())
			if not any(name == file and phrase in what for file, phrase, _ in EXCEPTIONS):
				yield f"{rule}: {name}:{text.count(chr(10), 0, at) + 1}: {what}"


BAD = [
	("x.c", "/* Who waits, asks. */"), ("x.c", "// A node. What it says\n"), ("x.h", "int a; /* x. Those who ask */"),
	("x.c", "/* A node that comes\n * behind it */"), ("x.c", "/* One that waits */"), ("x.c", "/* It waits. */"),
	("x.c", "/* The same for readers */"), ("x.c", 'f("Whose lock");'), ("x.c", 'f("a lock in the place of one");'),
	("x.c", "/* It is in the place\n * of a lock */"), ("x.sh", "# a yes that\n# is none\n"), ("x.py", "# is had\n"),
	("x.lua", "-- The same\n"), ("x.md", "- A. Who waits, asks.\n"), ("x.md", "Text.\n\nWho waits, asks.\n"),
	("x.scd", "\tWhose node it is.\n"), ("x.bats", '@test "who waits, asks" {\n'), ("x.bats", "# This is it\n"),
	("x.c", "TEST(who_waits)"), ("x.c", "cmocka_unit_test_setup(a_node_behind_it, s),"),
	("x.c", "/* what waits */"), ("x.py", '"""Who waits, asks."""'), ("x.c", "// for those who wait\n"),
	("x.c", "/* One of them */"), ("x.c", "int a; /* who waits */"),
]
GOOD = [
	("x.c", "/* Who waits? */"), ("x.c", "/* A client that asks who waits */"), ("x.c", "// One round for all nodes\n"),
	("x.c", "/* ---- what waits ---- */"), ("x.md", "## What it costs\n"), ("x.c", "int a; /* behind a proxy */"),
	("x.bats", '@test "who holds the lock?" {\n'), ("x.md", "What does it cost? A read.\n"),
	("x.sh", "# None is left: there is none\n"), ("x.md", "It leaves no process behind.\n"),
]


def main():
	wrong = [text for name, text in BAD if not list(violations(pathlib.Path(name), text))]
	wrong += [text for name, text in GOOD if list(violations(pathlib.Path(name), text))]
	for text in wrong:
		print(f"self-test: {text!r}")
	found = list(check(sys.argv[1:] or written_here()))
	print("\n".join(found))
	sys.exit(1 if found or wrong else 0)


if __name__ == "__main__":
	main()
