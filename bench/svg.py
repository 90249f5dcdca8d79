# SPDX-License-Identifier: MIT
"""Line charts as SVG, with nothing but the standard library."""
import html
import math

WIDTH, HEIGHT = 900, 480
LEFT, RIGHT, TOP, BOTTOM = 80, 260, 50, 60
COLORS = ("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#7b4fa3", "#00798c", "#8d6346", "#555555", "#e377c2",
	"#9aa700", "#111111")


class Axis:
	"""From values to pixels. `log`: decades; ticks are [(value, text)] or made up here."""

	def __init__(self, values, begin, end, log=False, ticks=None):
		low, high = min(values), max(values)
		self.log = log
		if ticks:
			low, high = min(low, ticks[0][0]), max(high, ticks[-1][0])
		elif not log:
			low = min(0, low)
		if low == high:
			low, high = (low / 2, high * 2) if low > 0 else (low, low + 1)
		self.low, self.high, self.begin, self.end = low, high, begin, end
		self.ticks = ticks or (self._decades() if log else self._steps())

	def place(self, value):
		scale = math.log if self.log else float
		share = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
		return self.begin + share * (self.end - self.begin)

	def _decades(self):
		found = [m * 10.0 ** e for e in range(-3, 10) for m in (1, 2, 5)]
		inside = [value for value in found if self.low <= value <= self.high]
		return [(value, _text(value)) for value in inside]

	def _steps(self):
		step = 10 ** math.floor(math.log10(self.high - self.low))
		while (self.high - self.low) / step < 5:
			step /= 2
		return [(i * step, _text(i * step)) for i in range(int(self.high / step) + 1)]


def _text(value):
	for size, letter in ((1e6, "M"), (1e3, "k")):
		if value >= size:
			return "%g%s" % (value / size, letter)
	return "%g" % value


def _label(x, y, text, anchor="middle", extra=""):
	return '<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>' % (x, y, anchor, extra, html.escape(text))


def _frame(x, y, title, x_label, y_label):
	yield _label(LEFT, 28, title, "start", 'font-size="16" font-weight="bold"')
	for value, text in x.ticks:
		at = x.place(value)
		yield '<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>' % (at, TOP, at, HEIGHT - BOTTOM)
		yield _label(at, HEIGHT - BOTTOM + 18, text)
	for value, text in y.ticks:
		at = y.place(value)
		yield '<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (LEFT, at, WIDTH - RIGHT, at)
		yield _label(LEFT - 8, at + 4, text, "end")
	yield _label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_label)
	yield _label(0, 0, y_label, extra='transform="translate(20 %d) rotate(-90)"' % ((TOP + HEIGHT - BOTTOM) / 2))


def _curves(x, y, series, dots):
	for i, (name, points) in enumerate(series.items()):
		color = COLORS[i % len(COLORS)]
		places = ["%.1f,%.1f" % (x.place(a), y.place(b)) for a, b in points]
		yield '<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>' % (color, " ".join(places))
		for place in places if dots else ():
			yield '<circle cx="%s" cy="%s" r="3" fill="%s"/>' % (*place.split(","), color)
		at = TOP + 10 + 20 * i
		yield '<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="3"/>' % (
			WIDTH - RIGHT + 12, at, WIDTH - RIGHT + 36, at, color)
		yield _label(WIDTH - RIGHT + 42, at + 4, name, "start")


def line_chart(path, title, x_label, y_label, series, x_log=False, y_log=False, x_ticks=None, dots=True):
	"""Writes a chart of `series`: {name: [(x, y)]}. On a logarithmic axis points at zero or below are left out."""
	shown = {name: [(a, b) for a, b in points if not (x_log and a <= 0 or y_log and b <= 0)]
		for name, points in series.items()}
	shown = {name: points for name, points in shown.items() if points}
	if not shown:
		return
	x = Axis([a for points in shown.values() for a, _ in points], LEFT, WIDTH - RIGHT, x_log, x_ticks)
	y = Axis([b for points in shown.values() for _, b in points], HEIGHT - BOTTOM, TOP, y_log)
	parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" '
		'font-size="12">' % (WIDTH, HEIGHT), '<rect width="100%" height="100%" fill="white"/>']
	parts += [*_frame(x, y, title, x_label, y_label), *_curves(x, y, shown, dots), "</svg>"]
	with open(path, "w") as f:
		f.write("\n".join(parts) + "\n")


def percentile_curve(sorted_values, points=120):
	"""[(1 / (1 - p), value)] of the share p of the samples that is not above the value; for a logarithmic axis."""
	count = len(sorted_values)
	inverse = [count ** (i / points) for i in range(points)] if count > 1 else []
	return [(v, sorted_values[min(count - 1, int(count * (1 - 1 / v)))]) for v in inverse]


PERCENTILE_TICKS = [(1, "0 %"), (2, "50 %"), (10, "90 %"), (100, "99 %"), (1000, "99.9 %"), (10000, "99.99 %")]
