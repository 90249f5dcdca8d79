# SPDX-License-Identifier: MIT
"""The cost of renewals for a server while many locks are held: commands of each, processor time, bytes of a holder."""
import re
import threading
import time

MARGIN_S = 1  # the program ends, and gives all locks back, so much later at least


class Watch:
	"""Looks at a server at the gate of a program that holds locks for `seconds`, and once more near its end."""

	def __init__(self, server, seconds, holders_of_a_key):
		self.server, self.seconds, self.holders = server, seconds, holders_of_a_key
		self.found = {}
		self.thread = threading.Thread(target=self._watch, daemon=True)

	def begin(self):
		self.thread.start()

	def end(self):
		self.thread.join()
		return self.found

	def _look(self):
		info = self.server.ask("INFO", "all").decode()
		field = lambda pattern: sum(map(float, re.findall(pattern, info, re.MULTILINE)))
		return {"at": time.monotonic(),
			"commands": field(r"^total_commands_processed:(\d+)"),
			"scripts": field(r"^cmdstat_eval(?:sha)?:calls=(\d+)"),
			"cpu": field(r"^used_cpu_(?:user|sys):([\d.]+)")}

	def _watch(self):
		begin = self._look()
		time.sleep(max(self.seconds - MARGIN_S, 0))
		end = self._look()
		key = self.server.ask("RANDOMKEY").decode().split("\r\n")[1]
		used = int(self.server.ask("MEMORY", "USAGE", key, "SAMPLES", "0")[1:])
		all_commands, scripts, cpu, seconds = (end[name] - begin[name] for name in ("commands", "scripts", "cpu", "at"))
		looked = 1  # a look is a command itself
		self.found = {"commands_per_renewal": (all_commands - looked - scripts) / scripts if scripts else None,
			"server_cpu_percent": 100 * cpu / seconds,
			"server_us_per_renewal": 1e6 * cpu / scripts if scripts else None,
			"bytes_per_holder": used / self.holders}
