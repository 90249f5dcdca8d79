# SPDX-License-Identifier: MIT
"""Ctrl-C while libredlock waits, in a binding as short as can be: LIBRARY leads|follows URL...

Prints how long KeyboardInterrupt took and what is still owed. The locks "busy" and "held" are somebody else's."""
import ctypes
import os
import signal
import sys
import threading
import time

FOREVER = 2**64 - 1
INTERRUPTED = -15


class Options(ctypes.Structure):
	_fields_ = [("size", ctypes.c_size_t), ("urls", ctypes.POINTER(ctypes.c_char_p)), ("url_count", ctypes.c_size_t),
		("texts", ctypes.c_char_p * 4), ("numbers", ctypes.c_uint * 4), ("trace", ctypes.c_void_p * 2),
		("error_text", ctypes.c_char_p), ("error_text_size", ctypes.c_size_t), ("tls", ctypes.c_char_p * 5),
		("tls_insecure", ctypes.c_int), ("interruptible", ctypes.c_int), ("room", ctypes.c_char * 256)]


class LockOptions(ctypes.Structure):
	_fields_ = [("size", ctypes.c_size_t), ("ttl_ms", ctypes.c_uint64), ("wait_ms", ctypes.c_uint64),
		("room", ctypes.c_char * 256)]


def acquire(lock):
	result = INTERRUPTED
	while result == INTERRUPTED:  # Python runs its handlers here
		result = lib.redlock_acquire(lock)
	return result


def new_lock(name):
	options, lock = LockOptions(), ctypes.c_void_p()
	lib.redlock_lock_options_init_sized(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
	options.wait_ms = FOREVER
	assert lib.redlock_lock_new(client, name, ctypes.byref(options), ctypes.byref(lock)) == 0
	return lock


signal.signal(signal.SIGINT, signal.default_int_handler)  # a test may run with SIGINT ignored
lib = ctypes.CDLL(sys.argv[1])
urls = [url.encode() for url in sys.argv[3:]]
options, client = Options(), ctypes.c_void_p()
lib.redlock_options_init_sized(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
options.urls, options.url_count, options.interruptible = (ctypes.c_char_p * len(urls))(*urls), len(urls), 1
assert lib.redlock_open(ctypes.byref(options), ctypes.byref(client)) == 0
if sys.argv[2] == "follows":
	threading.Thread(target=acquire, args=(new_lock(b"held"),), daemon=True).start()
	time.sleep(0.2)
lock = new_lock(b"busy")
sent = []


def press():  # again, for one that comes between two waits
	while True:
		time.sleep(0.5)
		sent.append(time.monotonic())
		os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=press, daemon=True).start()
try:
	print("got", acquire(lock), flush=True)
except KeyboardInterrupt:
	signal.signal(signal.SIGINT, signal.SIG_IGN)
	print("interrupted after %d ms" % ((time.monotonic() - sent[0]) * 1000), flush=True)
lib.redlock_lock_free(lock)
os._exit(0 if sys.argv[2] == "follows" else lib.redlock_drain(client, ctypes.c_uint64(5000)))
