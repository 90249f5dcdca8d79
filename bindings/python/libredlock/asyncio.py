# SPDX-License-Identifier: MIT
"""Locks for asyncio: the same names as in libredlock, without a thread.

    async with libredlock.asyncio.Client(["redis://10.0.0.1"]) as client:
        async with client.lock("nightly", ttl=30, renew=10):
            await work()                 # cancelled at once if the lock is lost; then LockLost is raised
"""
import asyncio
from types import TracebackType
from typing import Any, Optional, Sequence, Tuple, Type, Union

from ._base import BUSY, DONE, LOST, BaseClient, BaseLock, Callback, Name, to_ms
from ._errors import LockBusy, error_of
from ._native import ffi, lib

_ACQUIRE = 1


class Lock(BaseLock):
    """A lock, made by Client.lock(). As asyncio.Lock it has acquire() and release(), and works with `async with`."""

    _future: "Optional[asyncio.Future[int]]" = None
    _leaving: "Optional[asyncio.Future[int]]" = None  # the end of what a cancelled task has left
    _task: "Optional[asyncio.Task[Any]]" = None
    _lost = False

    async def acquire(self, blocking: bool = True, timeout: Optional[float] = -1) -> bool:
        """Acquires the lock. False: somebody else holds it. `timeout` is in seconds; -1 and None: without a limit.
        A task that is cancelled gives back what it had. Raises NoQuorum, LockCancelled, LockStateError."""
        seconds = 0 if not blocking else None if timeout in (-1, None) else timeout
        self._client._open()
        self._expect(lib.redlock_lock_set_wait(self._handle, to_ms(seconds)))
        return self._granted(await self._run(lib.redlock_start_acquire))

    async def release(self) -> None:
        """Releases the lock; whatever happens, it is not held any more. Raises LockLost if it had ended before, NoQuorum
        if too few nodes answered to know that: its keys may stay until their TTL."""
        self._expect(await self._run(lib.redlock_start_release))

    async def extend(self, ttl: float = 0) -> None:
        """A new TTL in seconds from now on; 0: the one of the lock. Never shortens. Raises LockLost, NoQuorum."""
        self._expect(await self._run(lib.redlock_start_extend, to_ms(ttl)))

    async def owned(self) -> bool:
        """Asks the nodes whether a quorum of them has the key with this object's token. Raises NoQuorum."""
        result = await self._run(lib.redlock_start_query)
        if result != -4:  # GONE
            self._expect(result)
        return result == 0

    async def upgrade(self) -> bool:
        """Makes a shared lock exclusive. False: there are other holders, and it is shared as before."""
        return self._granted(await self._run(lib.redlock_start_upgrade))

    async def downgrade(self) -> None:
        """Makes it shared again, without a moment in which it is not held."""
        self._expect(await self._run(lib.redlock_start_downgrade))

    async def __aenter__(self) -> "Lock":
        if not await self.acquire(timeout=self._wait):
            raise LockBusy(str(self._error(BUSY)), BUSY, self.votes)
        self._lost, self._task = False, asyncio.current_task()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        task, self._task = self._task, None
        lost, ours = not self.locked(), self._lost and kind is asyncio.CancelledError
        if ours and hasattr(task, "uncancel"):  # from Python 3.11 on, as asyncio.timeout() does
            ours = task.uncancel() == 0  # type: ignore[union-attr]
        result = await self._run(lib.redlock_start_release)
        if ours:
            raise error_of(-3) from error
        if error is None:
            self._expect(-3 if lost else result)

    async def _run(self, start: Any, *arguments: int) -> int:
        if self._leaving is not None:
            await asyncio.wait([self._leaving])
            self._leaving = None
        self._client._open()
        self._expect(start(self._handle, *arguments))
        client: Any = self._client
        self._future = future = client._soon().create_future()
        try:
            return int(await future)
        except asyncio.CancelledError:
            self._leave(start, future)
            raise

    def _leave(self, start: Any, future: "asyncio.Future[int]") -> None:
        """The task was cancelled: ends the operation, or gives back the lock that it had been granted."""
        client: Any = self._client
        if self._native.client == ffi.NULL:
            return
        if self._future is future:
            lib.redlock_cancel(self._handle)
            client._turn()
        elif start is lib.redlock_start_acquire and future.result() == 0:
            self._give_back()
        if self._future is future:
            self._leaving = self._future = client._soon().create_future()

    def _give_back(self) -> None:
        client: Any = self._client
        if lib.redlock_start_release(self._handle) == 0:
            self._leaving = self._future = client._soon().create_future()

    def _hear(self, kind: int, operation: int, result: int) -> None:
        if kind == DONE:
            future, self._future = self._future, None
            if future is not None and not future.done():
                future.set_result(result)
            elif operation == _ACQUIRE and result == 0:  # granted to a task that was cancelled
                self._give_back()
            return
        super()._hear(kind, operation, result)
        if kind == LOST and self._task is not None:
            self._lost = True
            self._task.cancel()


