# SPDX-License-Identifier: MIT
"""Shared by blocking and asynchronous clients and locks: options, handles, events, and an end at exit."""
import atexit
import math
import os
import select
import sys
import threading
import time
import weakref
from typing import Any, Callable, Generic, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from ._errors import Vote, error_of, expect, text
from ._native import ffi, lib

DONE, DANGER, LOST = lib.REDLOCK_EVENT_DONE, lib.REDLOCK_EVENT_DANGER, lib.REDLOCK_EVENT_LOST
Name = Union[str, bytes]
Option = Union[str, float, bool, None]
Callback = Callable[[], object]
L = TypeVar("L", bound="BaseLock")


def to_ms(seconds: float) -> int:
    """Seconds as the library takes them, rounded up; infinite: without a limit."""
    return 2**64 - 1 if math.isinf(seconds) else max(0, math.ceil(seconds * 1000))


def c_text(text: str) -> bytes:
    """A text for C, which would end at a NUL."""
    if "\0" in text:
        raise error_of(lib.REDLOCK_E_INVAL, f"{text!r} contains a NUL")
    return text.encode()


def words(options: Mapping[str, Option]) -> bytes:
    """Options in the words of redlock_config(3): `max_hold=1.5` is "max-hold", "1500ms", each with a NUL."""
    found = b""
    for option, value in options.items():
        name = option.replace("_", "-")
        if isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, (int, float)) and lib.redlock_option_is_duration(c_text(name)):
            value = f"{to_ms(value)}ms"
        if value is not None:
            found += c_text(name) + b"\0" + c_text(str(value)) + b"\0"
    return found


class Native:
    """The client of the C library, which ends with its owner, or with the interpreter. It never refers to its owner."""

    def __init__(self, urls: Optional[Sequence[str]], cluster: Optional[str], file: Optional[str],
                 more: Mapping[str, Option]) -> None:
        found, why = ffi.new("redlock_client **"), ffi.new("char[512]")
        named: Mapping[str, Option] = {} if urls is None else {"url": ",".join(urls)}
        expect(lib.redlock_open_words(words({**named, "interruptible": True, **more}), c_text(cluster or ""),
                                      c_text(file or ""), why, 512, found), why)
        self.client = found[0]
        self.locks: "weakref.WeakValueDictionary[int, BaseLock]" = weakref.WeakValueDictionary()
        self.last = 0
        self.events = ffi.new("struct redlock_event[64]")
        self.events[0].size = ffi.sizeof("struct redlock_event")
        self.idle = threading.Condition()  # is held during calls that do not block; close() waits for the others
        self.calls = 0  # blocking calls that run
        self.watcher: Optional[threading.Thread] = None
        self.stop: Tuple[int, int] = (-1, -1)
        natives.add(self)

    def keep(self, watch: bool) -> None:
        """Starts the thread that renews locks, and the one that calls back."""
        result = lib.redlock_keeper_start(self.client)
        expect(0 if result == lib.REDLOCK_E_STATE else result)  # STATE: it runs
        if watch and self.watcher is None:
            self.stop = os.pipe()
            self.watcher = threading.Thread(target=self._watch, name="libredlock", daemon=True)
            self.watcher.start()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(lib.redlock_notice_fd(self.client), select.POLLIN)
        poll.register(self.stop[0], select.POLLIN)
        while self.client and self.stop[0] not in (fd for fd, _ in poll.poll()):
            while lib.redlock_next(self.client, self.events) == 1:
                self.hear(1)

    def turn(self) -> None:
        """Receives, sends, and passes events on, until there are none."""
        count = 64
        while count == 64 and self.client:
            count = expect(lib.redlock_turn(self.client, 64, self.events))
            self.hear(count)

    def hear(self, count: int) -> None:
        """Passes events on to their locks: all are taken before, since a callback may lead to another turn."""
        taken = [(int(ffi.cast("uintptr_t", e.user)), e.kind, e.operation, e.result) for e in self.events[0:count]]
        for number, *event in taken:
            lock = self.locks.get(number)
            if lock is not None:
                lock._hear(*event)

    def close(self, drain_ms: int = 0) -> None:
        """Ends threads and calls, and closes."""
        with self.idle:
            client, self.client = self.client, ffi.NULL
            end = time.monotonic() + 10
            while self.calls and time.monotonic() < end:  # a call that is counted may begin after a cancel
                for lock in list(self.locks.values()):
                    lib.redlock_cancel(lock._handle)
                self.idle.wait(timeout=0.02)
            if self.calls:
                return  # a call that does not end may still use the memory
        if self.watcher is not None and client:
            os.write(self.stop[1], b"x")
            if self.watcher is not threading.current_thread():
                self.watcher.join()
            os.close(self.stop[0])
            os.close(self.stop[1])
        with self.idle:
            lib.redlock_release_all(client)
        lib.redlock_drain(client, drain_ms)
        lib.redlock_close(client)

    def be_child(self) -> "Native":
        """A child process has none of the threads, which may have held the lock."""
        self.idle, self.calls, self.watcher = threading.Condition(), 0, None
        return self


