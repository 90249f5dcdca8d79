# SPDX-License-Identifier: MIT
"""A person at a terminal: types into an interactive bash under a pty, and reads there.

pty_bash.py STEPS, where each line of STEPS is one of
    > TEXT types a line ^C ^D ^Z ^\\ types that key < TEXT reads until TEXT is there, after what was read before
    | REGEX   reads until the line that the cursor is in is this
    ? COMMAND waits until the shell command, run beside the terminal, is true
    columns N makes the terminal so wide
    hangup    closes the terminal and waits for bash to end
Prints the terminal's contents. Exits with 1 when something is not true within 10 seconds. PS1 is `@ `. The terminal
is a dumb one, unless TERM_OF_BASH says another name: \\r and \\e[K work."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

LIMIT = 10


class Terminal:
    def __init__(self):
        self.text, self.seen = "", 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            no_echo = termios.tcgetattr(0)
            no_echo[3] &= ~(termios.ECHO | termios.ECHOCTL)
            termios.tcsetattr(0, termios.TCSANOW, no_echo)
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE,
                           signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execvpe("bash", ["bash", "--noprofile", "--norc", "--noediting", "-i"],
                       dict(os.environ, PS1="@ ", TERM=os.environ.get("TERM_OF_BASH", "dumb"), HISTFILE="", LC_ALL="C"))

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return
        try:
            self.text += os.read(self.fd, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:
            fail(self, "the terminal ended")

    def lines(self):
        return [on_screen(line) for line in self.text.split("\n")]

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, true, what):
        end = time.monotonic() + LIMIT
        while not true():
            if time.monotonic() > end:
                fail(self, "never true: " + what)
            self.read(0.02)

    def expect(self, text):
        self.until(lambda: self.text.find(text, self.seen) >= 0, "< " + text)
        self.seen = self.text.find(text, self.seen) + len(text)

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def on_screen(line):
    shown, at = [], 0
    for part in re.findall("\r|\x1b\\[K|.", line):
        if part == "\r":
            at = 0
        elif part == "\x1b[K":
            del shown[at:]
        else:
            shown[at:at + 1] = part
            at += 1
    return "".join(shown)


def fail(terminal, why):
    sys.exit("%s\nthe terminal:\n%s" % (why, terminal.text.replace("\x1b", "^[").replace("\r", "^M")))


def true_beside(command):
    return lambda: subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def main():
    terminal = Terminal()
    terminal.expect("@ ")
    for step in sys.argv[1].strip().split("\n"):
        word, _, rest = step.strip().partition(" ")
        if word == ">":
            terminal.type(rest + "\n")
        elif word in ("^C", "^D", "^Z", "^\\"):
            terminal.type(chr(ord(word[1]) - 64))
        elif word == "<":
            terminal.expect(rest)
        elif word == "|":
            terminal.until(lambda: re.fullmatch(rest, terminal.lines()[-1]), step)
        elif word == "columns":
            fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("4H", 24, int(rest), 0, 0))
        elif word == "?":
            terminal.until(true_beside(rest), step)
        elif word == "hangup":
            terminal.close()
            return
        else:
            sys.exit("unknown step: " + step)
    terminal.type("exit\n")
    try:
        while True:
            terminal.read(LIMIT)
    except SystemExit:
        pass
    os.waitpid(terminal.pid, 0)
    # Numbers of processes differ.
    print(re.sub(r"\[(\d+)\] \d+", r"[\1] PID", "\n".join(terminal.lines())))


main()
