# SPDX-License-Identifier: MIT
"""The tables of bench/rivals, from the JSON that it writes: medians of the rounds, as text or as Markdown."""
import dataclasses
import statistics
import typing


@dataclasses.dataclass(frozen=True)
class Column:
	title: str
	path: str  # "pair_us.p50"
	scale: float = 1
	fewest_pairs: int = 0  # below that a percentile says nothing


PAIR = (Column("p50 us", "pair_us.p50"), Column("p99 us", "pair_us.p99"),
	Column("p99.9 us", "pair_us.p999", fewest_pairs=1000))
COST = (Column("CPU us/pair", "cpu_us_per_pair"), Column("peak MB", "peak_kb", 1 / 1024))


@dataclasses.dataclass(frozen=True)
class Shape:
	"""The table of one kind of work. The first column is the one that is compared with ours."""
	columns: tuple
	more_is_better: bool = False
	stuck: str = ""  # what it means that nothing ended


SHAPES = {
	"latency": Shape(PAIR + COST),
	"fault": Shape(PAIR[:2] + (Column("pairs", "pairs"), Column("failed", "failed"),
		Column("growth MB", "growth_kb", 1 / 1024)), stuck="stuck: no pair ended in %.0f s"),
	"flow": Shape((Column("pairs/s", "pairs_per_s"), Column("p50 ms", "pair_us.p50", 1e-3),
		Column("p99 ms", "pair_us.p99", 1e-3)) + COST, more_is_better=True),
	"contend": Shape((Column("turns/s", "turns_per_s"), Column("hand-off p50 ms", "pair_us.p50", 1e-3),
		Column("p99 ms", "pair_us.p99", 1e-3), Column("wait p50 ms", "acquire_us.p50", 1e-3),
		Column("longest ms", "acquire_us.max", 1e-3), Column("fewest turns", "fewest"), Column("most", "most")),
		more_is_better=True),
	"command": Shape((Column("p50 ms", "pair_us.p50", 1e-3), Column("p99 ms", "pair_us.p99", 1e-3))),
}


def _value(result, column) -> typing.Optional[float]:
	if result["pairs"] < column.fewest_pairs:
		return None
	found = result
	for part in column.path.split("."):
		found = found[part] if found else None
	return None if found is None else found * column.scale


def _median(results, column):
	values = [_value(result, column) for result in results]
	return None if None in values or not values else statistics.median(values)


def number(value):
	if value is None:
		return "-"
	if value == 0:
		return "0"
	if value < 100:
		return ("%.2f" if value < 10 else "%.1f") % value
	return "{:,.0f}".format(value).replace(",", " ")


def _ratio(theirs, ours, shape):
	"""How many times better ours is, in the median of the rounds."""
	column = shape.columns[0]
	pairs = [(_value(a, column), _value(b, column)) for a, b in zip(theirs, ours)]
	if not pairs or any(not a or not b for a, b in pairs):
		return None
	return statistics.median(b / a if shape.more_is_better else a / b for a, b in pairs)


def rows(work):
	"""(titles, [(cells, or name, nodes and a reason)])."""
	shape, found = SHAPES[work["kind"]], []
	ours = {line["nodes"]: line["rounds"] for line in work["contestants"] if line["id"] in ("ours", "ours1")}
	for line in work["contestants"]:
		start = [line["name"], str(line["nodes"]) if line["nodes"] else "-"]
		if line["reason"]:
			found.append(start + [line["reason"]])
		elif shape.stuck and not any(result["pairs"] for result in line["rounds"]):
			found.append(start + [shape.stuck % statistics.median(r["seconds"] for r in line["rounds"])])
		else:
			ratio = _ratio(line["rounds"], ours.get(line["nodes"], []), shape)
			found.append(start + [number(_median(line["rounds"], column)) for column in shape.columns]
				+ [number(ratio)])
	return ["", "nodes"] + [column.title for column in shape.columns] + ["ours better x"], found


def foot(work):
	text = "%(date)s, commit %(commit)s, `%(command)s`, rounds: %(rounds)d; %(noise)s." % work
	overlaps = sum(r.get("overlaps", 0) for line in work["contestants"] for r in line["rounds"])
	return text + (" Two at once had the lock %d times." % overlaps if overlaps else "")


def text(work):
	titles, lines = rows(work)
	full = [titles] + [line for line in lines if len(line) == len(titles)]
	widths = [max(len(line[i]) for line in full + ([] if i > 1 else lines)) for i in range(len(titles))]
	out = [work["text"]]
	for line in [titles] + lines:
		cells = [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
		if len(line) != len(titles):  # a reason, over the columns
			cells[2:] = line[2:]
		out.append("  " + "  ".join(cells).rstrip())
	return "\n".join(out + ["  " + foot(work)])


def markdown(work):
	titles, lines = rows(work)
	out = ["### " + work["text"], "", "| %s |" % " | ".join(titles),
		"|---|" + "--:|" * (len(titles) - 1)]
	out += ["| %s |" % " | ".join(line + [""] * (len(titles) - len(line))) for line in lines]
	return "\n".join(out + ["", foot(work)])
