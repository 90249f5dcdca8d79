# SPDX-License-Identifier: MIT
"""The bar of waiting: what is run, and which figure of it must be how large. As rows.py, for bench/contend."""
import rows
from crowd import Crowd
from programs import Run
from rows import Row

PROBES = ("wake", "hand")  # without a library: the release wakes the next; hands over to the next
PROGRAMS = {"ours": "turns", "wake": "rawwake", "hand": "rawhand"}
WIRES = {"local": "tcp", "far": "far"}
FAULTS = ("hang", "kill", "cut")
FAULT_S, LEAST_FAULT_S = 1.6, 1.0
TTL_MS = 500  # where a holder dies
DEATH = {"seconds": 2, "least_s": 2, "ttl_ms": TTL_MS}

# In this order, which is turned around in every second round.
RUNS = {
	**{"%s %s, %s" % (who, crowd, where): Crowd(program, processes=count, wire=wire) for where, wire in WIRES.items()
		for who, program in PROGRAMS.items() for crowd, count in (("alone", 1), ("8", 8))},
	**{"ours counted, " + where: Crowd(wire=wire, counts=True) for where, wire in WIRES.items()},
	"forbidden": Crowd(user=True),
	"lost": Crowd(wire="lossy"),
	**{"%s %d" % (fault, node): Crowd(seconds=FAULT_S, least_s=LEAST_FAULT_S, incident=fault, node=node,
		wire="near" if fault == "cut" else "tcp") for fault in FAULTS for node in range(5)},
	"1000": Crowd(processes=50, threads=20, seconds=8, least_s=5, incident="count"),
	"1000 kept": Crowd(processes=50, threads=20, keeper_s=5.5, seconds=5, least_s=5, incident="count"),
	"waiters killed": Crowd(incident="waiters killed", **DEATH),
	"next killed": Crowd(incident="next killed", **DEATH),
	"holder killed": Crowd(incident="holder killed", hold_us=20000, **DEATH),
	"remote": Crowd(hold_us=0),
	"threads": Crowd(processes=1, threads=8, remote=2, hold_us=0),
	**{who + " rest": Crowd(program, rest_ms=2) for who, program in PROGRAMS.items()},
	"postgres rest": Crowd("pgturns", rest_ms=2, postgres=True),
	"latency": Run("latency", pairs=20000, seconds=4),
	"latency before": Run("latency", pairs=20000, seconds=4, before=True),
	"256": Run("inflight", count=256, seconds=2),
	"256 before": Run("inflight", count=256, seconds=2, before=True),
}

WAIT_CURVES = ("ours 8, local", "wake 8, local", "hand 8, local", "ours 8, far", "hand 8, far", "forbidden", "lost",
	"ours rest", "hand rest", "postgres rest")


def of_probe(row, probe):
	"""The runs that give the probe's figure of the same row; None where there are none."""
	names = tuple(name.replace("ours", probe) for name in row.runs)
	return names if names != row.runs and set(names) <= set(RUNS) else None


def _ratio(a, b):
	return a / b if b else float("inf")


def _rate(ours, alone):
	return ours["rate"] / alone["rate"]


def _wait(ours, alone):
	return ours["wait_us"]["p99"] / (8 * alone["turn_us"]["p50"])


def _fair(ours):
	return _ratio(ours["most"], ours["fewest"])


def _attempts(ours):
	return _ratio(ours["attempts"], ours["turns"])


def _wait_ms(ours):
	return ours["wait_us"]["p99"] / 1000


def _longest_gap(*runs):
	return max(run["gap_ms"] for run in runs)


def _beyond_ttl(run):
	return run["gap_ms"] - TTL_MS


def _trips(ours, alone):
	"""One acquire of a probe that nobody stands in the way of is one round trip."""
	return (ours["handoff_us"] or {"p50": float("inf")})["p50"] / alone["acquire_us"]["p50"]


def _remote_ms(run):
	return run["remote_us"]["max"] / 1000