class Client(BaseClient):
    """Connections to the nodes, for one event loop: the loop that runs when the first operation begins. Use it with
    `async with`, or await close()."""

    _drain_ms = 0  # of a client that nobody closed: a loop must not wait
    _loop: Optional[asyncio.AbstractEventLoop] = None
    _fds: Tuple[int, ...] = ()
    _planned = False
    _turned: "Optional[asyncio.Future[None]]" = None

    def lock(self, name: Union[Name, Sequence[Name]], ttl: Optional[float] = None, *, wait: Optional[float] = None,
             renew: Optional[float] = None, danger: Optional[float] = None, max_hold: Optional[float] = None,
             slots: Optional[int] = None, shared: bool = False, fence: bool = False, reentrant: bool = False,
             token: Optional[bytes] = None, on_lost: Optional[Callback] = None,
             on_danger: Optional[Callback] = None) -> Lock:
        """As libredlock.Client.lock(). The event loop calls `on_lost` and `on_danger`; the task in an `async with` block
        of this lock is cancelled when the lock is lost, and the block raises LockLost."""
        return self._lock(Lock, name, ttl, wait, renew, danger, max_hold, slots, shared, fence, reentrant, token, on_lost,
                          on_danger)

    def _soon(self) -> asyncio.AbstractEventLoop:
        """Sends what was started, in the next turn of the loop."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._fds = lib.redlock_fd(self._open()), lib.redlock_notice_fd(self._open())
            for fd in self._fds:  # the second: for events of calls that are made between two turns
                self._loop.add_reader(fd, self._turn)
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self._turn)
        return self._loop

    def _turn(self) -> None:
        self._planned = False
        if self._native.client == ffi.NULL:
            return
        self._expect(lib.redlock_process(self._native.client))
        self._native.pull()
        if self._turned is not None and not self._turned.done():
            self._turned.set_result(None)
        if self._native.client != ffi.NULL and lib.redlock_timeout_ns(self._native.client) == 0:
            self._soon()

    async def drain(self, timeout: float = 1) -> int:
        """Waits until no release is owed to any node. Returns how many are: their keys may stay until their TTL."""
        loop = self._soon()
        end = loop.time() + timeout
        while (owed := int(lib.redlock_drain(self._open(), 0))) > 0 and loop.time() < end:
            self._turned = loop.create_future()
            await asyncio.wait([self._turned], timeout=end - loop.time())
        self._expect(owed)
        return owed

    async def close(self, timeout: float = 1) -> None:
        """Waits for owed releases, and closes. Operations that run end with LockCancelled."""
        if self._native.client == ffi.NULL:
            return
        for lock in list(self._native.locks.values()):
            lib.redlock_cancel(lock._handle)
        self._turn()
        self._native.free_locks()
        await self.drain(timeout)
        for fd in self._fds:
            asyncio.get_running_loop().remove_reader(fd)
        self._finalizer()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
