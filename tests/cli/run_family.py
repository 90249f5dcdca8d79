# SPDX-License-Identifier: MIT
"""A command for `redlock run`: a family of processes of a given SHAPE, each of which writes down while it runs.

run_family.py DIR SHAPE [deaf]

DIR/beat.PID is the time (ms, CLOCK_REALTIME, which is also what a server's keys expire by) at which PID last ran, and
the longest time for which it was kept from running; DIR/term.PID is the time at which it got TERM. `deaf`: nobody ends by TERM, INT or HUP."""
import os
import signal
import sys
import time

directory, shape = sys.argv[1:3]
deaf = "deaf" in sys.argv[3:]


def now_ms():
    return time.time_ns() // 1000000


def note(kind):
    return os.open("%s/%s.%d" % (directory, kind, os.getpid()), os.O_WRONLY | os.O_CREAT)


def on_signal(number, _frame):
    if number == signal.SIGTERM:
        os.write(note("term"), b"%d" % now_ms())
    if not deaf:
        os._exit(128 + number)


def beat(beats=-1):
    file, last, gap = note("beat"), now_ms(), 0
    while beats != 0:
        now = now_ms()
        gap = max(gap, now - last)
        last = now
        os.pwrite(file, b"%d %d\n" % (now, gap), 0)
        time.sleep(0.002)
        beats -= 1


def wait_for_beat(pid):
    while not os.path.exists("%s/beat.%d" % (directory, pid)):
        time.sleep(0.002)


def child(life):
    """Forks; the child lives that life and never returns."""
    pid = os.fork()
    if pid == 0:
        try:
            life()
        finally:
            os._exit(0)
    return pid


def in_session(life):
    def start():
        os.setsid()
        life()
    return start


def daemon():
    os.chdir("/")
    for fd in (0, 1, 2):
        os.dup2(os.open("/dev/null", os.O_RDWR), fd)
    beat()


def stop_and_beat():
    beat(1)
    os.kill(os.getpid(), signal.SIGSTOP)
    beat()


def two():
    child(beat)
    beat()


def fork_and_exit():
    wait_for_beat(child(beat))
    sys.exit(7)


def daemonize():
    """As daemon(3) and its forefathers do: fork, setsid, fork."""
    middle = child(in_session(lambda: child(daemon)))
    os.waitpid(middle, 0)
    while not any(name.startswith("beat.") for name in os.listdir(directory)):
        time.sleep(0.002)
    sys.exit(0)


def tree():
    child(two)
    child(in_session(two))
    child(in_session(lambda: child(daemon)))
    child(stop_and_beat)
    beat()


def spawn():
    """Has children faster than anybody can count them."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        child(lambda: beat(20))
        time.sleep(0.002)


shapes = {
    "one": beat,
    "tree": tree,
    "fork": fork_and_exit,
    "daemon": daemonize,
    "session": lambda: (child(in_session(two)), beat()),
    "stopped": stop_and_beat,
    "spawn": lambda: (child(spawn), beat()),
}
for caught in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(caught, on_signal)
shapes[shape]()
