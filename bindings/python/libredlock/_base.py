# SPDX-License-Identifier: MIT
"""Shared by blocking and asynchronous clients and locks: options, handles, events, and an end at exit."""
import math
import os
import select
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from ._errors import RedlockError, Vote, error_of, text
from ._native import ffi, lib

BUSY, CANCELLED, INTERRUPTED = -1, -5, -15
DONE, DANGER, LOST = 1, 2, 3
FOREVER = 2**64 - 1

Name = Union[str, bytes]
Callback = Callable[[], object]
L = TypeVar("L", bound="BaseLock")


def check_library() -> None:
    """Raises ImportError if the loaded library is older than the header of this module, or breaks with it."""
    loaded, built = text(lib.redlock_version()), text(lib.built_version())
    structs = ("redlock_options", "redlock_lock_options", "redlock_event", "redlock_vote")
    small = any(lib.redlock_constant(b"sizeof " + s.encode()) < ffi.sizeof("struct " + s) for s in structs)
    if small or loaded.rsplit(".", 1)[0] != built.rsplit(".", 1)[0]:
        which = "an older build of libredlock" if small else "libredlock"
        raise ImportError(f"the module was compiled for redlock {built}, but {which} {loaded} is loaded: "
                          "install that version, or build the module again")


def to_ms(seconds: Optional[float]) -> int:
    """Seconds as the library takes them, rounded up; None: without a limit."""
    return FOREVER if seconds is None or math.isinf(seconds) else max(0, math.ceil(seconds * 1000))


class Native:
    """The client of the C library, which ends with its owner, or with the interpreter. It never refers to its owner."""

    def __init__(self, options: Any, why: Any) -> None:
        found = ffi.new("redlock_client **")
        result = lib.redlock_open(options, found)
        if result < 0:
            raise error_of(result, text(why))
        self.client = found[0]
        self.pid = os.getpid()
        self.locks: "weakref.WeakValueDictionary[int, BaseLock]" = weakref.WeakValueDictionary()
        self.last = 0
        self.event = ffi.new("struct redlock_event *", {"size": ffi.sizeof("struct redlock_event")})
        self.idle = threading.Condition()
        self.calls = 0  # blocking calls that run
        self.kept = False
        self.watcher: Optional[threading.Thread] = None
        self.stop: Tuple[int, int] = (-1, -1)

    def keep(self, watch: bool) -> None:
        """Starts the thread that renews locks, and the one that calls back."""
        if not self.kept:
            result = lib.redlock_keeper_start(self.client)
            if result < 0:
                raise error_of(result)
            self.kept = True
        if watch and self.watcher is None:
            self.stop = os.pipe()
            self.watcher = threading.Thread(target=self._watch, name="libredlock", daemon=True)
            self.watcher.start()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(lib.redlock_notice_fd(self.client), select.POLLIN)
        poll.register(self.stop[0], select.POLLIN)
        while self.stop[0] not in (fd for fd, _ in poll.poll()):
            self.pull()

    def pull(self) -> None:
        """Passes all events on to their locks."""
        while self.client != ffi.NULL and lib.redlock_next(self.client, self.event) == 1:
            event = self.event
            lock = self.locks.get(int(ffi.cast("uintptr_t", event.user)))
            if lock is not None:
                lock._hear(event.kind, event.operation, event.result)

    def free_locks(self) -> None:
        """Releases what is held, which drain waits for. No call may run."""
        for lock in list(self.locks.values()):
            handle, lock._handle = lock._handle, ffi.NULL
            if handle != ffi.NULL:
                ffi.release(handle)

    def close(self, drain_ms: int = 0) -> None:
        """Ends threads and calls, and closes. Once, in the process that opened."""
        client, self.client = self.client, ffi.NULL
        if client == ffi.NULL:
            return
        if os.getpid() == self.pid:
            for lock in list(self.locks.values()):
                lib.redlock_cancel(lock._handle)
            with self.idle:
                if not self.idle.wait_for(lambda: self.calls == 0, timeout=10):
                    return  # a call that does not end may still use the memory
            if self.watcher is not None:
                os.write(self.stop[1], b"x")
                if self.watcher is not threading.current_thread():
                    self.watcher.join()
                os.close(self.stop[0])
                os.close(self.stop[1])
            self.free_locks()
            lib.redlock_drain(client, drain_ms)
        lib.redlock_close(client)


