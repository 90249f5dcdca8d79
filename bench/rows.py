# SPDX-License-Identifier: MIT
"""The bar: what is run, and which ratio of it must be how large. Nothing else decides what bench/run prints."""
import dataclasses
import typing

from programs import Run

LATENCY = {"pairs": 20000, "seconds": 6}
FAR = {"pairs": 1500, "seconds": 5, "wire": "far"}
FAULT = {"pairs": 10000, "seconds": 6}
FLOW = {"seconds": 2}
COMMANDS = {"pairs": 300, "seconds": 3}

# In this order, which is turned around in every second round: ours and theirs alternate.
RUNS = {
	"raw": Run("raw", **LATENCY),
	"raw, no wait": Run("raw", no_wait=True, **LATENCY),
	"raw, unix": Run("raw", wire="unix", **LATENCY),
	"ours": Run("latency", **LATENCY),
	"ours, no wait": Run("latency", no_wait=True, **LATENCY),
	"ours, unix": Run("latency", wire="unix", **LATENCY),
	"raw, 1 ms": Run("raw", **FAR),
	"ours, 1 ms": Run("latency", **FAR),
	"ours, 1 ms, no wait": Run("latency", no_wait=True, **FAR),
	**{name % count: Run(program, count=count, **FLOW) for count in (16, 256, 1024)
		for name, program in (("raw, %d", "raw"), ("ours, %d", "inflight"))},
	**{name % count: Run(program, count=count, **FLOW) for count in (16, 256)
		for name, program in (("raw, %d threads", "rawthreads"), ("ours, %d threads", "threads"))},
	**{name % hung: Run(program, hung=hung, **FAULT) for hung in (1, 2)
		for name, program in (("raw, %d hung", "raw"), ("ours, %d hung", "latency"))},
	"ours, 1 killed": Run("latency", killed=1, **FAULT),
	**{name % hung: Run(program, count=256, hung=hung, **FLOW) for hung in (1, 2)
		for name, program in (("raw, 256, %d hung", "raw"), ("ours, 256, %d hung", "inflight"))},
	"raw, guard": Run("raw", guard=True, **LATENCY),
	"ours, guard": Run("latency", guard=True, **LATENCY),
	"ours, 256, guard": Run("inflight", guard=True, count=256, **FLOW),
	"ours, 256, fence": Run("inflight", fence=True, count=256, **FLOW),
	"raw, 256, guard": Run("raw", guard=True, count=256, **FLOW),
	"raw, 256, fence": Run("raw", fence=True, count=256, **FLOW),
	"raw, 256, guard, thrifty": Run("raw", guard=True, thrifty=True, count=256, **FLOW),
	"raw, guard, thrifty": Run("raw", guard=True, thrifty=True, **LATENCY),
	**{"ours, " + name + suffix: Run("latency", wire=wire, **kind, **LATENCY)
		for suffix, wire in (("", "tcp"), (", unix", "unix"))
		for name, kind in (("shared", {"shared": True}), ("3 slots", {"slots": 3}), ("2 names", {"many": True}))},
	"ours, sticky": Run("latency", sticky_ms=100, pairs=1000000, seconds=6),
	"raw run": Run("rawrun", **COMMANDS),
	"ours run": Run("redlock", **COMMANDS),
	**{name: Run(name, pairs=5, nodes=31) for name in ("init", "doctor")},  # the last: it starts further servers
	"allocations": Run("allocations", pairs=10000, seconds=3),
}

LATENCY_CURVES = ("raw", "ours", "ours, no wait", "ours, unix", "ours, 1 hung", "ours, 2 hung", "ours, 1 killed")


@dataclasses.dataclass(frozen=True)
class Row:
	id: str
	text: str
	runs: tuple  # names in RUNS
	value: typing.Callable  # of what these runs gave in one round
	must: typing.Optional[float] = None  # None: reported, not judged
	aim: typing.Any = None  # a number, or a function like `value`
	more_is_better: bool = False
	unit: str = ""

	def meets(self, value, bar):
		return value >= bar if self.more_is_better else value <= bar


def ratio(row, text, ours, theirs, key, **bars):
	"""The ratio of one figure, "pair_us.p50" or "pairs_per_s", of two runs."""
	def figure(result):
		for part in key.split("."):
			result = result[part]
		return result
	return Row(row, text, (ours, theirs), lambda ours, theirs: figure(ours) / figure(theirs), **bars)


def _fault_rows():
	for name in ("1 hung", "2 hung", "1 killed"):
		run = "ours, " + name
		yield ratio("F1", name + ": p50 / own healthy", run, "ours", "pair_us.p50", must=1.05, aim=1.0)
		yield ratio("F1", name + ": p99 / own healthy", run, "ours", "pair_us.p99", must=1.25, aim=1.10)
		yield Row("F1", name + ": failed acquisitions", (run,), lambda r: r["failed"], must=0, aim=0)
	for hung in (1, 2):
		yield ratio("F1", "%d hung: raw, p50 / its healthy: the limit here" % hung, "raw, %d hung" % hung, "raw", "pair_us.p50")
	for hung in (1, 2):
		yield Row("F2", "%d hung: memory growth per hung node, 10 000 pairs" % hung, ("ours, %d hung" % hung,),
			lambda r, hung=hung: r["growth_kb"] / hung, must=1024, aim=256, unit="kB")
	for hung in (1, 2):
		yield Row("F3", "%d hung: pairs/s at 256 in flight / own healthy" % hung,
			("ours, 256, %d hung" % hung, "ours, 256", "raw, 256, %d hung" % hung, "raw, 256"),
			lambda ours, healthy, _raw, _raw_healthy: ours["pairs_per_s"] / healthy["pairs_per_s"], must=1.0,
			aim=lambda _ours, _healthy, raw, raw_healthy: raw["pairs_per_s"] / raw_healthy["pairs_per_s"],
			more_is_better=True)


