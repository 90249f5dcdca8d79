#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Makes C of the operations: `operations.py FOLDER OUTPUT` reads FOLDER/*.lua and writes, into OUTPUT,

    proto/scripts_generated.h     the scripts as servers get them, each with its SHA1, and RL_LUA_MAP(X) of them all
    proto/operations_generated.h  the rows of the table of operations (src/proto/ops.h)
    proto/words_generated.h       RL_RULE_MAP(X) and RL_RECORD_MAP(X): the words rule_NAME and record_NAME of all signatures
    tools/operator_scripts.h      the scripts of FOLDER/operator, which the command alone sends
    ops/*.lua                 each script as it is sent, for the linter and for people

A file whose first line is `-- NAME: sentence` is an operation. The lines `-- key: value` after it are its signature
(ops/README.md); a file without is a script that some other operation runs.
"""
import hashlib
import os
import re
import sys

sys.dont_write_bytecode = True
from lua_source import LuaError, Script, read_module  # noqa: E402

VOTES = {"yes": "YES", "no": "NO", "quarantine": "QUARANTINE", "uncounted": "UNCOUNTED", "noperm": "NOPERM", "slots": "SLOTS"}
NATIVE = {"SET": "PLAIN", "DELEX": "DELEX", "DELIFEQ": "DELIFEQ", "WATCH": "WATCH"}
SCRIPTS = {"script": ("SHA", "TEXT"), "eval": ("TEXT",), "queue script": ("QUEUE_SHA", "QUEUE_TEXT"),
	"guard script": ("GUARD_SHA", "GUARD_TEXT")}
SCRIPT_FIELDS = {"script": "script", "eval": "script", "queue script": "queue_script", "guard script": "guard_script"}
LISTS = {"names", "queues", "fences", "slots"}  # of keys: as many as the request has names or slots, or counters
EFFECTS = {
	"claims": [".claims = true", ".relies = true"],
	"extends": [".change = RL_CHANGE_LENGTHEN", ".relies = true"],
	"releases": [".change = RL_CHANGE_DELETE", ".gives_back = true"],
	"looks": [".change = RL_CHANGE_LOOK"],
	"by script alone": [".scripted = true"]}
LOSSES = {
	"ask again": [".again = true"],
	"leaves a key": [],
	"harmful when late": [".ghost = RL_GHOST_ALWAYS"],
	"harmful when late with a caller's own value": [".ghost = RL_GHOST_OWN"],
	"a yes does not count while an older request may arrive": [".doubts = true"]}
LINKS = {"waits as": "enters", "then": "wakes", "without rights": "plainly"}


def fail(path, message):
	sys.exit(f"{path}: {message}")


# ---- Lua ----

def read(path):
	with open(path, encoding="ascii") as file:
		return file.read()


# ---- C ----

def literal(text):
	"""A C string, a line of source for each line of text; no trigraphs."""
	for char, escaped in ("\\", "\\\\"), ('"', '\\"'), ("?", "\\?"), ("\t", "\\t"), ("\n", '\\n" \\\n\t"'):
		text = text.replace(char, escaped)
	return f'"{text}"'


def fixed(text):
	return f"FIXED({text})"


def word(name):
	"""One word of a request: a fixed one, or a part of the request by its name."""
	if name == "record":
		return fixed("RL_SIDE_SET")
	if not re.fullmatch(r"[a-z_]+", name):
		return fixed(f'"{name}"')
	kind, _, rest = name.partition("_")
	return f"{kind.upper()}({rest.upper()})" if rest and kind in ("rule", "record") else f"PART({name.upper()})"


def words(all_words):
	return "WORDS(" + ", ".join(all_words) + ")"


def call(form, script, keys, args):
	how, what = ("EVALSHA", "SHA") if form.endswith("SHA") else ("EVAL", "TEXT")
	count = "PART(KEYS)" if LISTS & set(keys) else fixed(f'"{len(keys)}"')
	head = [fixed(f'"{how}"'), fixed(f"RL_LUA_{script.upper()}_{what}"), count]
	return words(head + [word(name) for name in keys + args])


def bounds(text):
	least, _, most = text.partition("..")
	return f".least = {least}, .most = {most or least}"


def field(item):
	"""The name of a field of an answer, as src/core/vote.h has it."""
	skipped = {'""': "SKIPPED_TEXT"}.get(item) or (re.match("[-0-9]", item) and "SKIPPED")
	return skipped or item.partition(":")[0].upper()


def outcome(path, vote, value):
	"""One kind of answer, and the vote that it is."""
	head = f"{{.vote = REDLOCK_VOTE_{VOTES[vote]}, .type = RL_REPLY_"
	if value in ("OK", "nil"):
		return head + ("STATUS}" if value == "OK" else "NIL}")
	if value.startswith("error "):
		return head + f'ERROR, .error = "{value[6:]}"}}'
	if not value.startswith("{"):
		return head + f"INTEGER, {bounds(value)}}}"
	items = [item.strip() for item in value.strip("{}").split(",")]
	if not all(re.fullmatch(r'""|-?\d+(\.\.-?\d+)?|[a-z]+(:text|:ms)?', item) for item in items):
		fail(path, f"no answer: {value}")
	has_verdict = re.match("[-0-9]", items[0])
	fields = ["VERDICT"] * bool(has_verdict) + [field(item) for item in items[bool(has_verdict):]]
	limits = f", {bounds(items[0])}" if has_verdict else ""
	return head + f'ARRAY, .fields = FIELDS({", ".join(f"RL_FIELD_{name}" for name in fields)}){limits}}}'


def outcomes(rows):
	return "OUTCOMES(" + ", ".join(rows) + ")"


# ---- an operation ----

class Operation:
	def __init__(self, path, name, signature):
		self.path, self.name, self.signature = path, name, signature
		self.forms, self.words, self.arguments, self.fields = [], {}, {}, []
		self.scripts = {}  # by name: the keys and the arguments of each form that runs it
		self.answers = {"": [], "guarded ": []}
		self.lists, self.several = [], False
		for key, value in signature:
			self.take(key, value)
		self.check()

	def take(self, key, value):
		native = re.fullmatch("native", key)
		script = re.fullmatch(r"(script|eval|queue script|guard script)(?: (\w+))?", key)
		answer = re.fullmatch("(guarded )?(%s)" % "|".join(VOTES), key)
		if native:
			self.take_native(value)
		elif script:
			self.take_script(script[1], script[2] or self.script_name(script[1]), value)
		elif answer:
			self.answers[answer[1] or ""].append(outcome(self.path, answer[2], value))
		elif key in LINKS:
			self.fields.append(f".{LINKS[key]} = RL_OP_{value.upper()}")
		elif key in ("effect", "lost"):
			self.take_phrases(EFFECTS if key == "effect" else LOSSES, re.split("[,;] ", value))
		elif key in ("rights", "plain rights"):
			self.fields.append(f'.{key.replace(" ", "_")} = "{value}"')
		else:
			fail(self.path, f"unknown key of a signature: {key}")

	def take_phrases(self, known, phrases):
		for phrase in phrases:
			if phrase.startswith("undo by "):
				self.fields.append(f".undo = RL_OP_{phrase[8:].upper()}")
			elif phrase in known:
				self.fields += known[phrase]
			else:
				fail(self.path, f"no known effect or loss: {phrase}")

	def take_native(self, value):
		parts = value.split()
		form = NATIVE[parts[0]]
		self.forms.append(form)
		if form != "WATCH":
			self.add(form, words([word(name) for name in parts]), len(parts))

	def take_script(self, kind, script, value):
		keys, args = (part.split() for part in value.split("|"))
		self.several |= bool({"names", "slots"} & set(keys))
		positions = self.scripts.setdefault(script, {"KEYS": [], "ARGV": []})
		positions["KEYS"].append(keys)
		positions["ARGV"].append(args)
		self.fields.append(f".{SCRIPT_FIELDS[kind]} = RL_SCRIPT_{script.upper()}")
		for form in SCRIPTS[kind]:
			self.forms.append(form)
			self.add(form, call(form, script, keys, args), len(args))
			self.lists += [form] * bool(LISTS & set(keys))

	def script_name(self, kind):
		"""A guard script is another one, if there is one for plain sets too."""
		plain = any(re.match("script|eval|queue script", key) for key, _ in self.signature)
		return f"guarded_{self.name}" if kind == "guard script" and plain else self.name

	def add(self, form, row, arguments):
		self.words[form], self.arguments[form] = row, arguments

	def check(self):
		if not self.words or not (self.answers[""] or self.answers["guarded "]):
			fail(self.path, "no form, or no answer")
		if any(form.startswith("GUARD") for form in self.forms) != bool(self.answers["guarded "]):
			fail(self.path, "a guard script and guarded answers go together")

	def parked_as(self):
		"""The form that says most of the request; in a guarded one only if there is no other."""
		forms = [form for form in self.forms if form in self.words and not form.endswith("LIFEQ") and form != "DELEX"]
		forms = [form for form in forms if not form.startswith("GUARD")] or ["GUARD_TEXT"]
		return max(forms, key=lambda form: (self.arguments[form], form == "SHA", form == "QUEUE_SHA"))

	def row(self):
		fields = [".forms = " + " | ".join(f"FORM({form})" for form in self.forms)]
		if not any(field.startswith(".script = ") for field in self.fields):
			fields.append(".script = RL_SCRIPT_COUNT")
		fields += self.fields + [f".parked_as = RL_FORM_{self.parked_as()}"]
		fields += [".several = true"] * self.several
		fields += [".lists = " + " | ".join(f"FORM({form})" for form in self.lists)] * bool(self.lists)
		fields += [f".words[RL_FORM_{form}] = {row}" for form, row in self.words.items()]
		fields.append(f".outcomes = {outcomes(self.answers[''] or self.answers['guarded '])}")
		if self.answers["guarded "]:
			fields.append(f".guard_outcomes = {outcomes(self.answers['guarded '])}")
		return f"[RL_OP_{self.name.upper()}] = {{\n\t" + ",\n\t".join(fields) + ",\n},\n"


def signature(path, text):
	"""The pairs of key and value in the comment that a file begins with; None: it has no signature."""
	comment = re.match(r"(--.*\n)*", text)[0]
	name = os.path.basename(path)[:-len(".lua")]
	if not comment.startswith(f"-- {name.upper()}: "):
		return None
	lines = re.sub(r"\n--  +", " ", comment).split("\n")[1:]
	return re.findall(r"^-- ([a-z][a-z_ ]*): (.*)$", "\n".join(lines), re.M)


# ---- files ----

def write(path, content):
	"""Writes only what differs, so that a configure run alone rebuilds nothing."""
	os.makedirs(os.path.dirname(path), exist_ok=True)
	if not os.path.exists(path) or read(path) != content:
		with open(path, "w", encoding="ascii") as file:
			file.write(content)


def header(path, guard, content):
	write(path, f"/* SPDX-License-Identifier: MIT */\n/* Generated by cmake/operations.py. Do not edit. */\n"
		f"#ifndef {guard}\n#define {guard}\n{content}\n#endif\n")


