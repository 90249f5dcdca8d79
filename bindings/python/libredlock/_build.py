# SPDX-License-Identifier: MIT
"""Builds libredlock._native with cffi in API mode: compiler and cffi read the header, so that nothing of it is written here.

The library is that of pkg-config; or, with REDLOCK_BUILD=DIR, of a build directory of redlock's own tree. REDLOCK_INSIDE=1
puts the library of that directory and its reader of RESP into the module, for a wheel that needs neither."""
import glob
import os
import re
import shlex
import subprocess
import sysconfig
from typing import Dict, List

from cffi import FFI  # type: ignore

SOURCE = "#include <redlock/loaded.h>\n"


def inside(build: str) -> List[str]:
    """The archive of the library, and what redlock.pc of that build says it needs: of libraries their archives."""
    with open(os.path.join(build, "redlock.pc"), encoding="utf-8") as description:
        needed = next(line.split()[1:] for line in description if line.startswith("Libs.private:"))
    archives = [re.sub(r"^-l(.*)", r"-l:lib\1.a", flag) for flag in needed]
    return [os.path.join(build, "src", "libredlock.a"), *archives, "-ldl", "-Wl,--exclude-libs,ALL"]


def where() -> Dict[str, List[str]]:
    """The arguments of the compiler and linker."""
    build = os.environ.get("REDLOCK_BUILD")
    if build:
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
            tree = next(line.split("=")[1].strip() for line in cache if line.startswith("CMAKE_HOME_DIRECTORY"))
        if os.environ.get("REDLOCK_INSIDE"):
            library = inside(os.path.abspath(build))
        else:
            folder = os.path.dirname(glob.glob(os.path.join(os.path.abspath(build), "**", "libredlock.so"), recursive=True)[0])
            library = ["-L" + folder, "-lredlock", "-Wl,-rpath," + folder]
        return {"extra_compile_args": ["-I" + os.path.join(tree, "include")], "extra_link_args": library}
    try:
        flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "redlock"], text=True).split()
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit("libredlock is not installed (pkg-config finds no redlock): install it, or set REDLOCK_BUILD "
                         f"to a build directory of redlock: {error}") from None
    return {"extra_compile_args": [f for f in flags if f.startswith("-I")],
            "extra_link_args": [f for f in flags if not f.startswith("-I")]}


def declarations(flags: List[str]) -> str:
    """The declarations of the header, as the preprocessor leaves them, without the headers of the system."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    text = subprocess.check_output([*compiler, "-E", "-U__GNUC__", *flags, "-x", "c", "-"], input=SOURCE, text=True)
    kept, ours = [], False
    for line in text.splitlines():
        if line.startswith("#"):  # the file of the next lines
            ours = re.search(r'/redlock/\w+\.h"', line) is not None
        elif ours:
            kept.append(line)
    inline = re.compile(r"^static inline ([^{]*?)\s*\{.*?^\}", re.MULTILINE | re.DOTALL)
    return inline.sub(r"\1;", "\n".join(kept))


FLAGS = where()
ffi = FFI()
ffi.cdef(declarations(FLAGS["extra_compile_args"]))
ffi.set_source("libredlock._native", SOURCE, **FLAGS)
