# SPDX-License-Identifier: MIT
"""
The rules of shared locks (docs/decisions/shared.md), each left out once: rows as in patches.py.
"""

SHARED_DEFECTS = {
	55: "readers are admitted, kept or woken wrongly",
	56: "an upgrade leaves two, waits, or is not taken back",
}

SHARE = "src/core/share.c"
SHARE_LUA = "ops/share.lua"
EXTEND_LUA = "ops/share_extend.lua"
RELEASE_LUA = "ops/share_release.lua"
UPGRADE_LUA = "ops/lib/shared.lua"
READERS_LUA = "ops/lib/queue.lua"

SHARED_ROWS = [
	("shared: a set of somebody else is joined", 55, SHARE_LUA, "if math.abs(moment + left - top) > 1000 then top = nil end", ""),
	("shared: who waits for an exclusive one keeps nobody out", 55, SHARE_LUA, "(not writer or found and found < writer)", "(not writer or true)"),
	("shared: a token has a second vote", 55, SHARE_LUA, "if open and not ours and", "if open and"),
	("shared: the key outlives its last holder", 55, RELEASE_LUA, '  redis.pcall("pexpireat", KEYS.name, latest[2])\n', ''),
	("shared: readers after the first are not woken with it", 55, READERS_LUA, 'while mark and kind == "1r" do', "while false do"),
	("shared: what the gate says is not waited for", 55, SHARE, "if (rl_queue_gate_vote(l) != REDLOCK_KIND_PENDING && !unsure)", "if (!unsure || unsure)"),
	("shared: a fresh client takes any node for the gate", 55, SHARE, "bool unsure = is_first(l) && !e->around.ordered &&", "bool unsure = is_first(l) && l->phase == RL_IDLE &&"),
	("shared: a gate is waited for to the end of its time", 55, SHARE,
		"l->round.deadline_ns = rl_time_min(l->round.deadline_ns, rl_time_add(e->now_ns, patience));", "(void)patience;"),
	("shared: a late answer says that nobody waits", 55, SHARE, "if (l->claim.open) /*", "if (l->claim.open || !l->claim.open) /*"),
	("shared: handles of one client enter one by one", 55, "src/places.c",
		"if (rl_places_are_apart(lock))\n\t\treturn 0;", "if (false)\n\t\treturn 0;"),
	("upgrade: although another one has it", 19, UPGRADE_LUA, '"+inf") > 1 then', '"+inf") > 2 then'),
	("upgrade: what is turned in part stays", 56, EXTEND_LUA, 'redis.call("get", KEYS.name) ~= ARGV.token)', "true)"),
	("share: a token alone turns an exclusive lock", 55, EXTEND_LUA, 'ARGV.turns ~= "1" or ', ""),
	("upgrade: nothing is turned back at once", 56, SHARE, "if (turned) /*", "if (turned && l->phase == RL_IDLE) /*"),
	("upgrade: what is left of a longer share is not asked for", 56, "src/core/hold.c", "if (missing == 0)", "if (missing == 0 || true)"),
	("upgrade: a later extend is not doubted", 56, "src/core/kinds.c",
		"[REDLOCK_OP_EXTEND] = {RL_OP_UPGRADE,", "[REDLOCK_OP_EXTEND] = {RL_OP_EXTEND,"),
	("upgrade: a lost lock is busy", 56, SHARE, "|| gone >= l->rules->quorum", "|| gone > l->rules->node_count"),
	("upgrade: who may still say that it is lost is not waited for", 56, SHARE, "if (refused && gone + rl_round", "if (false && gone + rl_round"),
	("upgrade: another client's key is no loss", 56, UPGRADE_LUA, "verdict = -1\n    end\n  else", "verdict = 0\n    end\n  else"),
	("upgrade: of a lock that is not held", 56, SHARE, "l->phase != RL_HELD || l->policy", "l->policy"),
]