def sources(folder):
	"""The files of a folder: name and text of each."""
	return [(file[:-len(".lua")], read(f"{folder}/{file}")) for file in sorted(os.listdir(folder)) if file.endswith(".lua")]


def read_operations(folder):
	found = ((name, signature(f"{folder}/{name}.lua", text)) for name, text in sources(folder))
	return {name: Operation(f"{folder}/{name}.lua", name, pairs) for name, pairs in found if pairs is not None}


def scripts_of(folder, modules, operations):
	"""The scripts of a folder as they are sent, by name."""
	ret = {}
	for name, text in sources(folder):
		own = [script for script in operations[name].scripts if script in (name, f"guarded_{name}")] if name in operations else [name]
		for script in own:
			positions = [operation.scripts[script] for operation in operations.values() if script in operation.scripts]
			words = {table: [each for p in positions for each in p[table]] for table in ("KEYS", "ARGV")}
			try:
				ret[script] = Script(modules, script.startswith("guarded_"), words).text(text)
			except LuaError as error:
				fail(f"{folder}/{name}.lua", error)
	return {name: ret[name] for name in sorted(ret) if ret[name]}


def write_scripts(scripts, output, path, guard, prefix):
	"""The scripts as C strings."""
	content, names = "", []
	for name, text in scripts.items():
		names.append(name)
		write(f"{output}/scripts/{name}.lua", text + "\n")
		macro = f"{prefix}_{name.upper()}"
		sha = hashlib.sha1(text.encode()).hexdigest()
		content += f'\n#define {macro}_SHA "{sha}"\n#define {macro}_TEXT \\\n\t{literal(text)}\n'
	lines = "".join(f' \\\n\tX({name.upper()}, "{name}")' for name in names)
	header(path, guard, f"{content}\n#define {prefix}_MAP(X){lines}\n")
	return names


