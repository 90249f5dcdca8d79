# SPDX-License-Identifier: MIT
"""
Generated mutants: every place in the sources where one small fault can be planted, and a choice of them.

Comments, strings, preprocessor lines and asserts are not touched, nor what only makes text (core/trace.c).
"""
import os
import random
import re

from mutant import Mutant, replace_at

FOLDERS = ("src/core", "src/proto", "src/net", "src")
SKIPPED = ("src/core/trace.c",)

SKIPPED_TEXT = re.compile(
	r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|\bassert\([^;]*;',
	re.DOTALL | re.MULTILINE)

SWAPS = {
	"comparison": {" < ": [" <= "], " <= ": [" < "], " > ": [" >= "], " >= ": [" > "]},
	"equality": {" == ": [" != "], " != ": [" == "]},
	"logic": {" && ": [" || "], " || ": [" && "]},
	"arithmetic": {" + ": [" - "], " - ": [" + "], " += ": [" -= "], " -= ": [" += "], "++": ["--"], "--": ["++"]},
	"truth": {"true": ["false"], "false": ["true"]},
}
WORD = re.compile(r"\b(?:true|false)\b")
NUMBER = re.compile(r"(?<![\w.])(\d+)(?:u|ull)?(?![\w.])")
CONDITION = re.compile(r"\b(?:if|while) \(")
STATEMENT = re.compile(r"^\t+([A-Za-z_*(][^;{}]*;)$", re.MULTILINE)
DECLARATION = re.compile(
	r"(?:static|const|struct|enum|unsigned|char|bool|void|int|ssize_t|size_t|uint\w+_t|int\w+_t|pthread_t|sigset_t|"
	r"va_list|redlock_\w+|socklen_t|redisReader|typedef|case|default|else|for|while|if|do|return)\b[^=(]*[ *(=;]")
# A statement of its own follows one of these.
BEFORE = (";", "{", "}", ")", ":", "else", "*/")


class Site:
	def __init__(self, file, kind, offset, old, new):
		self.file = file
		self.kind = kind
		self.offset = offset
		self.old = old
		self.new = new


def mask(text):
	"""The text with what must not be touched as blanks: offsets and lines stay."""
	return SKIPPED_TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def _swaps(masked):
	for kind, table in SWAPS.items():
		for old, news in table.items():
			for at in _find_all(masked, old, kind == "truth"):
				for new in news:
					yield kind, at, old, new


def _find_all(masked, old, is_word):
	pattern = rf"\b{old}\b" if is_word else re.escape(old)
	return [m.start() for m in re.finditer(pattern, masked)]


def _constants(masked):
	for match in NUMBER.finditer(masked):
		value = int(match.group(1))
		for new in sorted({0, 1, value + 1} - {value}):
			yield "constant", match.start(1), match.group(1), str(new)


def _closing(masked, opening):
	depth = 0
	for at in range(opening, len(masked)):
		depth += {"(": 1, ")": -1}.get(masked[at], 0)
		if depth == 0:
			return at
	raise ValueError("a parenthesis is not closed")


def _conditions(masked, text):
	for match in CONDITION.finditer(masked):
		opening = match.end() - 1
		old = text[opening:_closing(masked, opening) + 1]
		yield "negation", opening, old, f"(!{old})"


def _statements(masked, text):
	for match in STATEMENT.finditer(masked):
		before = masked[:match.start()].rstrip()
		if DECLARATION.match(match.group(1)) or not text[:match.start()].rstrip().endswith(BEFORE):
			continue
		if before.endswith("="):
			continue
		old = text[match.start(1):match.end(1)]
		yield "dropped", match.start(1), old, ";" + "\n" * old.count("\n")


def sites_of(file, text):
	masked = mask(text)
	found = [*_swaps(masked), *_constants(masked), *_conditions(masked, text), *_statements(masked, text)]
	return [Site(file, *place) for place in found]


def sources(root):
	for folder in FOLDERS:
		for name in sorted(os.listdir(os.path.join(root, folder))):
			file = f"{folder}/{name}"
			if name.endswith(".c") and file not in SKIPPED:
				yield file


def _line_of(text, at):
	begin = text.rfind("\n", 0, at) + 1
	return begin, text[begin:text.find("\n", at)]


def make(site, text):
	"""The mutant. Its name has no line number in it: it stays the same when other lines change."""
	begin, line = _line_of(text, site.offset)
	at = site.offset - begin
	first_old, first_new = site.old.split("\n")[0], site.new.split("\n")[0]
	changed = (line[:at] + first_new + line[at + len(first_old):]).strip() or ";"
	name = f"{site.file}: {line.strip()} -> {changed}"
	same_before = text[:begin].split("\n").count(line)
	if same_before > 0:
		name += f" [{same_before + 1}]"
	number = text.count("\n", 0, begin) + 1
	edit = replace_at(site.offset, site.old, site.new)
	return Mutant(name, "generated", site.kind, [(site.file, edit)], f"{site.file}:{number}")


def choose(root, count, seed):
	"""`count` mutants, spread evenly over folders and kinds of fault. The same seed chooses the same ones, and a
	larger count adds to them."""
	groups = {}
	texts = {}
	for file in sources(root):
		with open(os.path.join(root, file), encoding="utf-8") as source:
			texts[file] = source.read()
		for site in sites_of(file, texts[file]):
			groups.setdefault((os.path.dirname(file), site.kind), []).append(site)
	draw = random.Random(seed)
	for key in sorted(groups):
		draw.shuffle(groups[key])
	ret, names = [], set()
	while len(ret) < count and any(groups.values()):
		for key in sorted(groups):
			if groups[key] and len(ret) < count:
				site = groups[key].pop()
				mutant = make(site, texts[site.file])
				if mutant.name not in names:
					names.add(mutant.name)
					ret.append(mutant)
	return ret
