# SPDX-License-Identifier: MIT
"""Blocking locks."""
import time
from typing import Any, Callable, Optional

from ._base import BaseClient, BaseLock, limit, rest_at_the_end, to_ms
from ._errors import expect
from ._native import ffi, lib


class Lock(BaseLock):
    """A lock, made by Client.lock(). As threading.Lock it has acquire(), release() and locked(), and works with `with`.

    One object is one claimant, and belongs to one thread at a time: give each thread its own. cancel(), remaining and
    locked() may be used by any thread."""

    _client: "Client"

    def acquire(self, blocking: bool = True, timeout: Optional[float] = -1) -> bool:
        """Acquires the lock. False: somebody else holds it. `timeout` is in seconds; -1 and None: without a limit.

        Releases the GIL while it waits; Ctrl-C ends it. Raises NoQuorum if too few nodes answer to know, LockCancelled,
        and LockStateError if this object holds the lock already."""
        if not blocking and timeout not in (-1, None):
            raise ValueError("can't specify a timeout for a non-blocking call")
        end = time.monotonic() + limit(blocking, timeout)

        def attempt() -> Any:
            ms = to_ms(end - time.monotonic())
            return lib.redlock_lock_set_wait(self._handle, ms) or lib.redlock_acquire(self._handle)

        return self._is(self._client._blocking(attempt), lib.REDLOCK_E_BUSY)

    def release(self) -> None:
        """Releases the lock; whatever happens, it is not held any more. Raises LockLost if it had ended before, NoQuorum
        if too few nodes answered to know that: its keys may stay until their TTL."""
        self._expect(self._call(lib.redlock_release))

    def extend(self, ttl: float = 0) -> None:
        """A new TTL in seconds from now on; 0: the one of the lock. Never shortens. Raises LockLost, NoQuorum."""
        self._expect(self._call(lib.redlock_extend, to_ms(ttl)))

    def owned(self) -> bool:
        """Asks the nodes whether a quorum of them has the key with this object's token. Raises NoQuorum."""
        return self._is(self._call(lib.redlock_query), lib.REDLOCK_E_GONE)

    def upgrade(self) -> bool:
        """Makes a shared lock exclusive. False: there are other holders, and it is shared as before."""
        return self._is(self._call(lib.redlock_upgrade), lib.REDLOCK_E_BUSY)

    def downgrade(self) -> None:
        """Makes it shared again, without a moment in which it is not held."""
        self._expect(self._call(lib.redlock_downgrade))

    def __enter__(self) -> "Lock":
        if not self.acquire(timeout=self._wait):
            self._expect(lib.REDLOCK_E_BUSY)
        return self

    def __exit__(self, *raised: Any) -> None:
        lost = not self.locked()
        result = self._call(lib.redlock_release)
        if raised[1] is None:
            self._expect(lib.REDLOCK_E_LOST if lost else result)

    def _call(self, call: Any, *arguments: int) -> int:
        return self._client._blocking(lambda: call(self._handle, *arguments))


class Client(BaseClient[Lock]):
    """Connections to the nodes. Use it with `with`, or close() it; the end of the interpreter closes it, too."""

    _kind = Lock

    def _attend(self, lock: Lock) -> None:
        calls_back = bool(lock._on_lost or lock._on_danger)
        terms = ffi.new("struct redlock_terms *", {"size": ffi.sizeof("struct redlock_terms")})
        expect(lib.redlock_lock_terms(lock._handle, terms))
        if terms.renew_ms or calls_back:
            with self._native.idle:
                self._open()
                self._native.keep(calls_back)

    def drain(self, timeout: float = 1) -> int:
        """Waits until no release is owed to any node. Returns how many are: their keys may stay until their TTL."""
        return expect(self._blocking(lambda: lib.redlock_drain(self._native.client, to_ms(timeout))))

    def _blocking(self, call: Callable[[], Any]) -> int:
        result = lib.REDLOCK_E_INTERRUPTED
        try:
            while result == lib.REDLOCK_E_INTERRUPTED:  # Python runs its signal handlers between two calls
                result = self._once(call)
        finally:
            rest_at_the_end()
        return int(result)

    def _once(self, call: Callable[[], Any]) -> Any:
        native = self._native
        with native.idle:
            self._open()
            native.calls += 1
        try:
            return call()
        finally:
            with native.idle:
                native.calls -= 1
                native.idle.notify_all()

    def close(self, timeout: float = 1) -> None:
        """Ends the threads and all calls, waits for owed releases, and closes. Locks of the client are released."""
        if self._finalizer.detach():
            self._native.close(to_ms(timeout))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
