# SPDX-License-Identifier: MIT
"""dump.py PID FILE: what a core dump of the process would have of its memory: all mappings that can be written, but
those that are marked to be left out. Ends with 77 where that may not be read."""
import re
import sys

pid, file = sys.argv[1:]
try:
    mem = open("/proc/%s/mem" % pid, "rb", buffering=0)
    smaps = open("/proc/%s/smaps" % pid).read()
except PermissionError:
    sys.exit(77)
with open(file, "wb") as out:
    for low, high, rights, rest in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) (.*?^VmFlags:[^\n]*)", smaps, re.M | re.S):
        if "w" in rights and " dd" not in rest.splitlines()[-1]:
            mem.seek(int(low, 16))
            out.write(mem.read(int(high, 16) - int(low, 16)))
