# SPDX-License-Identifier: MIT
"""Errors and votes of libredlock as Python has them."""
from typing import Dict, List, NamedTuple, Optional, Sequence, Type

from ._native import ffi, lib


def text(chars: object) -> str:
    """A text of the library."""
    return str(ffi.string(chars).decode("utf-8", "backslashreplace"))


class Vote(NamedTuple):
    """The answer of one node in the last operation of a lock."""

    node: int  #: from 0, in the order of the URLs
    name: str  #: "YES", "NO", "TIMEOUT" ...
    text: str  #: "no answer in time"
    kind: int  #: 0 pending, 1 yes, 2 no, 3 missing, 4 fatal: it needs an operator
    rtt: float  #: seconds from the start of the operation to the answer; 0.0: none yet


class RedlockError(Exception):
    """A call failed. The text says why, node by node. `code` and `name` are those of redlock/results.h, `votes` has the
    answer of each node if the call asked any."""

    def __init__(self, why: str, code: int = 0, votes: Sequence[Vote] = ()) -> None:
        super().__init__(why)
        self.code = code
        self.name = text(lib.redlock_error_name(code))
        self.votes: List[Vote] = list(votes)


class LockBusy(RedlockError):
    """Somebody else holds the lock. Raised by `with`; acquire() returns False instead."""


class NoQuorum(RedlockError):
    """Too few nodes answered to grant, extend or release the lock."""


class LockLost(RedlockError):
    """The lock had ended before it was released: the work may not have been protected."""


class LockCancelled(RedlockError):
    """cancel() of another thread ended the call."""


class LockStateError(RedlockError, RuntimeError):
    """The lock is not held, is held already, is used by another thread, or its client was closed."""


class OptionError(RedlockError, ValueError):
    """An option or a URL cannot be used; the text names it."""


class ForkedError(RedlockError, RuntimeError):
    """The client belongs to the parent process: make a new one after a fork."""


_CLASSES: Dict[str, Type[RedlockError]] = {
    "BUSY": LockBusy, "NOQUORUM": NoQuorum, "LOST": LockLost, "GONE": LockLost, "CANCELLED": LockCancelled,
    "INVAL": OptionError, "URL": OptionError, "DUPLICATE": OptionError, "STATE": LockStateError, "LIMIT": LockStateError,
    "NOMEM": RedlockError, "SYSTEM": RedlockError, "FORKED": ForkedError, "TLS": OptionError, "INTERRUPTED": RedlockError,
    "CONFIG": OptionError, "UNRENEWED": LockStateError,
}


def error_of(code: int, why: Optional[str] = None, votes: Sequence[Vote] = ()) -> RedlockError:
    """The exception for an error of the library."""
    kind = _CLASSES.get(text(lib.redlock_error_name(code)), RedlockError)
    return kind(why or text(lib.redlock_strerror(code)), code, votes)


def expect(result: int, why: object = None) -> int:
    """The result of a call that must not fail; `why` has the library's sentence for an error."""
    if result < 0:
        raise error_of(result, text(why) if why else None)
    return result
