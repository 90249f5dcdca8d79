# SPDX-License-Identifier: MIT
"""
From the Lua that people read to the Lua that servers get. Sources are plain Lua: a script requires modules (ops/lib)
and calls their functions. A server pays for each function that a script makes, so a script is sent without them:

    a call that is a statement of its own, `x, y = module.name(a, b)`, becomes the lines of the function in a block;
    a function that returns before its last line, or is called inside an expression, is sent as a function, before the
    first statement at the outer level that calls it;
    `if GUARDED then ... else ... end` becomes the branch of the form that the script is for;
    KEYS.name and ARGV.name become the numbers of these words in the request;
    comments, indents, empty lines and `require` go.
"""
import re

STRING = r'"(?:\\.|[^"\\])*"'
CONSTANT = re.compile(rf"(?:KEYS|ARGV)(?:\.\w+|\[[#\w]+\])|redis\.p?call|{STRING}|-?\d+|nil|true|false")
CALL = re.compile(r"( *)(?:(local )?([a-z_][\w, ]*?) = )?(\w+)\.(\w+)\((.*)\)$")


class LuaError(Exception):
	pass


def strip(text):
	"""The lines without comments, indents and empty lines."""
	lines = (line.strip() for line in text.split("\n"))
	return "\n".join(line for line in lines if line and not line.startswith("--"))


def rename(text, old, new):
	"""Another name for a variable: not inside strings, and not for a field."""
	return re.sub(rf"{STRING}|(?<![\w.]){old}(?!\w)|(?<=\.\.){old}(?!\w)", lambda m: m[0] if m[0][0] == '"' else new, text)


def arguments(text):
	"""Splits at the commas that are not inside brackets or strings."""
	parts, depth = [""], 0
	for token in re.findall(rf"{STRING}|.", text):
		depth += (token in "([{") - (token in ")]}")
		if token == "," and depth == 0:
			parts.append("")
		else:
			parts[-1] += token
	return [part.strip() for part in parts if part.strip()]


class Function:
	def __init__(self, name, parameters, body):
		self.name, self.parameters, self.body = name, arguments(parameters), body
		returns = re.findall(r"^ *.*\breturn\b", "\n".join(body), re.M)
		self.inlines = len(returns) == 0 or (len(returns) == 1 and body[-1].startswith("  return "))

	def variables(self):
		declared = re.findall(r"\b(?:local|for) ([\w, ]+?)(?: =| in |$)", "\n".join(self.body), re.M)
		return set(self.parameters).union(*(arguments(names) for names in declared))

	def inline(self, indent, is_local, targets, values):
		"""The lines that do what `targets = name(values)` does."""
		body = "\n".join(self.body)
		parameters, head = list(self.parameters), []
		if len(values) != len(parameters):
			raise LuaError(f"{self.name} wants {len(parameters)} arguments: {', '.join(values)}")
		for name in self.variables() & set(targets):
			body = rename(body, name, name + "_")
			parameters = [name + "_" if each == name else each for each in parameters]
		changed = set(arguments(", ".join(re.findall(r"(?:^ *|\b(?:then|else|do) )([\w, ]+) = ", body, re.M))))
		pairs = []
		own = {name + "_" if name in targets else name for name in self.variables()}
		for name, value in zip(parameters, values):
			is_variable = re.fullmatch(r"[a-z]\w*", value) and value not in own
			if name != value and name not in changed and (is_variable or CONSTANT.fullmatch(value)):
				body = rename(body, name, value)
			elif name != value or name in changed:
				pairs.append((name, value))
		if pairs:
			head = [f"  local {', '.join(p for p, _ in pairs)} = {', '.join(v for _, v in pairs)}"]
		lines = body.split("\n")
		if lines[-1].startswith("  return "):
			results = arguments(lines.pop()[len("  return "):])[:len(targets)]
			lines += [f"  {', '.join(targets)} = {', '.join(results)}"] if targets and targets != results else []
		lines = head + lines
		declared = [f"local {', '.join(targets)}"] if is_local else []
		if not any(line.startswith("  local ") for line in lines):
			if declared and len(lines) == 1:
				return [f"{indent}local {lines[0].strip()}"]
			return [indent + line for line in declared + [line[2:] for line in lines]]
		return [indent + line for line in declared + ["do"] + lines + ["end"]]


