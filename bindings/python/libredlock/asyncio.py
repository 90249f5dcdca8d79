# SPDX-License-Identifier: MIT
"""Locks for asyncio: the same names as in libredlock, without a thread.

    async with libredlock.asyncio.Client(["redis://10.0.0.1"]) as client:
        async with client.lock("nightly", ttl=30, renew=10):
            await work()                 # cancelled at once if the lock is lost; then LockLost is raised
"""
import asyncio
from typing import Any, Optional, Tuple

from ._base import DONE, LOST, BaseClient, BaseLock, limit, to_ms
from ._errors import error_of, expect
from ._native import lib


class Lock(BaseLock):
    """A lock, made by Client.lock(). As asyncio.Lock it has acquire() and release(), and works with `async with`."""

    _client: "Client"
    _future: "Optional[asyncio.Future[int]]" = None  # of the operation that runs
    _leaving: "Optional[asyncio.Future[int]]" = None  # the same, once its task was cancelled
    _task: "Optional[asyncio.Task[Any]]" = None
    _lost = False

    async def acquire(self, blocking: bool = True, timeout: Optional[float] = -1) -> bool:
        """Acquires the lock. False: somebody else holds it. `timeout` is in seconds; -1 and None: without a limit.
        A task that is cancelled gives back what it had. Raises NoQuorum, LockCancelled, LockStateError."""
        ms = to_ms(limit(blocking, timeout))
        return self._is(await self._run(lib.REDLOCK_OP_ACQUIRE, ms), lib.REDLOCK_E_BUSY)

    async def release(self) -> None:
        """Releases the lock; whatever happens, it is not held any more. Raises LockLost if it had ended before, NoQuorum
        if too few nodes answered to know that: its keys may stay until their TTL."""
        self._expect(await self._run(lib.REDLOCK_OP_RELEASE))

    async def extend(self, ttl: float = 0) -> None:
        """A new TTL in seconds from now on; 0: the one of the lock. Never shortens. Raises LockLost, NoQuorum."""
        self._expect(await self._run(lib.REDLOCK_OP_EXTEND, to_ms(ttl)))

    async def owned(self) -> bool:
        """Asks the nodes whether a quorum of them has the key with this object's token. Raises NoQuorum."""
        return self._is(await self._run(lib.REDLOCK_OP_QUERY), lib.REDLOCK_E_GONE)

    async def upgrade(self) -> bool:
        """Makes a shared lock exclusive. False: there are other holders, and it is shared as before."""
        return self._is(await self._run(lib.REDLOCK_OP_UPGRADE), lib.REDLOCK_E_BUSY)

    async def downgrade(self) -> None:
        """Makes it shared again, without a moment in which it is not held."""
        self._expect(await self._run(lib.REDLOCK_OP_DOWNGRADE))

    async def __aenter__(self) -> "Lock":
        if not await self.acquire(timeout=self._wait):
            self._expect(lib.REDLOCK_E_BUSY)
        self._lost, self._task = False, asyncio.current_task()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        task, self._task = self._task, None
        lost, ours = not self.locked(), self._lost and raised[0] is asyncio.CancelledError
        if ours and hasattr(task, "uncancel"):  # from Python 3.11 on, as asyncio.timeout() does
            ours = task.uncancel() == 0  # type: ignore[union-attr]
        result = await self._run(lib.REDLOCK_OP_RELEASE)
        if ours:
            raise error_of(lib.REDLOCK_E_LOST) from raised[1]
        if raised[1] is None:
            self._expect(lib.REDLOCK_E_LOST if lost else result)

    async def _run(self, operation: int, ms: int = 0) -> int:
        if self._leaving is not None:
            await self._left(operation)
        loop = self._client._running()
        self._expect(lib.redlock_start(self._handle, operation, ms))
        future: "asyncio.Future[int]" = loop.create_future()
        self._future = future
        self._client._send()
        try:
            return await future
        except asyncio.CancelledError:
            self._leave(operation, future)
            raise

    async def _left(self, operation: int) -> None:
        """Waits for the end of what a cancelled task has left. A release that is cancelled here follows later."""
        leaving: Any = self._leaving
        try:
            await asyncio.wait([leaving])
        except asyncio.CancelledError:
            if operation == lib.REDLOCK_OP_RELEASE:
                leaving.add_done_callback(lambda _: self._give_back())
            raise
        self._leaving = None

    def _leave(self, operation: int, future: "asyncio.Future[int]") -> None:
        """The task was cancelled: ends the operation, or gives back the lock that it had been granted."""
        if not self._native.client:
            return
        if self._future is future:
            lib.redlock_cancel(self._handle)
            self._client._turn()
        elif operation == lib.REDLOCK_OP_ACQUIRE and future.result() == 0:
            self._give_back()
        if self._future is future:
            self._leaving = self._future = asyncio.get_running_loop().create_future()

    def _give_back(self) -> None:
        if self._native.client and lib.redlock_start_release(self._handle) == 0:
            self._leaving = self._future = asyncio.get_running_loop().create_future()
            self._client._send()

    def _hear(self, kind: int, operation: int, result: int) -> None:
        if kind == DONE:
            future, self._future = self._future, None
            self._client._flying -= 1
            if future is not None and not future.done():
                future.set_result(result)
            elif operation == lib.REDLOCK_OP_ACQUIRE and result == 0:  # granted to a task that was cancelled
                self._give_back()
            return
        super()._hear(kind, operation, result)
        if kind == LOST and self._task is not None:
            self._lost = True
            self._task.cancel()


