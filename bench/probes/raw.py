# SPDX-License-Identifier: MIT
"""The floor of asyncio: a pair of SET and compare-and-delete at all servers, each over as soon as a majority has answered,
by sockets in the event loop and no library. "asyncio-raw MEDIAN P99" in microseconds.

    raw.py ROUNDS URL..."""
import asyncio
import select
import socket
import sys
import time

TOKEN = "0123456789012345678901234567890123456789"
DELETE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'


def command(*words):
    return ("*%d\r\n" % len(words) + "".join("$%d\r\n%s\r\n" % (len(word), word) for word in words)).encode()


class Servers:
    def __init__(self, paths):
        self.epoll, self.sockets, self.answers = select.epoll(), [socket.socket(socket.AF_UNIX) for _ in paths], {}
        for one, path in zip(self.sockets, paths):
            one.connect(path)
            one.sendall(command("SCRIPT", "LOAD", DELETE))
            self.script = one.recv(4096).split(b"\r\n")[1].decode()
            one.setblocking(False)
            self.epoll.register(one, select.EPOLLIN)
            self.answers[one.fileno()] = 0
        self.by_fd = {one.fileno(): one for one in self.sockets}
        self.sent, self.done, self.quorum = 0, None, len(paths) // 2 + 1
        asyncio.get_running_loop().add_reader(self.epoll, self.receive)

    def ask(self, request):
        self.sent += 1
        for one in self.sockets:
            one.send(request)
        self.done = asyncio.get_running_loop().create_future()
        return self.done

    def receive(self):
        for fd, _ in self.epoll.poll(0):
            self.answers[fd] += self.by_fd[fd].recv(4096).count(b"\r\n")
        answered = sum(count >= self.sent for count in self.answers.values())
        if answered >= self.quorum and not self.done.done():
            self.done.set_result(None)


async def main(rounds, paths):
    servers, times = Servers(paths), []
    take, give = command("SET", "raw", TOKEN, "NX", "PX", "30000"), command("EVALSHA", servers.script, "1", "raw", TOKEN)
    for _ in range(rounds):
        start = time.perf_counter_ns()
        await servers.ask(take)
        await servers.ask(give)
        times.append(time.perf_counter_ns() - start)
    times = sorted(times[rounds // 11:])
    print(f"asyncio-raw {times[len(times) // 2] / 1e3:.1f} {times[len(times) * 99 // 100] / 1e3:.1f}")


asyncio.run(main(int(sys.argv[1]) * 11 // 10, [url.partition("unix://")[2] for url in sys.argv[2:]]))
