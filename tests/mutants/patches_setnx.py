# SPDX-License-Identifier: MIT
"""The rules of locks of the old SETNX protocol (docs/decisions/setnx.md), each left out once: rows as in patches.py."""

SETNX_DEFECTS = {
	57: "a lock by time is not given back, or somebody else's is",
	58: "a lock by time is lost, kept or shortened although it is ours",
}

KINDS = "src/core/kinds.c"
CLAIM_LUA = "ops/setnx.lua"
EXTEND_LUA = "ops/setnx_extend.lua"
RELEASE_LUA = "ops/setnx_release.lua"
PART_LUA = "ops/lib/setnx.lua"

# Up to the first blank line: in the library's tables, and the signature of an operation. Then in the scripts.
SETNX_ROWS = [
	("setnx: a release looks for the token as the value", 57, KINDS,
		"[REDLOCK_OP_RELEASE] = {RL_OP_SETNX_RELEASE, rl_round_weigh_release,", "[REDLOCK_OP_RELEASE] = {RL_OP_RELEASE, rl_round_weigh_release,"),
	("setnx: a failed attempt gives back a plain lock", 57, CLAIM_LUA, "undo by setnx_release", "undo by release"),
	("setnx: a late claim is not feared", 57, CLAIM_LUA, "; harmful when late", ""),
	("setnx: a failed attempt gives back only where it has proof", 57, KINDS,
		".renews_early = true,\n            .give_back = from_all,", ".renews_early = true,\n            .give_back = where_proven,"),
	("setnx: a failed attempt with an own value gives back everywhere", 57, KINDS,
		".renews_early = true,\n            .give_back = where_proven,", ".renews_early = true,\n            .give_back = from_all,"),
	("setnx: an extend looks for the token as the value", 58, KINDS,
		"[REDLOCK_OP_EXTEND] = {RL_OP_SETNX_EXTEND, rl_round_weigh_extend,", "[REDLOCK_OP_EXTEND] = {RL_OP_EXTEND, rl_round_weigh_extend,"),
	("setnx: an extend claims anew", 58, KINDS,
		"[REDLOCK_OP_EXTEND] = {RL_OP_SETNX_EXTEND, rl_round_weigh_extend,", "[REDLOCK_OP_EXTEND] = {RL_OP_SETNX, rl_round_weigh_extend,"),
	("setnx: one vote for an extend is enough", 58, KINDS,
		"{RL_OP_SETNX_EXTEND, rl_round_weigh_extend, REDLOCK_E_LOST}", "{RL_OP_SETNX_EXTEND, rl_round_weigh_release, REDLOCK_E_LOST}"),
	("setnx: a query compares the value", 58, "src/core/state.h",
		'"query by time", RL_TELLS_KEY | RL_TELLS_FINDING)', '"query by time", RL_TELLS_FINDING)'),
	("setnx: an own value is extended as that of a plain lock", 58, KINDS,
		".asks[RL_ASK_ATTACH] = {RL_OP_SETNX_EXTEND,", ".asks[RL_ASK_ATTACH] = {RL_OP_EXTEND,"),

	("setnx: what is somebody else's is deleted", 57, RELEASE_LUA, 'if ours then redis.call("del", KEYS.name) end', 'redis.call("del", KEYS.name)'),
	("setnx: the token stays beside what is another's", 57, RELEASE_LUA, "if token == ARGV.token then", "if ours then"),
	("setnx: a time that has an expiry is taken over", 57, CLAIM_LUA, ' and redis.call("pttl", KEYS.name) == -1', ""),
	("setnx: a time that is not past is taken over", 57, CLAIM_LUA, "ends < tonumber(time[1])", "ends < tonumber(time[1]) + 5"),
	("setnx: a dead holder's time is respected for ever", 58, CLAIM_LUA, "local over = ends and", "local over = false and"),
	("setnx: any time beside our token is ours", 58, PART_LUA, " and is == wrote and left >= 0", " and left >= 0"),
	("setnx: a time that was written late is ours", 58, PART_LUA, "age <= 1000", "age <= 100000"),
	("setnx: a time beyond ours is ours", 58, PART_LUA, "ends <= wrote + 1", "ends <= wrote + 100"),
	("setnx: an extend over another's time shortens", 58, EXTEND_LUA,
		'left < 0 and math.max(ARGV.ttl, redis.call("pttl", KEYS.setnx)) or ARGV.ttl', "ARGV.ttl"),
]
