# SPDX-License-Identifier: MIT
"""The works that bench/rivals runs, and the rivals that can do each, with which program. The others give the reason."""
import dataclasses

import install
from crowd import Crowd
from programs import Run

PYTHON = "/usr/bin/python3"  # the one that Debian's packages are for
COMMAND = ("lock", "--ttl=30", "bench-run", "true")


@dataclasses.dataclass(frozen=True)
class Work:
	id: str
	kind: str  # what somebody can or cannot do
	text: str
	limits: dict  # as in Run
	svg: bool = False


@dataclasses.dataclass(frozen=True)
class Contestant:
	id: str
	name: str
	nodes: int  # 0: none, only a reference
	programs: dict  # kind: what does it, as in Run; or a Crowd
	whys: dict = dataclasses.field(default_factory=dict)  # kind: why not
	needs: str = ""  # key of install.NEEDS
	etcd: bool = False  # its servers are etcd's

	def run(self, work, etcd):
		"""The run, or the reason why there is none."""
		if work.kind not in self.programs:
			return self.whys.get(work.kind, "")
		program, operands = self.programs[work.kind], (etcd.address,) if self.etcd and etcd else ()
		if isinstance(program, Crowd):
			return dataclasses.replace(program, processes=work.limits["count"], seconds=work.limits["seconds"],
				rest_ms=work.limits.get("rest_ms", 0))
		if isinstance(program, tuple) and program[0] == "repeat":
			program, operands = "repeat", tuple(word if word != "ETCD" else operands[0] for word in program[1:])
		return Run(program, nodes=self.nodes, operands=operands, **work.limits)


ONE_AT_A_TIME = {"pairs": 10000, "seconds": 4}
FAULT = {"pairs": 10000, "seconds": 3}
WORKS = (
	Work("latency", "latency", "Acquire + release, one at a time", ONE_AT_A_TIME, svg=True),
	Work("hung", "fault", "The same while one of five nodes hangs (SIGSTOP)", dict(FAULT, hung=1),
		svg=True),
	Work("killed", "fault", "The same after one of five nodes was killed", dict(FAULT, killed=1)),
	Work("flow16", "flow", "16 locks of different names in flight", {"count": 16, "seconds": 2}),
	Work("flow256", "flow", "256 locks of different names in flight", {"count": 256, "seconds": 2}),
	Work("greedy", "contend", "16 claimants of one name, 1 ms each, who ask again at once",
		{"count": 16, "seconds": 3}, svg=True),
	Work("polite", "contend", "16 claimants of one name, 1 ms each, who ask again after 10 ms",
		{"count": 16, "seconds": 3, "rest_ms": 10}, svg=True),
	Work("command", "command", "A command that locks, runs `true` and unlocks, start to end",
		{"pairs": 200, "seconds": 2}),
)

NO_COMMAND = {"command": "has no command"}
ONE_NODE = {"fault": "one node: if it fails, there is no lock"}


def _node(file):
	start = ("node", "--no-warnings", install.path(file))
	return {"latency": start, "fault": start, "flow": start, "contend": start + ("-x",)}


def _python(file):
	start = (PYTHON, install.path(file))
	return {"latency": start, "flow": start, "contend": start + ("-x",)}


def _our_python(file):
	path = "PYTHONPATH=" + install.path("python/lib")
	return {kind: ("env", path) + words for kind, words in _python(file).items()}


def _npm(who, package, file):
	return Contestant(who, package, 5, _node(file), NO_COMMAND, needs="npm")


def _tuned(who, package, file, kind, option):
	"""With an option of ioredis that is not the default, for the kind of work where it helps."""
	words = ("env", "IOREDIS={%s}" % option) + _node(file)[kind]
	return Contestant(who, "%s, %s" % (package, option.replace('"', "")), 5, {kind: words}, needs="npm")


def _limited(who, package, file):
	return _tuned(who, package, file, "fault", '"commandTimeout": 50')  # else it waits for ever


def _batched(who, package, file):
	return _tuned(who, package, file, "flow", '"enableAutoPipelining": true')


OURS = {"latency": "latency", "fault": "latency", "flow": "inflight", "contend": Crowd(), "command": "redlock"}
OURS_1 = dict(OURS, contend=Crowd(nodes=1))
del OURS_1["fault"]

CONTESTANTS = (
	Contestant("raw", "no library", 5, {"latency": "raw", "fault": "raw", "flow": "raw", "command": "rawrun"},
		{"contend": "does not wait for a busy lock"}),
	Contestant("ours", "redlock (this one)", 5, OURS),
	Contestant("node", "redlock, for Node.js", 5, _node("redlock.mjs"), NO_COMMAND, needs="our_node"),
	_npm("redlock5", "npm redlock 5", "redlock5.mjs"),
	_npm("redlock4", "npm redlock 4", "redlock4.mjs"),
	_npm("semaphore", "npm redis-semaphore", "semaphore.mjs"),
	_npm("universal", "npm redlock-universal", "universal.mjs"),
	_limited("redlock4-50", "npm redlock 4", "redlock4.mjs"),
	_limited("semaphore-50", "npm redis-semaphore", "semaphore.mjs"),
	_limited("universal-50", "npm redlock-universal", "universal.mjs"),
	_batched("redlock5-auto", "npm redlock 5", "redlock5.mjs"),
	_batched("semaphore-auto", "npm redis-semaphore", "semaphore.mjs"),
	Contestant("ours1", "redlock (this one)", 1, OURS_1, ONE_NODE),
	Contestant("python1", "redlock, for Python", 1, _our_python("redlock_binding.py"), dict(ONE_NODE, **NO_COMMAND),
		needs="our_python"),
	Contestant("python", "redis-py Lock", 1, _python("redis_py.py"), dict(ONE_NODE, **NO_COMMAND), needs="python"),
	Contestant("postgres", "PostgreSQL advisory lock", 1, {"contend": Crowd("pgturns", postgres=True)}, needs="postgres"),
	Contestant("etcd", "etcd, JSON gateway", 1, {kind: words for kind, words in _node("etcd.mjs").items()
		if kind != "fault"}, dict(ONE_NODE, command="see etcdctl"), needs="etcd", etcd=True),
	Contestant("etcdctl", "etcdctl lock", 1, {"command": ("repeat", "etcdctl", "--endpoints", "ETCD") + COMMAND},
		needs="etcd", etcd=True),
	Contestant("flock", "flock(1), one machine", 0, {"command": ("repeat", "flock", install.path("lock"), "true")}),
)


def _chosen(things, words):
	return [thing for thing in things if thing.id in words] or list(things)


def select(words):
	"""The works and the contestants of these ids. No work named: all of them; the same with contestants."""
	known = {thing.id for thing in WORKS + CONTESTANTS}
	unknown = set(words) - known
	if unknown:
		raise ValueError("nothing is called %s; there are %s" % (", ".join(sorted(unknown)),
			", ".join(thing.id for thing in WORKS + CONTESTANTS)))
	return _chosen(WORKS, words), _chosen(CONTESTANTS, words)
