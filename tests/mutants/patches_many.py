# SPDX-License-Identifier: MIT
"""
The rules of several names at once, and of handles that are entered again (docs/decisions/names-and-slots.md), each left out once: rows as
in patches.py.
"""

MANY_DEFECTS = {
	51: "of several names only some are taken, kept or given back",
	52: "a handle that is entered again is held too long, or not at all",
}

TAKE_LUA = "ops/lib/keys.lua"
LENGTHEN_LUA = "ops/lib/keys.lua"
RELEASE_LUA = "ops/release_all.lua"
LINE_UP_LUA = "ops/enter_all.lua"
MANY = "src/core/many.c"
SUBMIT = "src/net/submit.c"
LIFE = "src/life.c"
OPERATE = "src/operate.c"

MANY_ROWS = [
	("several: a busy second name is not seen", 51, TAKE_LUA, "for i = first, last do\n    left =", "for i = first, first do\n    left ="),
	("several: the first key alone says that it is held", 51, LENGTHEN_LUA,
		"for i = first, last do\n    if redis", "for i = first, first do\n    if redis"),
	("several: the first key alone is lengthened", 51, LENGTHEN_LUA,
		"for i = first, last do\n    local left", "for i = first, first do\n    local left"),
	("several: the first key alone is released", 51, RELEASE_LUA, "for i = 1, names do", "for i = 1, 1 do"),
	("several: released, although one was gone", 51, RELEASE_LUA, "if gone > 0 then", "if false then"),
	("several: nobody is told that others wait", 51, RELEASE_LUA, 'waits = waits or line ~= ""', "waits = false"),
	("several: who waits for the first name alone is woken", 51, RELEASE_LUA,
		"for i = names + 1, #KEYS do", "for i = names + 1, math.min(#KEYS, names + 1) do"),
	("several: an attempt that has failed wakes", 51, RELEASE_LUA, 'line ~= "" and ARGV.quiet == "" and open', 'line ~= "" and open'),
	("several: a place that is given up stays", 51, RELEASE_LUA, "line = queue.leave(line, nil, ARGV.place)", ""),
	("several: out of turn", 51, LINE_UP_LUA, 'local turn = free and (mine or line == "")', "local turn = free"),
	("several: a turn that is of no use is kept", 51, LINE_UP_LUA, "if turn then\n  if mine then", "if turn then\n  if false then"),
	("several: some are taken at its turn", 51, LINE_UP_LUA, "if turn and way == 0 then", "if turn then"),
	("several: in line for the first name, whichever is held", 51, MANY, "l->queue.obstacle - 1)", "0)"),
	("several: a place that it has no more", 51, MANY, "l->queue.placed = false;", ""),
	("several: a gate that is won is kept for long", 51, "src/core/enter.c",
		"possible &= !l->queue.handed && !l->policy->several;", "possible &= !l->queue.handed;"),
	("several: other handles of the client wait for it", 51, "src/places.c",
		"return policy->shares || policy->several;", "return policy->shares;"),
	("several: one name twice", 51, LIFE, "if (find_name(names, name) < i)", "if (false)"),
	("several: a claim that the server has forgotten is not asked again", 51, SUBMIT,
		"!guarded && !op->several && op->plainly", "!guarded && op->plainly"),
	("entered again: freed, and not released", 52, LIFE, "\tlock->entries = 0;\n", ""),
	("entered again: without the option", 52, "src/call.c", "if (lock->reentrant && counts(c, lock, event))", "if (counts(c, lock, event))"),
	("entered again: the first release is the last", 52, "src/call.c", "event->kind == RL_EV_RELEASE && lock->entries > 0;", "false;"),
]
