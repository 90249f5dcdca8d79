# SPDX-License-Identifier: MIT
"""
The faults: a row of KINDS per kind, and a class for those that are more. draw() decides, from the seed alone, what will be done to whom and for how long;
begin() does it and end() takes it back. Both count in stage.bites what shows that the fault was real.
"""
import network
from process import wait_until


class Event:
	"""One fault that is to be: drawn from the seed before the run."""

	def __init__(self, at_ms, kind, targets, lasts_ms, value=None):
		self.at_ms = at_ms
		self.kind = kind  # a key of KINDS
		self.targets = targets  # indexes of nodes or of clients
		self.lasts_ms = lasts_ms
		self.value = value
		self.until_ns = 0  # set when it begins

	def lanes(self):
		"""Two events that share a lane do not happen at the same time."""
		lane = KINDS[self.kind].lane
		return {"net"} if lane == "net" else {(lane, target) for target in self.targets}

	def __str__(self):
		targets = ",".join(map(str, self.targets))
		value = "" if self.value is None else f" value={self.value}"
		return f"{self.at_ms} {self.kind} on={targets} lasts_ms={self.lasts_ms}{value}"


class Shape:
	"""The facts that draw() may know."""

	def __init__(self, nodes, clients, ttl_ms, focus):
		self.nodes = nodes
		self.clients = clients
		self.ttl_ms = ttl_ms
		self.focus = focus  # all node faults go to this node, if not None

	def some_nodes(self, rng, at_most=None):
		"""Mostly a minority, at times more."""
		if self.focus is not None:
			return [self.focus]
		minority = max(1, (self.nodes - 1) // 2)
		count = rng.randint(1, minority if rng.random() < 0.7 else self.nodes)
		return sorted(rng.sample(range(self.nodes), min(count, at_most or count)))


class Fault:
	lane = "node"
	lasts = (0.2, 1.5)  # times the TTL
	aimed = 0  # waits until somebody holds the lock and has so much of the TTL left
	at_most = None  # so many nodes
	on_hit = on_cure = None

	def __init__(self, hit=None, cure=None, **settings):
		"""`hit` and `cure` are functions of the stage and the target; settings are those above."""
		vars(self).update(settings, on_hit=hit, on_cure=cure)

	def draw(self, rng, shape, at_ms, kind):
		low, high = self.lasts
		targets, value = self.choose(rng, shape)
		return Event(at_ms, kind, targets, int(shape.ttl_ms * rng.uniform(low, high)), value)

	def choose(self, rng, shape):
		"""Returns targets and a value that begin() and end() understand."""
		return shape.some_nodes(rng, self.at_most), None

	def begin(self, stage, event):
		for target in event.targets:
			self.hit(stage, stage.servers[target], event.value)

	def end(self, stage, event):
		for target in event.targets:
			self.cure(stage, stage.servers[target], event.value)

	def hit(self, stage, target, value):
		if self.on_hit:
			self.on_hit(stage, target)

	def cure(self, stage, target, value):
		if self.on_cure:
			self.on_cure(stage, target)


# ---- Nodes -------------------------------------------------------------------------------------------------


def lose_power(stage, server):
	lost = server.lose_power()
	server.start()
	stage.bite("power_loss", 1 if lost > 0 or stage.scenario.fsync == "always" else 0)


class Evict(Fault):
	"""maxmemory with volatile-ttl, and keys that live longer than the lock press it out: breaks A5."""

	lasts = (0.2, 0.2)
	aimed = 0.75
	KEYS, SIZE = 12, 100_000

	def hit(self, stage, server, value):
		before = int(server.info("stats", "evicted_keys"))
		with server.connect() as connection:
			for name, setting in (("maxmemory-policy", "volatile-ttl"), ("maxmemory-samples", 16),
					("maxmemory", int(server.info("memory", "used_memory")) + 4 * self.SIZE)):
				connection.call("CONFIG", "SET", name, setting)
			for number in range(self.KEYS):
				connection.call("SET", f"filler-{number}", "x" * self.SIZE, "EX", 3600)
		stage.bite("evict", int(server.info("stats", "evicted_keys")) - before)

	def cure(self, stage, server, value):
		server.call("CONFIG", "SET", "maxmemory", 0)
		server.call("DEL", *[f"filler-{number}" for number in range(self.KEYS)])


class Jump(Fault):
	"""The wall clock of a node is set. It is not set back: that would be another jump."""

	def __init__(self, name, low, high, unit_is_ttl, aimed=0):
		self.name = name
		self.low, self.high = low, high
		self.unit_is_ttl = unit_is_ttl
		self.aimed = aimed
		self.lasts = (0, 0) if aimed else (1, 1)  # steps within the allowance must not add up within one TTL

	def choose(self, rng, shape):
		unit = shape.ttl_ms if self.unit_is_ttl else 1
		return [shape.nodes // 2], int(rng.uniform(self.low, self.high) * unit)  # always the same node

	def hit(self, stage, server, value):
		stage.bite(self.name, server.step_clock(value))
		if value < 0:
			stage.set_back_ms -= value


class Acl(Fault):
	"""Rights of the user that the clients are get revoked: all, or those for one kind of command."""

	RULES = ("-@all", "-set", "-eval -evalsha", "resetkeys", "-@write")
	PROBES = {"-eval -evalsha": ("EVAL", "return 1", 0)}

	def choose(self, rng, shape):
		return shape.some_nodes(rng), rng.choice(self.RULES)

	def hit(self, stage, server, value):
		server.call("ACL", "SETUSER", "default", *value.split(" "))

	def cure(self, stage, server, value):
		probe = self.PROBES.get(value, ("SET", "probe", 1, "PX", 1))
		stage.bite("acl", server.error_of(*probe) == "NOPERM")
		server.call("ACL", "SETUSER", "default", "on", "nopass", "~*", "&*", "+@all")


# ---- Clients -----------------------------------------------------------------------------------------------


class ClientFault(Fault):
	lane = "client"

	def choose(self, rng, shape):
		return sorted(rng.sample(range(shape.clients), rng.randint(1, max(1, shape.clients // 2)))), None

	def begin(self, stage, event):
		for target in event.targets:
			self.hit(stage, stage.clients[target], event.value)

	def end(self, stage, event):
		for target in event.targets:
			self.cure(stage, stage.clients[target], event.value)


class PauseHolder(ClientFault):
	"""The holder stands still until after its deadline. A careless one goes on where it was: breaks A3."""

	def choose(self, rng, shape):
		return list(range(shape.clients)), None  # any client that holds then

	def hit(self, stage, client, value):
		if client.holds(self.aimed):
			stage.bite("pause_holder", client.process.pause())


# ---- The network -------------------------------------------------------------------------------------------


class NetFault(Fault):
	lane = "net"

	def begin(self, stage, event):
		stage.set_rules(event, self.rules(stage, event))

	def end(self, stage, event):
		stage.set_rules(event, [])

	def rules(self, stage, event):
		raise NotImplementedError


class Cut(NetFault):
	"""Partitions: who hears whom is (client, node, both | up | down) for each pair."""

	def __init__(self, name):
		self.name = name

	def choose(self, rng, shape):
		quorum = shape.nodes // 2 + 1
		everyone = range(shape.nodes)
		minority = rng.randint(1, max(1, shape.nodes - quorum))
		count = {"minority": minority, "majority": rng.randint(quorum, shape.nodes)}
		nodes = sorted(rng.sample(everyone, count[self.name])) if self.name in count else list(everyone)
		if self.name in ("up", "down"):
			nodes = shape.some_nodes(rng)
		direction = self.name if self.name in ("up", "down") else "both"
		chance = 0.5 if self.name == "pairs" else 1
		pairs = [(client, node, rng.choice(("both", "up", "down")) if chance < 1 else direction)
			for client in range(shape.clients) for node in nodes if rng.random() < chance]
		return nodes, pairs

	def rules(self, stage, event):
		rules = []
		for client, node, direction in event.value:
			ends = stage.clients[client].number, stage.servers[node].number
			if direction in ("both", "up"):
				rules.append(network.cut(*ends))
			if direction in ("both", "down"):
				rules.append(network.cut(*reversed(ends)))
		return rules


class Failover(Fault):
	"""Sentinels promote a replica, while the old master runs or will come back. The fault lasts for longer than a failover
	and the quarantine after it. The director learns which server is the master when the fault begins."""

	lane = "net"
	lasts = (11, 15)

	def choose(self, rng, shape):
		return [0], None

	def begin(self, stage, event):
		event.value = stage.masters.settle()
		self.hit(stage, event.value, event)

	def end(self, stage, event):
		promoted = wait_until(lambda: stage.masters.is_promoted(event.value), 30)
		stage.bite(event.kind, promoted)
		self.cure(stage, event.value, event)


class Partition(Failover):
	"""The master and the Sentinel beside it hear nothing of the other hosts. `split`: nor do the clients, half of which reach
	the one side alone, and half the other. Else they reach both."""

	def __init__(self, divides_clients):
		self.divides_clients = divides_clients

	def hit(self, stage, target, value):
		others = [server.number for server in stage.servers if server is not target]
		pairs = [(target.number, other) for other in others]
		for client in stage.clients if self.divides_clients else ():
			pairs += [(client.number, other) for other in (others if client.index % 2 == 0 else [target.number])]
		stage.set_rules(value, [network.cut(*ends) for pair in pairs for ends in (pair, reversed(pair))])

	def cure(self, stage, target, value):
		stage.set_rules(value, [])


class Reset(NetFault):
	"""Resets for any client that says anything to the node."""

	lasts = (0.05, 0.4)

	def rules(self, stage, event):
		return [network.reset(stage.servers[target].number) for target in event.targets]


class Blackhole(NetFault):
	"""Existing connections are closed by the server, and new ones are never answered."""

	lasts = (0.3, 2)

	def rules(self, stage, event):
		return [network.blackhole(stage.servers[target].number) for target in event.targets]

	def begin(self, stage, event):
		super().begin(stage, event)
		for target in event.targets:
			stage.close_connections(stage.servers[target])


class Loss(NetFault):
	"""Some of the packets get lost."""

	def choose(self, rng, shape):
		return shape.some_nodes(rng), rng.choice((5, 15, 40))

	def rules(self, stage, event):
		return [rule for target in event.targets
			for rule in network.lose(stage.servers[target].number, event.value)]


# ---- The proxies -------------------------------------------------------------------------------------------


class Proxy(Fault):
	"""Commands to the proxies in front of the nodes (proxy.c)."""

	lane = "proxy"

	def __init__(self, name, commands, undo, lasts=(0.2, 1.5)):
		self.name = name
		self.commands = commands  # one is chosen
		self.undo = undo
		self.lasts = lasts

	def choose(self, rng, shape):
		return shape.some_nodes(rng), rng.choice(self.commands)

	def hit(self, stage, server, value):
		stage.tell_proxy(server, value)
		stage.bite(self.name)

	def cure(self, stage, server, value):
		for command in self.undo:
			stage.tell_proxy(server, command)


KINDS = {
	# SIGKILL; started again later, with all its data: every answer was on the disk first.
	"kill": Fault(lambda stage, server: (server.kill(), stage.bite("kill")), lambda stage, server: server.start()),
	# SIGKILL, the data is gone, and the node stays away for longer than any TTL: delayed restart.
	"wipe_delayed": Fault(lambda stage, server: (server.kill(), server.wipe(), stage.bite("wipe_delayed")),
		lambda stage, server: server.start(), lasts=(1.05, 1.5)),
	# SIGKILL, the data is gone, and the node votes again at once: breaks A1.
	"wipe_now": Fault(lambda stage, server: (server.kill(), server.wipe(), server.start(), stage.bite("wipe_now")),
		lasts=(0, 0), aimed=0.75),
	# Data that fsync had not confirmed is lost; the server starts again at once, before the next second begins.
	# With everysec that breaks A1.
	"power_loss": Fault(lose_power, lasts=(0, 0), aimed=0.93),
	# SIGSTOP: the kernel still takes connections and bytes, nobody answers.
	"hang": Fault(lambda stage, server: stage.bite("hang", server.process.pause()),
		lambda stage, server: server.process.resume(), lasts=(0.1, 3)),
	# While somebody holds the lock: breaks A1.
	"flushall": Fault(lambda stage, server: (stage.bite("flushall", server.call("EXISTS", "counter")),
		server.call("FLUSHALL")), lasts=(0, 0), aimed=0.75),
	"evict": Evict(),
	"jump_small": Jump("jump_small", 1, 5, False),
	"jump_back": Jump("jump_back", -2, -0.1, True),
	"jump_far": Jump("jump_far", 1, 10, True, aimed=0.75),
	# A script that does not end: everything is answered with -BUSY. Each burns a processor.
	"busy": Fault(lambda stage, server: server.begin_script(),
		lambda stage, server: (stage.bite("busy", server.error_of("PING") == "BUSY"), server.end_script()),
		lasts=(0.1, 0.8), at_most=2),
	# The dump fails, and the server refuses writes, releases included, as soon as it has failed.
	"misconf": Fault(lambda stage, server: server.stop_persisting(),
		lambda stage, server: (stage.bite("misconf", wait_until(server.refuses_writes, 5)), server.persist_again())),
	"acl": Acl(),
	# SIGSTOP of clients, also for longer than their locks last.
	"pause": ClientFault(lambda stage, client: stage.bite("pause", client.process.pause()),
		lambda stage, client: client.process.resume(), lasts=(0.1, 3)),
	"pause_holder": PauseHolder(cure=lambda stage, client: client.process.resume(), lasts=(1.2, 2), aimed=0.75),
	# SIGKILL of clients; new ones come in their place.
	"client_kill": ClientFault(lambda stage, client: (client.kill(), stage.bite("client_kill")),
		lambda stage, client: client.start(), lasts=(0.1, 1)),
	"cut_minority": Cut("minority"),
	"cut_majority": Cut("majority"),
	"cut_all": Cut("all"),
	"cut_up": Cut("up"),
	"cut_down": Cut("down"),
	"cut_pairs": Cut("pairs"),
	"reset": Reset(),
	"blackhole": Blackhole(),
	"loss": Loss(),
	"split": Partition(True),
	"apart": Partition(False),
	# The old master comes back as a master, with its data, and the Sentinels demote it after some seconds.
	"kill_master": Failover(lambda stage, server: server.kill(), lambda stage, server: server.start()),
	"hang_master": Failover(lambda stage, server: server.process.pause(), lambda stage, server: server.process.resume()),
	# The server closes all connections, in order.
	"close": Fault(lambda stage, server: stage.bite("close", stage.close_connections(server)), lasts=(0, 0)),
	"delay": Proxy("delay", ("delay 5", "delay 40", "delay 150", "delay 400"), ("delay 0",)),
	"trickle": Proxy("trickle", ("trickle 1",), ("trickle 0",)),
	"hold": Proxy("hold", ("hold_up 1", "hold_down 1"), ("hold_up 0", "hold_down 0")),
	"deaf": Proxy("deaf", ("drop_down 1",), ("drop_down 0", "reset")),
	"proxy_end": Proxy("proxy_end", ("cut", "reset", "abandon"), (), lasts=(0, 0)),
}
