# SPDX-License-Identifier: MIT
"""The rules of slots (docs/decisions/names-and-slots.md), each left out once: rows as in patches.py."""

SLOTS_DEFECTS = {
	53: "of several slots one is held twice, or more are held than there are",
	54: "who waits for a slot is not woken, or overtaken, or held up by others",
}

CORE = "src/core/slots.c"
SLOT_LUA = "ops/slot.lua"
COUNT_LUA = "ops/lib/slots.lua"
BESIDE_LUA = "ops/lib/slots.lua"
ENTER_LUA = "ops/slot_enter.lua"
RELEASE_LUA = "ops/slot_release.lua"

SLOTS_ROWS = [
	("slots: a yes for any slot counts", 18, CORE, "\t\tc.yes = count(l, leading(l));\n", "\t\t(void)count;\n"),
	("slots: a slot beyond the last one", 53, CORE, "(uint64_t)slot >= l->rules->slots", "false"),
	("slots: a node that gave another one may confirm this one", 53, CORE, "\t\t\tl->claim.refused |= 1u << i;\n", "\t\t\tcontinue;\n"),
	("slots: the name is extended instead of the slot", 53, "src/operate.c",
		"bool of_slot = operation == RL_OP_EXTEND || operation == RL_OP_QUERY;", "bool of_slot = false;"),
	("slots: any number of them", 53, SLOT_LUA, "if differ then return", "if false then return"),
	("slots: what only the other number has is not looked at", 53, COUNT_LUA, "for i = tonumber(most), math.min", "for i = 64, math.min"),
	("slots: a key of another type is overwritten", 53, SLOT_LUA,
		'if not has[at] and redis.call("set", KEYS[at], ARGV.token, "nx", "px", ARGV.ttl) then', 'if not has[at] and redis.call("set", KEYS[at], ARGV.token, "px", ARGV.ttl) then'),
	("slots: only the first that has the token is released", 53, RELEASE_LUA, "for i = 2, #KEYS - 1 do\n  if has[i] == token then", "for i = 2, 2 do\n  if has[i] == token then"),
	("slots: who waits for the name holds up the others", 54, BESIDE_LUA, 'string.find(all, "1w%x+%.0%d+ ") or #all + 1', "1"),
	("slots: who is served wakes nobody", 54, ENTER_LUA, "  if #spare > 1 then", "  if false then"),
	("slots: a failed attempt wakes the next one", 54, "src/core/kinds.c", "fx->queue.quiet = true;", "fx->queue.quiet = false;"),
	("slots: the next try begins at the same one", 54, CORE, "e->around.entropy % l->rules->slots", "0 * e->around.entropy"),
	("slots: a place that reads as one for the name", 54, "src/places.c", 'lock->core.rules->slots > 0 ? "0" : ""', '""'),
]
