#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""links.py: each link of a page leads to a file, and to a heading of it; each page that a file of code names exists."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def headings(page):
    """As GitHub names them: the second one of a name gets a number, which no link here may use."""
    found = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found]


def bad_links(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for name, anchor in re.findall(r"\]\(([^)#\s:]*)(?:#([\w-]+))?\)", text):
        target = page.parent / name if name else page
        if not target.exists():
            yield f"{name} does not exist"
        elif anchor and headings(target).count(anchor) != 1:
            yield f"{name} has not one heading #{anchor}"


def bad_names(file):
    for name in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text(errors="replace")):
        if not (ROOT / name).exists():
            yield f"{name} does not exist"


if not (ROOT / ".git").exists():
    print("no git checkout: what belongs to the project is not known")
    sys.exit(77)
listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.split()
files = [ROOT / name for name in listed if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]
bad = [f"{f.relative_to(ROOT)}: {what}" for f in files for what in (bad_links(f) if f.suffix == ".md" else bad_names(f))]
sys.exit("\n".join(bad) or None)