def words_map(operations, kind):
	"""The words KIND_NAME that signatures name, each once, as X(NAME, name)."""
	values = " ".join(value for operation in operations.values() for _, value in operation.signature)
	names = dict.fromkeys(re.findall(rf"\b{kind}_([a-z_]+)", values))
	return f"#define RL_{kind.upper()}_MAP(X)" + "".join(f" \\\n\tX({name.upper()}, {name})" for name in names)


def main():
	folder, output = sys.argv[1:]
	operations = read_operations(folder)
	modules = {name: read_module(name, text) for name, text in sources(f"{folder}/lib")}
	names = write_scripts(scripts_of(folder, modules, operations), output, f"{output}/proto/scripts_generated.h",
		"RL_PROTO_SCRIPTS_GENERATED_H", "RL_LUA")
	names += write_scripts(scripts_of(f"{folder}/operator", modules, {}), output, f"{output}/tools/operator_scripts.h",
		"REDLOCK_TOOL_OPERATOR_SCRIPTS_H", "OPERATOR_LUA")
	for file in set(os.listdir(f"{output}/scripts")) - {f"{name}.lua" for name in names}:
		os.remove(f"{output}/scripts/{file}")
	header(f"{output}/proto/words_generated.h", "RL_PROTO_WORDS_GENERATED_H",
		words_map(operations, "rule") + "\n\n" + words_map(operations, "record"))
	rows = "".join(operation.row() for operation in operations.values())
	write(f"{output}/proto/operations_generated.h",
		f"/* SPDX-License-Identifier: MIT */\n/* Generated by cmake/operations.py. Do not edit. */\n{rows}")


if __name__ == "__main__":
	main()
