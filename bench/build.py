# SPDX-License-Identifier: MIT
"""Builds the library, the command and the measuring programs, as they are installed: Release."""
import os

import process

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "bench")


def _folder(root):
	return os.path.join(os.path.abspath(root), "build", "bench")


def build(root=ROOT):
	"""This checkout, or another one, to compare it with."""
	folder = _folder(root)
	os.makedirs(folder, exist_ok=True)
	process.run_quietly(["cmake", "-S", root, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
		"-DBUILD_TESTING=OFF"])
	process.run_quietly(["cmake", "--build", folder, "--target", "bench", "redlock-command", "redlock"])


def program(name, root=ROOT):
	return os.path.join(_folder(root), "bin" if name == "redlock" else "bench", name)


def commit():
	"""The commit that is measured; with a + when the checkout differs from it. Empty outside of git."""
	try:
		name = process.output(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"]).strip()
		return name + ("+" if process.output(["git", "-C", ROOT, "status", "--porcelain"]) else "")
	except (process.Failed, OSError):
		return ""