natives: "weakref.WeakSet[Native]" = weakref.WeakSet()
os.register_at_fork(after_in_child=lambda: [native.be_child() for native in natives])

#: Whether the interpreter ends. The hook of finalizers, which close clients, is there before ours, so that ours runs first.
ends = threading.Event()
weakref.finalize(Native, int).atexit = False
atexit.register(ends.set)


def rest_at_the_end() -> None:
    """The threads that are left when the interpreter ends are daemons. One whose call the end has cancelled must not raise, as
    its traceback on stderr can make Python abort: it sleeps until it is gone."""
    if ends.is_set() and threading.current_thread() is not threading.main_thread():
        threading.Event().wait()


def limit(blocking: bool, timeout: Optional[float]) -> float:
    """The seconds of acquire(blocking, timeout)."""
    return 0 if not blocking else math.inf if timeout is None or timeout == -1 else timeout


class BaseLock:
    """A handle of the C library: one claimant of a name."""

    _handle: Any
    _client: Any

    def __init__(self, client: "BaseClient[Any]", name: Union[Name, Sequence[Name]], wait: Optional[float],
                 on_lost: Optional[Callback], on_danger: Optional[Callback], token: Optional[bytes],
                 more: Mapping[str, Option]) -> None:
        self._client, self._native = client, client._native
        self._wait, self._on_lost, self._on_danger = wait, on_lost, on_danger
        self.name: Union[Name, Tuple[Name, ...]] = name if isinstance(name, (str, bytes)) else tuple(name)
        listed = self.name if isinstance(self.name, tuple) else (self.name,)
        kept = [ffi.from_buffer(n.encode() if isinstance(n, str) else n) for n in listed]
        names = ffi.new("struct redlock_name[]", [(n, len(n)) for n in kept])
        value = ffi.NULL if token is None else ffi.from_buffer(token)
        found, why = ffi.new("redlock_lock **"), ffi.new("char[512]")
        with self._native.idle:
            self._native.last = number = self._native.last + 1
            result = lib.redlock_lock_new_words(client._open(), names, len(names), words(more), value, len(token or b""),
                                                ffi.cast("void *", number), found)
            lib.redlock_client_last_error(self._native.client, why, 512)
            expect(result, why)
            self._handle = ffi.gc(found[0], lib.redlock_lock_free)
            self._native.locks[number] = self

    def _hear(self, kind: int, operation: int, result: int) -> None:
        call = self._on_lost if kind == LOST else self._on_danger if kind == DANGER else None
        try:
            if call is not None:
                call()
        except Exception:  # as in threads: told, and the client goes on
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))

    def _ask(self, call: Any, *arguments: Any) -> int:
        """A call that does not block; any thread."""
        with self._native.idle:
            return int(call(self._handle, *arguments))

    @property
    def error(self) -> str:
        """Why the last operation of this lock failed, node by node; also where acquire() returned False. "": it did not fail."""
        chars = ffi.new("char[1024]")
        why = text(chars) if self._ask(lib.redlock_last_error, chars, 1024) > 0 else ""
        return why if why != "success" else ""

    def _expect(self, result: int) -> None:
        if result < 0:
            raise error_of(result, self.error, self.votes)

    def _is(self, result: int, no: int) -> bool:
        if result != no:
            self._expect(result)
        return result == 0

    def _number(self, get: Any) -> int:
        found = ffi.new("unsigned *")
        self._client._open()
        self._expect(self._ask(get, found))
        return int(found[0])

    @property
    def remaining(self) -> float:
        """Seconds for which the lock may be relied on, by the clock; 0.0: not held, or lost. Any thread."""
        return self._ask(lib.redlock_remaining_ms) / 1000

    def check(self) -> None:
        """Raises LockLost if the lock is not valid any more: before a step that must not be late."""
        if not self.locked():
            raise error_of(lib.REDLOCK_E_LOST)

    def locked(self) -> bool:
        """Whether this object holds the lock, by the clock. (Who else holds it: `redlock status NAME`.)"""
        return self._ask(lib.redlock_remaining_ms) > 0

    def cancel(self) -> None:
        """Ends a call of this object that waits, with LockCancelled. Any thread."""
        self._client._open()
        expect(self._ask(lib.redlock_cancel))

    @property
    def token(self) -> bytes:
        """The value of the key: of the current or last acquisition; b"": none."""
        chars, length = ffi.new("char[513]"), ffi.new("size_t *")
        self._client._open()
        self._expect(self._ask(lib.redlock_lock_token, chars, 513, length))
        return bytes(ffi.buffer(chars, length[0]))

    @property
    def fence(self) -> int:
        """The fencing token of the current or last acquisition; 0: none."""
        return self._ask(lib.redlock_lock_fence)

    @property
    def slot(self) -> int:
        """The slot that is held, from 0. Raises LockStateError if none is."""
        return self._number(lib.redlock_lock_slot)

    @property
    def obstacle(self) -> int:
        """Of several names, the index of the one that was busy. Raises LockStateError if no node named one."""
        return self._number(lib.redlock_lock_obstacle)

    @property
    def votes(self) -> List[Vote]:
        """The answer of each node in the last operation."""
        found: List[Vote] = []
        vote = ffi.new("struct redlock_vote *", {"size": ffi.sizeof("struct redlock_vote")})
        while self._ask(lib.redlock_lock_vote, len(found), vote) == 0:
            found.append(Vote(len(found), text(lib.redlock_vote_name(vote.code)), text(lib.redlock_vote_text(vote.code)),
                              lib.redlock_vote_kind(vote.code), vote.rtt_ns / 1e9))
        return found


