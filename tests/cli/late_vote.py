# SPDX-License-Identifier: MIT
"""redlock run stands still between the grant and the answer to what its user may do, for longer than the lock lives, and
finds a late vote first when it goes on. late_vote.py REDLOCK: prints its exit code, and whether the command ran."""
import os
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading

TTL_S = 3
place = tempfile.mkdtemp()
asked = threading.Semaphore(0)  # a node was asked what the user may do
woken = threading.Event()  # the lock has ended
later = threading.Event()  # guard=off: a script asks for nothing but the rights


def read_command(stream):
    count = stream.readline()
    words = []
    for _ in range(int(count[1:] or 0)):
        size = int(stream.readline()[1:])
        words.append(stream.read(size + 2)[:-2])
    return words


class Node(socketserver.StreamRequestHandler):
    def answer(self, words):
        last = self.server.server_address.endswith("3")
        if words[0] == b"SET":
            if last:
                woken.wait()
            return b"+OK"
        if words[0].startswith(b"EVAL"):
            asked.release()
            later.wait()
            return b":0"
        if words[0] == b"INFO":
            return b"-NOPERM no"
        return b":1" if words[0] == b"CLIENT" else b"*2\r\n$-1\r\n$-1"

    def handle(self):
        while words := read_command(self.rfile):
            self.wfile.write(self.answer(words) + b"\r\n")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    handle_error = lambda *_: None


paths = [f"{place}/{n}" for n in (1, 2, 3)]
for path in paths:
    threading.Thread(target=Server(path, Node).serve_forever, daemon=True).start()
run = subprocess.Popen([sys.argv[1], "run", "-t", f"{TTL_S}s", "--node-timeout", "900ms", "--guard=off", "job", "--", "touch", f"{place}/ran"],
                       env=dict(os.environ, REDLOCK_URLS=",".join("unix://" + path for path in paths)))
for _ in range(2):
    asked.acquire(timeout=10)
os.kill(run.pid, signal.SIGSTOP)
threading.Event().wait(TTL_S + 0.3)
woken.set()
threading.Event().wait(0.2)  # the late vote is in its socket
os.kill(run.pid, signal.SIGCONT)
threading.Timer(1, later.set).start()
try:
    print(run.wait(10), "ran" if os.path.exists(f"{place}/ran") else "not started")
except subprocess.TimeoutExpired:
    run.kill()
    print("it hangs")