def _figure(id, text, run, key, must=None, aim=None):
	return Row(id, text, (run,), lambda result: result[key], must, aim)


def _both(id, text, value, alone, bars):
	for where in WIRES:
		must, aim, more = bars[where]
		runs = ("ours 8, " + where, "ours alone, " + where)[:2 if alone else 1]
		yield Row(id, text + ", " + where, runs, value, must, aim, more)


def _without_messages():
	for run, text in (("forbidden", "user without side keys, channels"), ("lost", "every message is lost")):
		yield Row("C4", text + ": wait p99", (run,), _wait_ms, 150, 80, unit="ms")
		yield Row("C4", text + ": most / fewest", (run,), _fair, 1.5, 1.3)


def _faults():
	for fault, text in zip(FAULTS, ("hangs", "is killed", "is cut off")):
		yield Row("C5", "longest without a holder, each node %s" % text, tuple("%s %d" % (fault, i) for i in range(5)),
			_longest_gap, 300, 100, unit="ms")


ROWS = [
	*_both("C1", "rate / a single client's", _rate, True, {"local": (0.92, 0.97, True), "far": (0.95, 1.4, True)}),
	*_both("C2", "wait p99 / 8 turns of a single client", _wait, True,
		{"local": (1.25, 1.12, False), "far": (1.1, 0.75, False)}),
	*_both("C3", "most / fewest turns", _fair, False, dict.fromkeys(WIRES, (1.15, 1.05, False))),
	*(Row("C3", "attempts / turn, " + where, ("ours counted, " + where,), _attempts, 1.1, 1.02) for where in WIRES),
	*_without_messages(),
	*_faults(),
	_figure("C6", "1000 waiters: commands to the busiest node / turn", "1000", "commands_per_turn", 20, 5),
	_figure("C6", "the same with those inside of scripts", "1000", "calls_per_turn"),
	_figure("C6", "1000 waiters: had no turn", "1000", "starved", 0, 0),
	_figure("C6", "nothing changes: commands / client, node and s", "1000 kept", "commands_per_client_s", 5, 1),
	Row("C7", "waiters killed: longest without a holder", ("waiters killed",), _longest_gap, 50, unit="ms"),
	Row("C7", "next in turn killed: the same beyond the TTL", ("next killed",), _beyond_ttl, 50, unit="ms"),
	Row("C7", "holder killed: the same beyond the TTL", ("holder killed",), _beyond_ttl, 50, unit="ms"),
	Row("C8", "hand-off p50, in round trips", ("ours 8, far", "wake alone, far"), _trips, 2.1, 1.2),
	Row("C9", "hold 0: 8 threads and 2 remote / 8 remote: rate", ("threads", "remote"), _rate, 4, 20, True),
	Row("C9", "the same: longest wait of the remote ones", ("threads",), _remote_ms, unit="ms"),
	Row("C10", "2 ms of rest: rate / PostgreSQL's", ("ours rest", "postgres rest"), _rate, 0.92, 0.98, True),
	rows.ratio("U", "nobody contends: pair p50 / version before", "latency", "latency before", "pair_us.p50",
		must=1.03, aim=1.0),
	rows.ratio("U", "256 in flight: pairs/s / version before", "256", "256 before", "pairs_per_s", must=0.9,
		aim=0.97, more_is_better=True),
]


def select(ids):
	"""The rows of these ids (all for none). Which runs they need: needed()."""
	unknown = set(ids) - {row.id for row in ROWS}
	if unknown:
		raise ValueError("no such row: %s; there are %s" % (", ".join(sorted(unknown)),
			", ".join(dict.fromkeys(row.id for row in ROWS))))
	return [row for row in ROWS if not ids or row.id in ids]


def needed(chosen):
	"""Names of runs, those of the probes beside them included, in order."""
	names = {name for row in chosen for name in row.runs}
	names |= {name for row in chosen for probe in PROBES for name in of_probe(row, probe) or ()}
	return [name for name in RUNS if name in names]