def open_native(urls: Optional[Sequence[str]], cluster: Optional[str], file: Optional[str], node_timeout: Optional[float],
                more: Mapping[str, str]) -> Native:
    """Opens a client by URLs, or by the configuration of the redlock command."""
    options, why = ffi.new("struct redlock_options *"), ffi.new("char[512]")
    lib.redlock_options_init_sized(options, ffi.sizeof("struct redlock_options"))
    options.error_text, options.error_text_size = why, 512
    texts = [ffi.new("char[]", url.encode()) for url in urls or ()]
    array = ffi.new("char *[]", texts)
    try:
        if urls is None:
            names = [ffi.NULL if n is None else ffi.new("char[]", n.encode()) for n in (cluster, file)]
            result = lib.redlock_options_load(options, *names)
        else:
            options.urls, options.url_count, result = array, len(texts), 0
        for name, value in more.items():
            if result == 0:
                result = lib.redlock_options_set(options, name.encode(), value.encode())
        if result < 0:
            raise error_of(result, text(why))
        options.interruptible = 1
        if node_timeout is not None:
            options.node_timeout_ms = to_ms(node_timeout)
        return Native(options, why)
    finally:
        lib.redlock_options_clear(options)


class BaseLock:
    """A handle of the C library: one claimant of a name."""

    _handle: Any

    def __init__(self, client: "BaseClient", names: Union[Name, Sequence[Name]], wait: Optional[float],
                 on_lost: Optional[Callback], on_danger: Optional[Callback], token: Optional[bytes], shared: bool,
                 seconds: Dict[str, Optional[float]], numbers: Dict[str, Optional[int]]) -> None:
        self._client, self._native = client, client._native
        self._wait, self._on_lost, self._on_danger = wait, on_lost, on_danger
        self.name: Union[Name, Tuple[Name, ...]] = names if isinstance(names, (str, bytes)) else tuple(names)
        options = ffi.new("struct redlock_lock_options *", {"size": ffi.sizeof("struct redlock_lock_options")})
        client._expect(lib.redlock_client_lock_options(client._open(), options))
        for field, value in seconds.items():
            if value is not None:
                setattr(options, field + "_ms", to_ms(value))
        for field, number in numbers.items():
            if number is not None:
                setattr(options, field, number)
        if token is not None:
            kept = ffi.new("char[]", token)
            options.token, options.token_len = kept, len(token)
        options.mode = 1 if shared else options.mode
        self._renews = bool(options.renew_ms)
        self._native.last = number = self._native.last + 1
        options.user = ffi.cast("void *", number)
        self._handle = ffi.gc(self._make(options), lib.redlock_lock_free)
        self._native.locks[number] = self

    def _make(self, options: Any) -> Any:
        found = ffi.new("redlock_lock **")
        several = isinstance(self.name, tuple)
        listed = self.name if isinstance(self.name, tuple) else (self.name,)
        names = [n.encode() if isinstance(n, str) else n for n in listed]
        bytes_of = [ffi.from_buffer(n) for n in names]
        if several:
            all_names = ffi.new("struct redlock_name[]", [(b, len(b)) for b in bytes_of])
            result = lib.redlock_lock_new_many_bytes(self._native.client, all_names, len(names), options, found)
        else:
            result = lib.redlock_lock_new_bytes(self._native.client, bytes_of[0], len(names[0]), options, found)
        self._client._expect(result)
        return found[0]

    def _hear(self, kind: int, operation: int, result: int) -> None:
        call = self._on_lost if kind == LOST else self._on_danger if kind == DANGER else None
        try:
            if call is not None:
                call()
        except Exception:  # as in threads: told, and the client goes on
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))

    @property
    def error(self) -> str:
        """Why the last operation of this lock failed, node by node; also where acquire() returned False. "": it did not fail."""
        chars = ffi.new("char[1024]")
        why = text(chars) if lib.redlock_last_error(self._handle, chars, 1024) > 0 else ""
        return why if why != "success" else ""

    def _error(self, result: int) -> RedlockError:
        return error_of(result, self.error, self.votes)

    def _expect(self, result: int) -> None:
        if result < 0:
            raise self._error(result)

    def _granted(self, result: int) -> bool:
        if result != BUSY:
            self._expect(result)
        return result == 0

    def _number(self, get: Any) -> int:
        found = ffi.new("unsigned *")
        self._expect(get(self._handle, found))
        return int(found[0])

    @property
    def remaining(self) -> float:
        """Seconds for which the lock may be relied on, by the clock; 0.0: not held, or lost. Any thread."""
        return int(lib.redlock_remaining_ms(self._handle)) / 1000

    def check(self) -> None:
        """Raises LockLost if the lock is not valid any more: before a step that must not be late."""
        if not lib.redlock_remaining_ms(self._handle):
            raise error_of(-3)

    def locked(self) -> bool:
        """Whether this object holds the lock, by the clock. (Who else holds it: `redlock status NAME`.)"""
        return bool(lib.redlock_remaining_ms(self._handle))

    def cancel(self) -> None:
        """Ends a call of this object that waits, with LockCancelled. Any thread."""
        self._client._open()
        self._client._expect(lib.redlock_cancel(self._handle))

    @property
    def token(self) -> bytes:
        """The value of the key: of the current or last acquisition; b"": none."""
        chars, length = ffi.new("char[513]"), ffi.new("size_t *")
        self._expect(lib.redlock_lock_token(self._handle, chars, 513, length))
        return bytes(ffi.buffer(chars, length[0]))

    @property
    def fence(self) -> int:
        """The fencing token of the current or last acquisition; 0: none."""
        return int(lib.redlock_lock_fence(self._handle))

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
        vote, found = ffi.new("struct redlock_vote *", {"size": ffi.sizeof("struct redlock_vote")}), []
        for node in range(lib.redlock_node_count(self._native.client)):
            if lib.redlock_lock_vote(self._handle, node, vote) == 0:
                found.append(Vote(node, text(lib.redlock_vote_name(vote.code)), text(lib.redlock_vote_text(vote.code)),
                                  lib.redlock_vote_kind(vote.code), vote.rtt_ns / 1e9))
        return found