def read_module(name, text):
	"""The functions of a module, by name."""
	found = re.findall(rf"^function {name}\.(\w+)\((.*)\)\n((?:.*\n)*?)end$", text, re.M)
	return {function: Function(f"{name}.{function}", parameters, strip_comments(body))
		for function, parameters, body in found}


def strip_comments(body):
	lines = (re.sub(r" -- .*$", "", line) for line in body.rstrip("\n").split("\n"))
	return [line for line in lines if line.strip() and not line.strip().startswith("--")]


class Script:
	"""One script of a source, for one form of a request."""

	def __init__(self, modules, guarded, positions):
		self.modules, self.guarded, self.positions = modules, guarded, positions
		self.sent = []  # functions that are sent as such

	def text(self, source):
		lines = [line for line in strip_comments(source) if not re.match(r'local \w+ = require\("[\w.]+"\)$', line)]
		lines = self.expand(self.choose(lines))
		text = strip("\n".join(self.place(lines)))
		text = re.sub(r"\b(KEYS|ARGV)\.(\w+)", self.position, text)
		return re.sub(r"\bGUARDED\b", "true" if self.guarded else "false", text)

	def choose(self, lines):
		"""Keeps one branch of each `if GUARDED then`."""
		ret = []
		while lines:
			line = lines.pop(0)
			found = re.match(r"( *)if (not )?GUARDED then$", line)
			if not found:
				ret.append(line)
				continue
			end = lines.index(found[1] + "end")
			block, lines = lines[:end], lines[end + 1:]
			middle = block.index(found[1] + "else") if found[1] + "else" in block else len(block)
			lines = (block[:middle] if self.guarded != bool(found[2]) else block[middle + 1:]) + lines
		return ret

	def function(self, module, name):
		return self.modules.get(module, {}).get(name)

	def expand(self, lines):
		"""Inlines the calls that are statements, and those in what was inlined."""
		ret = []
		for line in lines:
			call = CALL.match(line)
			function = call and self.function(call[4], call[5])
			if function and function.inlines:
				targets = arguments(call[3] or "")
				ret += self.expand(self.choose(function.inline(call[1], call[2], targets, arguments(call[6]))))
			else:
				ret.append(line)
		return ret

	def place(self, lines):
		"""Puts the functions that are still called before the statement that calls them first."""
		ret, start = [], 0
		for line in lines:
			if not line.startswith(" ") and not re.match(r"(else|elseif|end|until)\b", line):
				start = len(ret)
			for module, name in re.findall(r"\b(\w+)\.(\w+)\(", line):
				function = self.function(module, name)
				if function and (module, name) not in self.sent:
					self.sent.append((module, name))
					body = self.expand(self.choose(list(function.body)))
					made = [f"local function {module}_{name}({', '.join(function.parameters)})", *body, "end"]
					made = self.place(made)
					ret[start:start] = made
					start += len(made)
			ret.append(line)
		for module, name in self.sent:
			ret = [re.sub(rf"\b{module}\.{name}\(", f"{module}_{name}(", line) for line in ret]
		return ret

	def position(self, found):
		"""The index of a word in the request."""
		table, name = found[1], found[2]
		indices = {index for index in (place(words, name) for words in self.positions[table]) if index is not None}
		if len(indices) > 1 and all(words[-1] == name for words in self.positions[table]):
			indices = {f"#{table}"}
		if len(indices) != 1:
			raise LuaError(f"{table}.{name} is at {sorted(map(str, indices)) or 'no place'}")
		return f"{table}[{indices.pop()}]"


def place(words, name):
	"""Where a word is among the keys or arguments; the number of those after a list is not fixed."""
	lists = [i for i, word in enumerate(words) if word in ("names", "queues", "fences", "slots")]
	if name not in words:
		return None
	at = words.index(name)
	if lists and at > lists[0]:
		return "#KEYS" if at == len(words) - 1 else None
	return at + 1
