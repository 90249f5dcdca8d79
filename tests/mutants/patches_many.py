# SPDX-License-Identifier: MIT
"""
The rules of several names at once, and of handles that are entered again (docs/decisions/many.md), each left out once: rows as
in patches.py.
"""

MANY_DEFECTS = {
	46: "of several names only some are taken, kept or given back",
	47: "a handle that is entered again is held too long, or not at all",
}

TAKE_LUA = "scripts/parts/take.lua"
LENGTHEN_LUA = "scripts/parts/lengthen.lua"
RELEASE_LUA = "scripts/release_all.lua"
SUBMIT = "src/net/submit.c"
HANDLE = "src/handle.c"
OPERATE = "src/operate.c"

MANY_ROWS = [
	("several: a busy second name is not seen", 46, TAKE_LUA, "for i = 1, names do\n  local left", "for i = 1, 1 do\n  local left"),
	("several: the first key alone says that it is held", 46, LENGTHEN_LUA,
		"for i = 1, names do\n  if redis", "for i = 1, 1 do\n  if redis"),
	("several: the first key alone is lengthened", 46, LENGTHEN_LUA,
		"for i = 1, names do\n  local left", "for i = 1, 1 do\n  local left"),
	("several: the first key alone is released", 46, RELEASE_LUA, "for i = 1, names do", "for i = 1, 1 do"),
	("several: released, although one was gone", 46, RELEASE_LUA, "if gone > 0 then", "if false then"),
	("several: nobody is told that others wait", 46, RELEASE_LUA, 'type(left) == "number" and left ~= -2', "false"),
	("several: who waits for the first name alone is woken", 46, SUBMIT, "while (rl_names_next(&r.also, &r.name));", "while (false);"),
	("several: one name twice", 46, HANDLE, "memcmp(name->bytes, names->list[j].bytes, name->len) == 0)", "false)"),
	("several: a claim that the server has forgotten is not asked again", 46, SUBMIT,
		"!guarded && !op->several && op->plainly", "!guarded && op->plainly"),
	("several: as one that waits at a gate", 46, "src/core/acquire.c",
		"result == REDLOCK_E_BUSY && rl_policy_of(l)->contends;", "result == REDLOCK_E_BUSY;"),
	("entered again: freed, and not released", 47, HANDLE, "\tlock->entries = 0;\n", ""),
	("entered again: without the option", 47, OPERATE, "if (lock->reentrant && counts(c, lock, event))", "if (counts(c, lock, event))"),
	("entered again: the first release is the last", 47, OPERATE, "event->kind == RL_EV_RELEASE && lock->entries > 0;", "false;"),
]
