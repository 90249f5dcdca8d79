# SPDX-License-Identifier: MIT
"""`python -m libredlock` is no command: it says where the command is."""
import shutil
import sys

from . import __version__

where = shutil.which("redlock")
print(f"This is libredlock {__version__} for Python, which has no command of its own. "
      + (f"The redlock command is {where}: `redlock help`." if where else
         "The redlock command comes with the C library, and is not in PATH."), file=sys.stderr)
sys.exit(64)
