# SPDX-License-Identifier: MIT
"""A server that tries to reach the terminal of who asks it: every text that it may choose is full of bytes that control
one, or that hide or turn what is around them. `hostile.py serve PATH MODE` answers at a Unix socket (modes old, slow, and the names of services: as
a server that is, and says nothing evil); `hostile.py judge
json|text FILE...` looks at what came out."""
import json
import os
import socket
import sys
import threading
import time
import unicodedata

# C0, DEL, C1 as a byte and in UTF-8; turned, invisible and tag characters; UTF-8 that is overlong, of a surrogate, cut.
EVIL = (b"\x1b]0;owned\x07\x1b[31m\x08\x7f\x00\x9b31m" + "\x85\x9b2J\u202e\u2066\u061c\u200f\u200b\ufeff\u2028\u2060\xad\U000e0041".encode()
        + b"\xc0\x9b\xe0\x82\x9b\xed\xa0\x80\xf5\x80\x80\x80\xff\xe2\x80")
ERROR = b"-" + EVIL.replace(b"\n", b"") + b"\r\n"
TOKEN = b"0" * 40 + b"|" + EVIL  # as if of redlock, with an owner


def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text)


def finding(mode):
    kind = EVIL[:15] if mode == "type" else b"hash" if mode == "hash" else b"string"
    value = {"hash": b"8743c9c0-1111-2222-3333-444455556666:" + EVIL + b"=" + EVIL, "value": EVIL}.get(mode, TOKEN)
    return b"*4\r\n" + bulk(kind) + b":60000\r\n:%d\r\n" % len(value) + bulk(value)


# Questions that only doctor asks, and the lines of INFO for it.
FACTS = [b"run_id:", b"\r\nredis_version:7.0.", b"\r\nrole:slave\r\nmaster_host:", b"\r\nmaxmemory:1\r\nmaxmemory_policy:",
         b"\r\naof_last_write_status:", b"\r\nmonotonic_clock:@ inf "]
DOCTOR = {b"CONFIG": b"*2\r\n" + bulk(EVIL) * 2, b"TIME": b"*2\r\n" + bulk(EVIL) * 2, b"PTTL": b":-1\r\n",
          b"SCAN": b"*2\r\n" + bulk(b"0") + b"*2\r\n" + bulk(EVIL) + bulk(EVIL.replace(b"\x00", b"")),
          b"GETRANGE": bulk(TOKEN)}


# A field of INFO tells a managed service or a fork from others.
SERVICES = {"ElastiCache": b"os:Amazon ElastiCache\r\n", "MemoryDB": b"os:Amazon MemoryDB\r\n", "Upstash": b"upstash_version:1.13.0\r\n",
            "Dragonfly": b"dragonfly_version:df-v1.40.1\r\n", "Garnet": b"garnet_version:1.0.84\r\n", "KeyDB": b"mvcc_depth:0\r\n"}


def odd(mode, words):
    command = words[0].upper()
    if b"redlock:set" in words:  # it is asked for the record of a guarded set
        return b"-ERR unknown command\r\n"
    if command == b"TIME":
        time.sleep(0.6 if mode == "slow" else 0)
        now = time.time_ns() // 1000
        return b"*2\r\n" + bulk(b"%d" % (now // 1000000)) + bulk(b"%d" % (now % 1000000))
    return {b"INFO": bulk(b"redis_version:5.0.3\r\nrole:master\r\n" + SERVICES.get(mode, b"")), b"SET": b"$-1\r\n", b"EVAL": b":0\r\n"}.get(command, b"-ERR no\r\n")


def answer(mode, words):
    command = words[0].upper()
    if mode in ("old", "slow") or mode in SERVICES:
        return odd(mode, words)
    if mode == "error" or (mode == "lost" and command in (b"EVAL", b"EVALSHA")):
        return ERROR
    if command == b"INFO":
        return bulk(EVIL.join(FACTS) + EVIL)
    if command in DOCTOR:
        return DOCTOR[command]
    if command == b"SET":
        return b"+OK\r\n" if mode == "lost" else b"$-1\r\n"
    if words[1].startswith(b"local kind, left = "):  # the script of `redlock ls`
        return b"*5" + finding(mode)[2:] + b":1\r\n"
    if command in (b"EVAL", b"EVALSHA"):
        return finding(mode) if len(words) == 4 else b":0\r\n"
    return b"-ERR unknown command\r\n"


def serve(connection, mode):
    stream = connection.makefile("rb")
    try:
        while line := stream.readline():
            words = [stream.read(int(stream.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]
            connection.sendall(answer(mode, words))
    except (OSError, ValueError):
        pass


def main_serve(path, mode):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    print("ready", flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0], mode), daemon=True).start()


def judge(kind, path):
    """All of it is UTF-8, without a character that is not seen; `json`: and one JSON object per line."""
    with open(path, "rb") as file:
        text = file.read().decode()  # strict
    for c in text:
        if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            sys.exit("%s: U+%04X gets out: %r" % (path, ord(c), text))
    for line in text.splitlines() if kind == "json" else []:
        json.loads(line)


def main_judge(*words):
    for kind, path in zip(words[::2], words[1::2]):
        judge(kind, path)


def main_all():
    """All characters that are not seen, as the pieces of a name, one per line."""
    unseen = [chr(c) for c in range(1, sys.maxunicode + 1) if unicodedata.category(chr(c)) in ("Cc", "Cf", "Zl", "Zp") and c != 10]
    for i in range(0, len(unseen), 12):
        sys.stdout.buffer.write("".join(unseen[i:i + 12]).encode() + b"\n")


if __name__ == "__main__":
    {"serve": main_serve, "judge": main_judge, "all": main_all}[sys.argv[1]](*sys.argv[2:])
    os._exit(0)
