# SPDX-License-Identifier: MIT
"""
The rules of several node sets (docs/decisions/quorums.md), each left out once: rows as in patches.py.
"""

SETS_DEFECTS = {
	59: "a name that moves to another node set has two holders, or a set is left out",
}

SPREAD = "src/spread.c"
JOINT = "ret->quorum = of_a > of_b ? of_a : of_b;"

SETS_ROWS = [
	("sets: the quorum of two sets is that of the old one", 59, SPREAD, JOINT, "(void)of_a, (void)of_b;\n\tret->quorum = quorum_of(a);"),
	("sets: the quorum of two sets is that of the new one", 59, SPREAD, JOINT, "(void)of_a, (void)of_b;\n\tret->quorum = quorum_of(b);"),
	("sets: the quorum of two sets is a majority of all nodes", 59, SPREAD, JOINT,
		"(void)of_a, (void)of_b;\n\tret->quorum = rl_quorum_least((unsigned)ret->url_count);"),
	("sets: the quorum of two sets contains one of the old set alone", 59, SPREAD, JOINT, "(void)of_b;\n\tret->quorum = of_a;"),
	("sets: the quorum of two sets contains one of the new set alone", 59, SPREAD, JOINT, "(void)of_a;\n\tret->quorum = of_b;"),
	("sets: a name moves at once while a set joins", 59, SPREAD, "ret->set = heaviest(sets, key, false);",
		"ret->set = heaviest(sets, key, true);"),
	("sets: a name that will move is locked on its old set alone", 59, SPREAD,
		"ret->joins = sets->joining < sets->count && heaviest(sets, key, true) == sets->joining;", "ret->joins = false;"),
	("sets: the first of several names decides for all", 59, SPREAD, "if (ok && !rl_slice_same(tag, key))", "if (false)"),
	("sets: the prefix is no part of the name", 59, SPREAD, "*ret = rl_hashslot_tag((struct rl_slice){buffer->bytes, prefix.size + name->len});",
		"*ret = rl_hashslot_tag((struct rl_slice){name->bytes, name->len});"),
	("sets: guarded sets are joined", 59, SPREAD, "ret->joining < ret->count && o->guard == REDLOCK_GUARD_REQUIRE", "false"),
	("sets: fencing numbers of a name that moves", 59, "src/life.c", "if (c->is_part && options->fence != 0)", "if (false)"),
	("sets: one set alone is drained", 59, "src/blocking.c",
		"for (unsigned i = 0; i < c->parts->count && got >= 0; i++) {", "for (unsigned i = 0; i < 1 && got >= 0; i++) {"),
	("sets: handles of the first set alone are released", 29, "src/parts.c",
		"for (unsigned i = 0; c->parts != NULL && i < c->parts->count; i++)\n\t\trl_client_release", "for (unsigned i = 0; c->parts != NULL && i < 1; i++)\n\t\trl_client_release"),
	("sets: new credentials for some of the sets, where memory runs out", 36, "src/credentials.c",
		"if (ok)\n\t\texchange_all(c, logins);", "if (logins != NULL)\n\t\texchange_all(c, logins);"),
	("sets: new credentials for the first set alone", 36, "src/credentials.c",
		"\t\t\texchange(&server_at(rl_client_part(c, i), k)->link.endpoint, logins++);",
		"\t\t\tif (i == 0)\n\t\t\t\texchange(&server_at(rl_client_part(c, i), k)->link.endpoint, logins++);"),
	("sets: events of the first set alone", 59, "src/nonblocking.c", "for (unsigned i = 0; i < rl_client_count(c) && !got; i++) {",
		"for (unsigned i = 0; i < 1 && !got; i++) {"),
]
