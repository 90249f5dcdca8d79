# SPDX-License-Identifier: MIT
"""The driver of tests/conformance for libredlock: docs/bindings.md has the protocol."""
import sys
import threading
import urllib.parse

import libredlock
from libredlock._errors import _CLASSES as CLASSES

SECONDS = ("ttl", "renew", "danger", "max-hold", "node-timeout")
clients, locks, owners, lost, danger, waits = {}, {}, {}, {}, {}, {}


def decode(word):
    return "" if word == "%" else urllib.parse.unquote(word)


def seconds(word):
    return None if word == "forever" else int(word) / 1000


def options(words):
    found = {}
    for word in words:
        name, _, value = word.partition("=")
        found[name.replace("-", "_")] = (int(value) / 1000 if name in SECONDS else int(value) if name == "slots" else
                                         True if value == "yes" else decode(value))
    return found


def client(label, *words):
    urls = [word for word in words if "://" in word]
    clients[label] = libredlock.Client(urls, **options(words[len(urls):]))


def lock(owner, label, names, *words):
    found = options(words)
    if "token" in found:
        found["token"] = found["token"].encode()
    listed = [decode(name) for name in names.split(",") if name]
    owners[label], lost[label], danger[label] = owner, threading.Event(), threading.Event()
    locks[label] = clients[owner].lock(listed if "," in names else listed[0], on_lost=lost[label].set,
                                       on_danger=danger[label].set, **found)


def acquire(label, wait):
    lost[label].clear()
    danger[label].clear()
    if not locks[label].acquire(timeout=seconds(wait)):
        return "error BUSY"


def start(label, wait):
    def run():
        waits[label][1] = answer("acquire", [label, wait])

    waits[label] = [threading.Thread(target=run), ""]
    waits[label][0].start()


def finish(label):
    waits[label][0].join()
    return waits[label][1]


def yes(value):
    return "ok yes" if value else "ok no"


VERBS = {
    "client": client, "lock": lock, "acquire": acquire, "start": start, "finish": finish,
    "close": lambda label: clients[label].close(),
    "errors": lambda: "ok " + " ".join(CLASSES),
    "cancel": lambda label: locks[label].cancel(),
    "release": lambda label: locks[label].release(),
    "extend": lambda label, ttl: locks[label].extend(seconds(ttl)),
    "upgrade": lambda label: None if locks[label].upgrade() else "error BUSY",
    "downgrade": lambda label: locks[label].downgrade(),
    "owned": lambda label: yes(locks[label].owned()),
    "remaining": lambda label: f"ok {round(locks[label].remaining * 1000)}",
    "fence": lambda label: f"ok {locks[label].fence}",
    "slot": lambda label: f"ok {locks[label].slot}",
    "obstacle": lambda label: f"ok {locks[label].obstacle}",
    "token": lambda label: "ok " + urllib.parse.quote(locks[label].token, safe="|:@/+"),
    "votes": lambda label: "ok " + " ".join(vote.name for vote in locks[label].votes),
    "lost": lambda label, wait: yes(lost[label].wait(seconds(wait))),
    "danger": lambda label, wait: yes(danger[label].wait(seconds(wait))),
}


def answer(verb, words):
    try:
        return VERBS[verb](*words) or "ok"
    except libredlock.RedlockError as error:
        return f"error {error.name} {error}"


for line in sys.stdin:
    verb, *words = line.split()
    print(answer(verb, words), flush=True)
