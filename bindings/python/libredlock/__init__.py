# SPDX-License-Identifier: MIT
"""Locks over independent Redis or Valkey servers: libredlock for Python.

    import libredlock

    with libredlock.Client(["redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"]) as client:
        with client.lock("nightly", ttl=30, wait=5) as lock:      # LockBusy after 5 s
            work(lock.remaining)                                  # the lock is a lease: it ends

A lock is valid by the clock. The end of a `with` block raises LockLost if the lock had ended before. Nothing here decides
about locks: the C library does. For asyncio: libredlock.asyncio.

After os.fork() calls in the child raise ForkedError; the child makes a client of its own.
"""
try:
    from ._native import ffi, lib
except ImportError as missing:  # the loader looks for all functions before anything runs
    if "undefined symbol" not in str(missing):
        raise
    raise ImportError("an older libredlock is loaded than the one that the module was compiled for: install that version, "
                      f"or build the module again ({missing})") from None

_why = ffi.new("char[256]")
if lib.redlock_check_loaded(_why, 256) < 0:
    raise ImportError("the module was " + ffi.string(_why).decode())

from ._client import Client, Lock  # noqa: E402
from ._errors import (ForkedError, LockBusy, LockCancelled, LockLost, LockStateError, NoQuorum,  # noqa: E402
                      OptionError, RedlockError, Vote)

#: The version of the library that is loaded.
__version__: str = ffi.string(lib.redlock_version()).decode()

__all__ = ["Client", "ForkedError", "Lock", "LockBusy", "LockCancelled", "LockLost", "LockStateError", "NoQuorum",
           "OptionError", "RedlockError", "Vote"]