class BaseClient:
    """Options and locks of a client, blocking or not."""

    _drain_ms = 1000  # how long the end of the interpreter waits for releases

    def __init__(self, urls: Optional[Sequence[str]] = None, *, cluster: Optional[str] = None, file: Optional[str] = None,
                 node_timeout: Optional[float] = None, **options: str) -> None:
        """Opens without waiting for connections.

        `urls` names the nodes; without it the configuration of the redlock command does, `cluster` a section of it and
        `file` the only file to read. `node_timeout` is in seconds. Further options are those of redlock_config(3), with
        `_` for `-`: user="app", password="...", prefix="app:", owner="web-1". Raises OptionError, which names the node,
        the option or the line."""
        if isinstance(urls, str):
            urls = [urls]
        more = {name.replace("_", "-"): value for name, value in options.items()}
        self._native = open_native(urls, cluster, file, node_timeout, more)
        self._finalizer = weakref.finalize(self, self._native.close, self._drain_ms)

    def _open(self) -> Any:
        if self._native.client == ffi.NULL:
            raise error_of(-9, "the client was closed")
        return self._native.client

    @staticmethod
    def _expect(result: int) -> None:
        if result < 0:
            raise error_of(result)

    def _lock(self, kind: Callable[..., L], name: Union[Name, Sequence[Name]], ttl: Optional[float], wait: Optional[float],
              renew: Optional[float], danger: Optional[float], max_hold: Optional[float], slots: Optional[int],
              shared: bool, fence: bool, reentrant: bool, token: Optional[bytes], on_lost: Optional[Callback],
              on_danger: Optional[Callback]) -> L:
        return kind(self, name, wait, on_lost, on_danger, token, shared,
                    {"ttl": ttl, "renew": renew, "danger": danger, "max_hold": max_hold},
                    {"slots": slots, "fence": fence or None, "reentrant": reentrant or None})
