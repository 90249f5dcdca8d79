# SPDX-License-Identifier: MIT
"""A mutant: one small change of the sources."""


def replace_once(old, new):
	def edit(text):
		if text.count(old) != 1:
			raise ValueError(f"found {text.count(old)} times, not once: {old!r}")
		return text.replace(old, new)
	return edit


def replace_at(offset, old, new):
	def edit(text):
		if not text.startswith(old, offset):
			raise ValueError(f"not at {offset}: {old!r}")
		return text[:offset] + new + text[offset + len(old):]
	return edit


class Mutant:
	def __init__(self, name, source, kind, edits, what):
		self.name = name  # the same as long as the lines it changes are the same
		self.source = source  # "hand" or "generated"
		self.kind = kind  # hand: the defect; generated: the operator
		self.edits = edits  # (file, function from old text to new text)
		self.what = what

	@property
	def files(self):
		return sorted({file for file, _ in self.edits})