class Client(BaseClient[Lock]):
    """Connections to the nodes, for one event loop: the loop that runs when the first operation begins. Use it with
    `async with`, or await close()."""

    _kind = Lock
    _drain_ms = 0  # of a client that nobody closed: a loop must not wait
    _loop: Optional[asyncio.AbstractEventLoop] = None
    _fds: Tuple[int, ...] = ()
    _planned = False
    _flying = 0  # operations that run
    _turned: "Optional[asyncio.Future[None]]" = None

    def _running(self) -> asyncio.AbstractEventLoop:
        expect(lib.redlock_fd(self._open()))  # FORKED in a child, where no loop runs
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
            self._fds = lib.redlock_fd(self._native.client), lib.redlock_notice_fd(self._native.client)
            for fd in self._fds:  # the second: for events of calls that are made between two turns
                loop.add_reader(fd, self._turn)
        elif self._loop is not loop:
            raise RuntimeError("the client belongs to another event loop: make a client in each")
        return loop

    def _send(self) -> None:
        """Sends an operation that has begun: at once, or with others that begin in the same turn of the loop."""
        self._flying += 1
        if self._flying == 1:
            self._turn()
        else:
            self._plan()

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._planned = False
        if not self._native.client:
            return
        self._native.turn()
        if self._turned is not None and not self._turned.done():
            self._turned.set_result(None)

    async def drain(self, timeout: float = 1) -> int:
        """Waits until no release is owed to any node. Returns how many are: their keys may stay until their TTL."""
        loop = asyncio.get_running_loop()
        self._plan()
        end = loop.time() + timeout
        while (owed := int(lib.redlock_drain(self._open(), 0))) > 0 and loop.time() < end:
            self._turned = loop.create_future()
            await asyncio.wait([self._turned], timeout=end - loop.time())
        return expect(owed)

    async def close(self, timeout: float = 1) -> None:
        """Waits for owed releases, and closes. Operations that run end with LockCancelled."""
        if not self._native.client:
            return
        for lock in list(self._native.locks.values()):
            lib.redlock_cancel(lock._handle)
        self._turn()
        with self._native.idle:
            lib.redlock_release_all(self._native.client)
        await self.drain(timeout)
        for fd in self._fds:
            asyncio.get_running_loop().remove_reader(fd)
        self._finalizer()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
