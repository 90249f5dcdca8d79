# SPDX-License-Identifier: MIT
"""Blocking locks."""
import time
from types import TracebackType
from typing import Any, Optional, Sequence, Type, Union

from ._base import INTERRUPTED, BaseClient, BaseLock, Callback, Name, to_ms
from ._errors import LockBusy, error_of
from ._native import lib


class Lock(BaseLock):
    """A lock, made by Client.lock(). As threading.Lock it has acquire(), release() and locked(), and works with `with`.

    One object is one claimant, and belongs to one thread at a time: give each thread its own. cancel(), remaining and
    locked() may be used by any thread."""

    def acquire(self, blocking: bool = True, timeout: Optional[float] = -1) -> bool:
        """Acquires the lock. False: somebody else holds it. `timeout` is in seconds; -1 and None: without a limit.

        Releases the GIL while it waits; Ctrl-C ends it. Raises NoQuorum if too few nodes answer to know, LockCancelled,
        and LockStateError if this object holds the lock already."""
        if not blocking and timeout not in (-1, None):
            raise ValueError("can't specify a timeout for a non-blocking call")
        seconds = 0 if not blocking else None if timeout in (-1, None) else timeout
        end = None if seconds is None else time.monotonic() + seconds
        result = INTERRUPTED
        self._client._open()
        while result == INTERRUPTED:  # Python runs its signal handlers between two calls
            self._expect(lib.redlock_lock_set_wait(self._handle, to_ms(seconds)))
            result = self._call(lib.redlock_acquire)
            seconds = None if end is None else end - time.monotonic()
        return self._granted(result)

    def release(self) -> None:
        """Releases the lock; whatever happens, it is not held any more. Raises LockLost if it had ended before, NoQuorum
        if too few nodes answered to know that: its keys may stay until their TTL."""
        self._expect(self._call(lib.redlock_release))

    def extend(self, ttl: float = 0) -> None:
        """A new TTL in seconds from now on; 0: the one of the lock. Never shortens. Raises LockLost, NoQuorum."""
        self._expect(self._again(lib.redlock_extend, to_ms(ttl)))

    def owned(self) -> bool:
        """Asks the nodes whether a quorum of them has the key with this object's token. Raises NoQuorum."""
        result = self._again(lib.redlock_query)
        if result != -4:  # GONE
            self._expect(result)
        return result == 0

    def upgrade(self) -> bool:
        """Makes a shared lock exclusive. False: there are other holders, and it is shared as before."""
        return self._granted(self._call(lib.redlock_upgrade))

    def downgrade(self) -> None:
        """Makes it shared again, without a moment in which it is not held."""
        self._expect(self._call(lib.redlock_downgrade))

    def __enter__(self) -> "Lock":
        if not self.acquire(timeout=self._wait):
            raise LockBusy(str(self._error(-1)), -1, self.votes)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        lost = not self.locked()
        result = self._call(lib.redlock_release)
        if error is None:
            self._expect(-3 if lost else result)

    def _call(self, call: Any, *arguments: int) -> int:
        native = self._native
        with native.idle:
            self._client._open()
            native.calls += 1
        try:
            return int(call(self._handle, *arguments))
        finally:
            with native.idle:
                native.calls -= 1
                native.idle.notify_all()

    def _again(self, call: Any, *arguments: int) -> int:
        result = INTERRUPTED
        while result == INTERRUPTED:
            result = self._call(call, *arguments)
        return result


class Client(BaseClient):
    """Connections to the nodes. Use it with `with`, or close() it; the end of the interpreter closes it, too."""

    def lock(self, name: Union[Name, Sequence[Name]], ttl: Optional[float] = None, *, wait: Optional[float] = None,
             renew: Optional[float] = None, danger: Optional[float] = None, max_hold: Optional[float] = None,
             slots: Optional[int] = None, shared: bool = False, fence: bool = False, reentrant: bool = False,
             token: Optional[bytes] = None, on_lost: Optional[Callback] = None,
             on_danger: Optional[Callback] = None) -> Lock:
        """Makes a lock. Nothing is sent. A list of names is one lock of all of them or none.

        All times are seconds. `ttl`: how long a grant lasts, by default that of the configuration, 30. `wait`: how long
        `with` waits; None: without a limit. `renew`: extend in the background this long after each grant. `on_lost` is
        called at once when the lock is lost, `on_danger` `danger` seconds before the validity ends; a thread of the
        client calls both. `slots`: so many holders at a time. `shared`: any number of them, or one that is not shared.
        `fence`: Lock.fence rises with each acquisition. `reentrant`: acquire() counts up and release() counts down.
        Raises OptionError."""
        lock = self._lock(Lock, name, ttl, wait, renew, danger, max_hold, slots, shared, fence, reentrant, token, on_lost,
                          on_danger)
        if lock._renews or on_lost or on_danger:
            self._native.keep(watch=bool(on_lost or on_danger))
        return lock

    def drain(self, timeout: float = 1) -> int:
        """Waits until no release is owed to any node. Returns how many are: their keys may stay until their TTL."""
        owed = INTERRUPTED
        while owed == INTERRUPTED:
            owed = int(lib.redlock_drain(self._open(), to_ms(timeout)))
        self._expect(owed)
        return owed

    def close(self, timeout: float = 1) -> None:
        """Ends the threads and all calls, waits for owed releases, and closes. Locks of the client are released."""
        if self._finalizer.detach():
            self._native.close(to_ms(timeout))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