class BaseClient(Generic[L]):
    """Options and locks of a client, blocking or not."""

    _kind: Type[L]
    _drain_ms = 1000  # how long the end of the interpreter waits for releases

    def __init__(self, urls: Optional[Sequence[str]] = None, *, cluster: Optional[str] = None, file: Optional[str] = None,
                 **options: Option) -> None:
        """Opens without waiting for connections.

        `urls` names the nodes; without it the configuration of the redlock command does, `cluster` a section of it and
        `file` the only file to read. Further options are those of redlock_config(3), with `_` for `-`, times as seconds or
        text: node_timeout=0.5, user="app", password="...", prefix="app:", owner="web-1", ttl="30s". Raises OptionError,
        which names the node, the option or the line."""
        self._native = Native([urls] if isinstance(urls, str) else urls, cluster, file, options)
        self._finalizer = weakref.finalize(self, self._native.close, self._drain_ms)

    def lock(self, name: Union[Name, Sequence[Name]], ttl: Optional[float] = None, *, wait: Optional[float] = None,
             renew: Optional[float] = None, danger: Optional[float] = None, max_hold: Optional[float] = None,
             slots: Optional[int] = None, shared: bool = False, fence: bool = False, reentrant: bool = False,
             token: Optional[bytes] = None, on_lost: Optional[Callback] = None,
             on_danger: Optional[Callback] = None) -> L:
        """Makes a lock. Nothing is sent. A list of names is one lock of all of them or none; of one name, the lock of that name.

        All times are seconds. `ttl`: how long a grant lasts, by default that of the configuration, 30. `wait`: how long
        `with` waits; None: without a limit. `renew`: extend in the background this long after each grant. `on_lost` is
        called at once when the lock is lost, `on_danger` `danger` seconds before the validity ends: by a thread of the
        client, or by the event loop of asyncio. `slots`: so many holders at a time. `shared`: any number of them, or one
        that is not shared. `fence`: Lock.fence rises with each acquisition. `reentrant`: acquire() counts up and release()
        counts down. Raises OptionError."""
        lock = self._kind(self, name, wait, on_lost, on_danger, token,
                          {"ttl": ttl, "renew": renew, "danger": danger, "max_hold": max_hold, "slots": slots,
                           "mode": "shared" if shared else None, "fence": fence or None, "reentrant": reentrant or None})
        self._attend(lock)
        return lock

    def _attend(self, lock: L) -> None:
        """Prepares for the events of a new lock."""

    def _open(self) -> Any:
        if not self._native.client:
            raise error_of(lib.REDLOCK_E_STATE, "the client was closed")
        return self._native.client
