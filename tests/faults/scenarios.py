# SPDX-License-Identifier: MIT
"""The scenarios, and how a seed becomes a plan of faults."""
import random

from faults import KINDS, Shape


class Scenario:
	def __init__(self, name, faults, text, breaks="", ttl_ms=600, hold=(5, 150), bridge=False, proxies=False,
			shims=(), fsync="always", careless=False, streams=1, clients=None, kinds=("alone",), masters=False):
		self.name = name
		self.faults = faults
		self.text = text
		self.breaks = breaks  # the assumption of docs/promises.md that is broken on purpose
		self.ttl_ms = ttl_ms
		self.hold = hold  # how long a client works under the lock, ms
		# Half of the clients reach the first quorum of nodes, the others the last one. The one node in the
		# middle decides alone who gets in: if it forgets, two get in.
		self.bridge = bridge
		self.proxies = proxies  # clients go through proxies
		self.shims = shims  # preloaded into the servers
		self.fsync = fsync
		self.careless = careless  # clients do not look at the time that is left
		self.streams = streams  # so many faults at the same time
		self.clients = clients  # None: as the command line says
		self.kinds = kinds  # of locks, one client after the other (kind.h)
		self.masters = masters  # the clients' only node is a master that Sentinels name (masters.py)


def breaking(name, fault, breaks, text, **more):
	"""The one node that decides forgets a lock while it is held, and one rival waits on the other side."""
	return Scenario(name, (fault,), text, breaks=breaks, ttl_ms=2000, hold=(800, 1800), bridge=True,
		clients=2, **more)


FAILOVERS = ("split", "apart", "kill_master", "hang_master")
REFUSALS = ("busy", "misconf", "acl")
PARTITIONS = ("cut_minority", "cut_majority", "cut_all", "cut_up", "cut_down", "cut_pairs")
LINKS = ("reset", "blackhole", "loss", "close")
PROXY = ("delay", "trickle", "hold", "deaf", "proxy_end")

MIXED = ("kill", "wipe_delayed", "client_kill", "hang", "pause", "cut_minority", "cut_all", "cut_up", "reset", "close")

SCENARIOS = (
	# The assumptions hold: never two holders, never a lost update.
	Scenario("calm", (), "no faults at all"),
	Scenario("crash", ("kill", "wipe_delayed", "client_kill"),
		"nodes are killed and come back with their data, or without them but late; clients are killed"),
	Scenario("durable", ("kill", "power_loss"),
		"the one node that decides is killed, or loses power, with appendfsync always",
		bridge=True, shims=("power",), hold=(50, 400)),
	Scenario("stop", ("hang", "pause"), "nodes and clients stand still for up to three TTLs"),
	Scenario("partition", PARTITIONS, "the network is cut: minority, majority, all, one-way, pair by pair"),
	Scenario("links", LINKS, "connections are reset, closed, swallowed; packets get lost"),
	Scenario("proxy", PROXY, "delays that reorder between connections, trickling, half-dead connections",
		proxies=True),
	Scenario("refuse", REFUSALS, "nodes refuse: a script is running, they cannot persist, rights are revoked"),
	Scenario("clock", ("jump_small", "jump_back"),
		"the clock of the node that decides steps within the allowance, and back",
		bridge=True, shims=("clock",), hold=(50, 400)),
	Scenario("storm",
		("kill", "wipe_delayed", "client_kill", "hang", "pause") + PARTITIONS + LINKS + PROXY + REFUSALS,
		"all of these at the same time", proxies=True, streams=3),
	# Scenarios of other kinds of locks, beside plain ones.
	Scenario("shared", MIXED, "shared and exclusive holders of one name", streams=2, clients=6, hold=(20, 300),
		kinds=("reader", "alone", "reader", "reader")),
	Scenario("slots", MIXED, "two slots of a name, and holders of the name itself", streams=2, clients=6, hold=(20, 300),
		kinds=("slot", "slot", "slot", "alone")),
	Scenario("several", MIXED, "two names at once, in both orders, and each of them alone", streams=2, clients=6, hold=(20, 300),
		kinds=("both", "turned", "alone", "other")),
	Scenario("setnx", MIXED, "the old SETNX protocol, beside plain holders", streams=2, clients=6, hold=(20, 300),
		kinds=("setnx", "alone", "setnx")),
	# An assumption is broken on purpose: violations are counted, and must show.
	breaking("wipe", "wipe_now", "A1", "a node loses its data and votes at once"),
	breaking("unread", "wipe_now", "A1", "the same beside one that shares the lock", kinds=("reader", "alone")),
	breaking("power", "power_loss", "A1", "a node loses power, with appendfsync everysec", shims=("power",),
		fsync="everysec"),
	breaking("flush", "flushall", "A1", "somebody says FLUSHALL"),
	breaking("jump", "jump_far", "A2", "a node's clock jumps forward by one to ten TTLs", shims=("clock",)),
	breaking("evict", "evict", "A5", "a node evicts locks under maxmemory and volatile-ttl"),
	Scenario("late", ("pause_holder",), "clients that stood still write without a look at the time",
		breaks="A3", hold=(200, 500), careless=True),
	# One node, whose master Sentinels name. These take a minute, as Sentinels do nothing in a hurry.
	Scenario("masters", FAILOVERS, "a guarded set of one: two masters, a dead one, one that hangs", masters=True),
	Scenario("unguarded", ("split",), "the same without a guard: two masters grant", breaks="A1", masters=True),
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def group(name):
	"""The scenarios that a word on the command line means."""
	if name in BY_NAME:
		return [BY_NAME[name]]
	if name == "all":
		return list(SCENARIOS)
	if name in ("clean", "kinds", "broken", "failovers"):
		return [s for s in SCENARIOS if name == group_of(s)]
	raise KeyError(name)


def group_of(scenario):
	if scenario.masters:
		return "failovers"
	if scenario.breaks:
		return "broken"
	return "kinds" if scenario.kinds != ("alone",) else "clean"


def plan(scenario, seed, seconds, nodes, clients):
	"""The events of one run in order of time. The same arguments give the same plan."""
	rng = random.Random(f"{seed} {scenario.name}")
	focus = nodes // 2 if scenario.bridge else None
	shape = Shape(nodes, scenario.clients or clients, scenario.ttl_ms, focus)
	events = []
	for _ in range(scenario.streams if scenario.faults else 0):
		at_ms, kinds = 300, []
		while True:
			if not kinds:  # every kind once, in another order each time
				kinds = rng.sample(scenario.faults, len(scenario.faults))
			kind = kinds.pop()
			event = KINDS[kind].draw(rng, shape, at_ms, kind)
			if event.at_ms + event.lasts_ms > seconds * 1000:
				break
			events.append(event)
			at_ms = event.at_ms + event.lasts_ms + int(rng.uniform(0.1, 0.6) * scenario.ttl_ms)
			if KINDS[kind].aimed:
				at_ms += scenario.ttl_ms // 2  # let somebody acquire
	return sorted(events, key=lambda event: event.at_ms)