ROWS = [
	ratio("L1", "pair p50 / raw", "ours", "raw", "pair_us.p50", must=1.15, aim=1.07),
	ratio("L1", "pair p99 / raw", "ours", "raw", "pair_us.p99", must=1.30, aim=1.15),
	ratio("L1", "pair p99.9 / raw", "ours", "raw", "pair_us.p999"),
	ratio("L2", "release not waited for, p50 / raw (waited)", "ours, no wait", "raw", "pair_us.p50",
		must=0.85, aim=0.80),
	ratio("L2", "raw without waiting / raw: the limit here", "raw, no wait", "raw", "pair_us.p50"),
	ratio("L2", "release not waited for, at 1 ms round trip", "ours, 1 ms, no wait", "raw, 1 ms", "pair_us.p50",
		must=0.55, aim=0.52),
	ratio("L3", "p50 at 1 ms round trip / raw", "ours, 1 ms", "raw, 1 ms", "pair_us.p50", must=1.05, aim=1.02),
	ratio("L4", "Unix sockets, p50 / own TCP", "ours, unix", "ours", "pair_us.p50", must=0.72, aim=0.67),
	ratio("L4", "raw over Unix sockets / raw: the limit here", "raw, unix", "raw", "pair_us.p50"),
	*(ratio("T1", "%d in flight: pairs/s / raw" % count, "ours, %d" % count, "raw, %d" % count, "pairs_per_s",
		must=must, aim=aim, more_is_better=True)
		for count, must, aim in ((16, 0.80, 0.90), (256, 0.88, 0.95), (1024, 0.88, 0.95))),
	Row("T2", "own processor time per pair, 256 in flight", ("ours, 256",), lambda r: r["cpu_us_per_pair"],
		must=2.6, aim=1.5, unit="us"),
	Row("T2", "the same of raw: the limit here", ("raw, 256",), lambda r: r["cpu_us_per_pair"], unit="us"),
	*(ratio("T3", "%d threads, one client: pairs/s / private connections" % count, "ours, %d threads" % count,
		"raw, %d threads" % count, "pairs_per_s", must=2, aim=4, more_is_better=True) for count in (16, 256)),
	*_fault_rows(),
	ratio("G1", "guarded acquire, p50 / raw with the same script", "ours, guard", "raw, guard", "acquire_us.p50",
		must=1.07),
	ratio("G1", "guarded acquire, p50 / own plain", "ours, guard", "ours", "acquire_us.p50", must=1.5),
	*(ratio("G2", "256 in flight: plain pairs/s / own %s" % what, "ours, 256", "ours, 256, %s" % what, "pairs_per_s",
		must=must) for what, must in (("guard", 1.9), ("fence", 2.5))),
	*(ratio("G2", "raw: plain / %s: the limit here" % what, "raw, 256", "raw, 256, %s" % what, "pairs_per_s")
		for what in ("guard", "fence")),
	ratio("T5", "256 in flight, guarded: raw that asks 3 of 5 nodes: pairs/s / raw", "raw, 256, guard, thrifty",
		"raw, 256, guard", "pairs_per_s", more_is_better=True),
	*(ratio("T5", "one at a time: the same, pair %s / raw" % q, "raw, guard, thrifty", "raw, guard", "pair_us.%s" % q)
		for q in ("p50", "p99")),
	*(Row("G3", "redlock %s on 31 nodes" % name, (name,), lambda r: r["pair_us"]["p50"] / 1e6, must=1, unit="s")
		for name in ("init", "doctor")),
	*(ratio("K1", "%s%s, pair p50 / own plain" % (name, over), "ours, " + name + suffix, "ours" + suffix, "pair_us.p50",
		must=must)
		for over, suffix in (("", ""), (" over Unix sockets", ", unix"))
		for name, must in (("shared", 1.5), ("3 slots", 1.3), ("2 names", 1.5))),
	Row("R1", "sticky lock: acquire p50", ("ours, sticky",), lambda r: r["acquire_us"]["p50"], must=0.3, unit="us"),
	Row("R1", "sticky lock: mean of a pair, 1e6 pairs with real releases", ("ours, sticky",),
		lambda r: r["seconds"] / r["pairs"] * 1e6, must=1, unit="us"),
	ratio("B1", "redlock run NAME -- true, p50 / rawrun", "ours run", "raw run", "pair_us.p50", must=1.4, aim=1.3),
	Row("M1", "peak memory of the latency test", ("ours",), lambda r: r["peak_kb"] / 1024, must=6, aim=5, unit="MB"),
	# Rounded: a buffer may grow once more when a server lags as never before. tests/budget counts exactly.
	Row("A1", "allocations per pair, warm, to 0.01", ("allocations",),
		lambda r: round(r["allocations"] / r["pairs"], 2), must=0, aim=0),
]


def select(ids):
	"""The rows of these ids (all for none), and the runs they need, in order."""
	unknown = set(ids) - {row.id for row in ROWS}
	if unknown:
		raise ValueError("no such row: %s; there are %s" % (", ".join(sorted(unknown)),
			", ".join(dict.fromkeys(row.id for row in ROWS))))
	rows = [row for row in ROWS if not ids or row.id in ids]
	needed = {name for row in rows for name in row.runs}
	return rows, [name for name in RUNS if name in needed]
