# SPDX-License-Identifier: MIT
"""
Hosts as network namespaces around a router, which is the namespace of the director. Rules of nftables decide
what the router passes on: partitions, losses and resets are made there.

Host number i has the address 10.99.i.2; nodes are numbered from 1, clients from 101.
"""
import contextlib
import ctypes
import json
import os
import subprocess

from world import CLONE_NEWNET, Unavailable, libc

NODE_PORT = 6379
PROXY_PORT = 6380
COUNTERS = ("cut", "reset", "blackhole", "loss", "topology")  # "hit_..." in nftables, where reset is a keyword


def _namespace_call(function, *arguments):
	if function(*arguments) != 0:
		number = ctypes.get_errno()
		raise OSError(number, os.strerror(number))


def _own_namespace():
	return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _tool(arguments, text, fds=()):
	"""Runs ip or nft with commands on stdin."""
	done = subprocess.run(arguments, input=text, text=True, capture_output=True, check=False, pass_fds=fds)
	if done.returncode != 0:
		raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
	return done.stdout


def _probe():
	"""Tells a machine where this cannot work from a defect of ours: after it, every failure is one. Leaves this
	process in a new network namespace, where packets are passed on."""
	try:
		_namespace_call(libc.unshare, CLONE_NEWNET)
		_tool(["ip", "-batch", "-"], "link add probe type veth peer name probe2\nlink del probe\n")
		_tool(["nft", "-f", "-"], "add table ip probe\n")
		_tool(["nft", "-f", "-"], "delete table ip probe\n")
		with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as file:
			file.write("1")
	except FileNotFoundError as error:
		raise Unavailable(f"{error.filename} is not installed (Debian: iproute2, nftables)") from error
	except (OSError, RuntimeError) as error:
		raise Unavailable(f"networks of our own cannot be made here ({error})") from error


def address(number):
	return f"10.99.{number}.2"


class Network:
	def __init__(self):
		_probe()
		self.router = _own_namespace()
		self.hosts = {}  # number -> descriptor of its namespace
		counters = "".join(f"counter hit_{name} {{ }}\n" for name in COUNTERS)
		_tool(["ip", "-batch", "-"], "link set lo up\n")
		_tool(["nft", "-f", "-"], "table ip faults {\n" + counters +
			"chain forward { type filter hook forward priority 0; policy accept; }\n}\n")

	def add_host(self, number):
		_namespace_call(libc.unshare, CLONE_NEWNET)
		host = self.hosts[number] = _own_namespace()
		_namespace_call(libc.setns, self.router, CLONE_NEWNET)
		link = f"host{number}"
		_tool(["ip", "-batch", "-"],
			f"link add {link} type veth peer name eth0 netns /proc/self/fd/{host}\n"
			f"address add 10.99.{number}.1/24 dev {link}\n"
			f"link set {link} up\n", (host,))
		with self.inside(number):
			_tool(["ip", "-batch", "-"],
				"link set lo up\n"
				f"address add {address(number)}/24 dev eth0\n"
				"link set eth0 up\n"
				f"route add default via 10.99.{number}.1\n")

	@contextlib.contextmanager
	def inside(self, number):
		"""Processes that are started inside run on that host."""
		_namespace_call(libc.setns, self.hosts[number], CLONE_NEWNET)
		try:
			yield
		finally:
			_namespace_call(libc.setns, self.router, CLONE_NEWNET)

	def set_rules(self, rules):
		"""Replaces all rules at once."""
		_tool(["nft", "-f", "-"], "flush chain ip faults forward\n" +
			"".join(f"add rule ip faults forward {rule}\n" for rule in rules))

	def packets(self):
		"""How many packets each counter has seen since the start."""
		reply = json.loads(_tool(["nft", "-j", "list", "counters"], ""))
		counters = [item["counter"] for item in reply["nftables"] if "counter" in item]
		return {counter["name"][len("hit_"):]: counter["packets"] for counter in counters}


def cut(source, target, counter="cut"):
	"""A rule: nothing gets from host to host."""
	return f"ip saddr {address(source)} ip daddr {address(target)} counter name hit_{counter} drop"


def reset(node):
	"""A rule: any host that talks to the node is told that there is no such connection."""
	return f"ip daddr {address(node)} tcp flags & rst == 0 counter name hit_reset reject with tcp reset"


def blackhole(node):
	"""A rule: connections that exist go on, new ones are never answered."""
	return f"ip daddr {address(node)} tcp flags & (syn | ack) == syn counter name hit_blackhole drop"


def lose(node, percent):
	"""Rules: some packets of the node, in both directions, get lost."""
	return [f"ip {end} {address(node)} numgen random mod 100 < {percent} counter name hit_loss drop"
		for end in ("saddr", "daddr")]
