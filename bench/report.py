# SPDX-License-Identifier: MIT
"""The report of bench/run: the table, JSON, and the plot of the latencies."""
import json
import os
import statistics

import noise
import rows as bar
import svg


def _given(names, rounds):
	return [[results[name] for name in names] for results in rounds]


def beside(row, names, rounds):
	"""The figures of other runs for the same row; None where there are none."""
	return statistics.median(row.value(*given) for given in _given(names, rounds)) if names else None


def evaluate(row, rounds):
	"""The row's value of each round, their median, and what it meets."""
	given = _given(row.runs, rounds)
	values = [row.value(*results) for results in given]
	value = statistics.median(values)
	aim = statistics.median(row.aim(*results) for results in given) if callable(row.aim) else row.aim
	if row.must is None:
		verdict = "reported"
	elif not row.meets(value, row.must):
		verdict = "NOT MET"
	else:
		verdict = "aim met" if aim is not None and row.meets(value, aim) else "met"
	return {"id": row.id, "what": row.text, "value": value, "values": values, "unit": row.unit, "must": row.must,
		"aim": aim, "verdict": verdict}


def verdict_of_machine(rounds):
	foreign = [result["foreign_percent"] for results in rounds for result in results.values()]
	probe = [results["raw"]["pair_us"]["p50"] for results in rounds if "raw" in results]
	return noise.verdict(foreign, probe)


def _number(value):
	return "-" if value is None else "%.2f" % value if value < 100 else "%.0f" % value


def print_table(table):
	probes = list(table[0].get("limits", ()))
	print("%-3s %-56s %9s %-19s %6s %6s  %-8s" % ("", "", "measured", "(rounds from - to)", "must", "aim", "")
		+ "".join("%8s" % probe for probe in probes))
	for line in table:
		spread = "(%s - %s)%s" % (_number(min(line["values"])), _number(max(line["values"])),
			" " + line["unit"] if line["unit"] else "")
		text = "%-3s %-56s %9s %-19s %6s %6s  %-8s" % (line["id"], line["what"], _number(line["value"]), spread,
			_number(line["must"]), _number(line["aim"]), line["verdict"])
		print((text + "".join("%8s" % _number(line["limits"][probe]) for probe in probes)).rstrip())


def _cells(line):
	"""JSON has no infinity: there it is null."""
	number = lambda value: _number(float("inf") if value is None else value)
	values = [float("inf") if value is None else value for value in line["values"]]
	return [line["id"], line["what"], " ".join([number(line["value"]), line["unit"]]).strip(),
		"%s - %s" % (_number(min(values)), _number(max(values))), _number(line["must"]), _number(line["aim"]),
		line["verdict"]] + [_number(value) for value in line.get("limits", {}).values()]


def markdown(run):
	"""The table from the JSON of an earlier run."""
	probes = list(run["table"][0].get("limits", ()))
	yield "| | what | measured | rounds from - to | must | aim | |" + "".join(" %s |" % probe for probe in probes)
	yield "|---|---|--:|--:|--:|--:|---|" + "--:|" * len(probes)
	for line in run["table"]:
		yield "| %s |" % " | ".join(_cells(line))
	yield "\n%(date)s, commit %(commit)s, `%(command)s`, rounds: %(rounds_done)d; %(noise)s." % run


CROWD = (("turns/s", "rate", 1), ("hand-off us", "handoff_us.p50", 1), ("wait p50 ms", "wait_us.p50", 1e-3),
	("p99 ms", "wait_us.p99", 1e-3), ("longest ms", "wait_us.max", 1e-3), ("fewest", "fewest", 1), ("most", "most", 1))


def _median(results, path, scale):
	for part in path.split("."):
		results = [result and result[part] for result in results]
	return None if None in results else scale * statistics.median(results)


def print_crowds(rounds):
	"""The figures themselves, of many who want one name."""
	names = [name for name in rounds[0] if "wait_us" in rounds[0][name]]
	if names:
		print("\n%-21s" % "medians of the rounds" + "".join("%13s" % title for title, _, _ in CROWD))
	for name in names:
		results = [of[name] for of in rounds]
		print("%-21s" % name + "".join("%13s" % _number(_median(results, path, scale)) for _, path, scale in CROWD))


def print_latencies(rounds):
	"""The figures themselves, of what was run one at a time."""
	print("\nmicroseconds per acquire + release (medians of the rounds)")
	for name in rounds[0]:
		figures = [results[name]["pair_us"] for results in rounds]
		if bar.RUNS[name].count > 1 or not all(figures):
			continue
		points = [("p50", "p50"), ("p99", "p99")]
		if min(results[name]["pairs"] for results in rounds) >= 1000:
			points.append(("p99.9", "p999"))
		print("  %-22s" % name + "".join("  %s %8.1f" % (text, statistics.median(f[key] for f in figures))
			for text, key in points))


def print_flows(rounds):
	names = [name for name in rounds[0] if bar.RUNS[name].count > 1]
	if names:
		print("\npairs per second")
	for name in names:
		print("  %-22s  %8.0f" % (name, statistics.median(r[name]["pairs_per_s"] for r in rounds)))


def _finite(value):
	"""JSON has no infinity."""
	if isinstance(value, dict):
		return {key: _finite(inner) for key, inner in value.items()}
	if isinstance(value, (list, tuple)):
		return [_finite(inner) for inner in value]
	return None if value in (float("inf"), float("-inf")) else value


def write_json(path, facts, table, rounds):
	plain = [{name: {key: value for key, value in result.items() if key != "samples_ns"}
		for name, result in results.items()} for results in rounds]
	with open(path, "w") as f:
		json.dump(_finite(dict(facts, table=table, rounds=plain)), f, indent="\t")
		f.write("\n")


def write_plot(path, title, names, rounds):
	series = {}
	for name in names:
		if name in rounds[0]:
			merged = sorted(ns for results in rounds for ns in results[name]["samples_ns"])
			series[name] = [(v, ns / 1000) for v, ns in svg.percentile_curve(merged)]
	if series:
		svg.line_chart(path, title, "this share took at most", "us", series, x_log=True, y_log=True,
			x_ticks=svg.PERCENTILE_TICKS, dots=False)


def write_all(directory, facts, table, rounds):
	os.makedirs(directory, exist_ok=True)
	write_json(os.path.join(directory, "run.json"), facts, table, rounds)
	write_plot(os.path.join(directory, "latency.svg"), "Acquire + release, five servers on one machine",
		bar.LATENCY_CURVES, rounds)
