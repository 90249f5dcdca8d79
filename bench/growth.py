# SPDX-License-Identifier: MIT
"""The work of bench/scale: series of the same work in growing sizes, and which figures of it are drawn."""
import dataclasses

from programs import Run

IN_FLIGHT = (1, 4, 16, 64, 256, 1024, 4096)
THREADS = (1, 2, 4, 16, 64, 256)
NODES = (1, 3, 5, 7, 9, 11, 13, 15)
NAMES = (8, 64, 512, 4096, 16384, 65536)
HELD = (1000, 10000, 30000, 100000)
SHARED = (100, 1000, 10000)
KEEPER_S = 41  # four renewals of each lock


@dataclasses.dataclass(frozen=True)
class Chart:
	"""One figure over the sizes, a line for each series."""
	file: str
	title: str
	y_label: str
	figure: str  # "pair_us.p50" or "pairs_per_s"


@dataclasses.dataclass(frozen=True)
class Growth:
	name: str
	x_label: str
	sizes: tuple
	series: dict  # name: function from a size to a Run
	charts: tuple
	seconds: float = 1.5  # of one run; quick: less
	x_log: bool = True


def _latency(program, **sizes):
	return Run(program, pairs=100000, **sizes)


GROWTHS = (
	Growth("in-flight", "locks in flight", IN_FLIGHT,
		{"raw": lambda n: Run("raw", count=n), "ours": lambda n: Run("inflight", count=n)},
		(Chart("in-flight-rate", "One thread, five servers", "pairs per second", "pairs_per_s"),
		Chart("in-flight-latency", "One thread, five servers: time per pair", "us, median", "pair_us.p50"),
		Chart("in-flight-cpu", "Own processor time per pair", "us", "cpu_us_per_pair"),
		Chart("in-flight-memory", "Peak memory", "kB", "peak_kb"))),
	Growth("threads", "threads", THREADS,
		{"private connections, no library": lambda n: Run("rawthreads", count=n),
			"one shared client": lambda n: Run("threads", count=n)},
		(Chart("threads-rate", "Blocking calls, five servers", "pairs per second", "pairs_per_s"),
		Chart("threads-latency", "Blocking calls, five servers: time per pair", "us, p99", "pair_us.p99"))),
	Growth("nodes", "servers", NODES,
		{"raw": lambda n: _latency("raw", nodes=n), "ours": lambda n: _latency("latency", nodes=n)},
		(Chart("nodes-latency", "One at a time, all servers on one machine", "us, median", "pair_us.p50"),),
		x_log=False),
	Growth("names", "bytes of the name", NAMES,
		{"raw": lambda n: _latency("raw", name_size=n), "ours": lambda n: _latency("latency", name_size=n)},
		(Chart("names-latency", "One at a time, five servers", "us, median", "pair_us.p50"),)),
	Growth("keeper", "locks held, renewed every 10 s, TTL 30 s", HELD,
		{"keeper": lambda n: Run("keeper", count=n, watched=True)},
		(Chart("keeper-cpu", "Processor time of the keeper", "percent of one core", "keeper_cpu_percent"),
		Chart("keeper-lateness", "Worst renewal: how late it began", "ms", "latest_ms"),
		Chart("keeper-left", "Worst renewal: validity that was left", "ms", "least_left_ms"),
		Chart("keeper-lost", "Locks lost", "locks", "lost"),
		Chart("keeper-memory", "Peak memory", "kB", "peak_kb"),
		Chart("keeper-server", "Processor time of a server per renewal", "us", "server_us_per_renewal")),
		seconds=KEEPER_S),
	Growth("shared", "holders that share one name, renewed every 10 s, TTL 30 s", SHARED,
		{"locks of a name each": lambda n: Run("keeper", count=n, watched=True),
			"one name, shared": lambda n: Run("keeper", count=n, watched=True, shared=True)},
		(Chart("shared-commands", "Commands in the script of a renewal", "commands", "commands_per_renewal"),
		Chart("shared-server", "Processor time of a server per renewal", "us", "server_us_per_renewal"),
		Chart("shared-bytes", "Memory of a server per holder", "bytes", "bytes_per_holder"),
		Chart("shared-lateness", "Worst renewal: how late it began", "ms", "latest_ms"),
		Chart("shared-lost", "Locks lost", "locks", "lost")),
		seconds=KEEPER_S),
)


def select(names):
	unknown = set(names) - {growth.name for growth in GROWTHS}
	if unknown:
		raise ValueError("nothing is called %s; there are %s" % (", ".join(sorted(unknown)),
			", ".join(growth.name for growth in GROWTHS)))
	return [growth for growth in GROWTHS if not names or growth.name in names]
