# SPDX-License-Identifier: MIT
"""What bench/run says: the table, JSON, and the plot of the latencies."""
import array
import json
import os
import statistics

import noise
import rows as bar
import svg


def evaluate(row, rounds):
	"""The row's value of each round, their median, and what it meets."""
	given = [[results[name] for name in row.runs] for results in rounds]
	values = [row.value(*results) for results in given]
	value = statistics.median(values)
	aim = statistics.median(row.aim(*results) for results in given) if callable(row.aim) else row.aim
	if row.must is None:
		verdict = "reported"
	elif not row.meets(value, row.must):
		verdict = "NOT MET"
	else:
		verdict = "aim met" if row.meets(value, aim) else "met"
	return {"id": row.id, "what": row.text, "value": value, "values": values, "unit": row.unit, "must": row.must,
		"aim": aim, "verdict": verdict}


def verdict_of_machine(rounds):
	foreign = [result["foreign_percent"] for results in rounds for result in results.values()]
	probe = [results["raw"]["pair_us"]["p50"] for results in rounds if "raw" in results]
	return noise.verdict(foreign, probe)


def _number(value):
	return "-" if value is None else "%.2f" % value if value < 100 else "%.0f" % value


def print_table(table):
	print("%-3s %-56s %9s %-19s %6s %6s  %s" % ("", "", "measured", "(rounds from - to)", "must", "aim", ""))
	for line in table:
		spread = "(%s - %s)%s" % (_number(min(line["values"])), _number(max(line["values"])),
			" " + line["unit"] if line["unit"] else "")
		print("%-3s %-56s %9s %-19s %6s %6s  %s" % (line["id"], line["what"], _number(line["value"]), spread,
			_number(line["must"]), _number(line["aim"]), line["verdict"]))


def markdown(run):
	"""The table from the JSON of an earlier run."""
	yield "| | what | measured | rounds from - to | must | aim | |"
	yield "|---|---|--:|--:|--:|--:|---|"
	for line in run["table"]:
		yield "| %s | %s | %s | %s - %s | %s | %s | %s |" % (line["id"], line["what"],
			" ".join([_number(line["value"]), line["unit"]]).strip(), _number(min(line["values"])),
			_number(max(line["values"])), _number(line["must"]), _number(line["aim"]), line["verdict"])
	yield "\n%(date)s, commit %(commit)s, `%(command)s`, rounds: %(rounds_done)d; %(noise)s." % run


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


def write_json(path, facts, table, rounds):
	plain = [{name: {key: value for key, value in result.items() if key != "samples_ns"}
		for name, result in results.items()} for results in rounds]
	with open(path, "w") as f:
		json.dump(dict(facts, table=table, rounds=plain), f, indent="\t")
		f.write("\n")


def write_plot(path, rounds):
	series = {}
	for name in bar.LATENCY_CURVES:
		if name in rounds[0]:
			merged = array.array("I")
			for results in rounds:
				merged.extend(results[name]["samples_ns"])
			series[name] = [(v, ns / 1000) for v, ns in svg.percentile_curve(sorted(merged))]
	svg.line_chart(path, "Acquire + release, five servers on one machine", "this share took at most", "us",
		series, x_log=True, y_log=True, x_ticks=svg.PERCENTILE_TICKS, dots=False)


def write_all(directory, facts, table, rounds):
	os.makedirs(directory, exist_ok=True)
	write_json(os.path.join(directory, "run.json"), facts, table, rounds)
	write_plot(os.path.join(directory, "latency.svg"), rounds)
