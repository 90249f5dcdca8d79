/* SPDX-License-Identifier: MIT */
/*
 * The record of a guarded node set, as each node has it: the hash redlock:set. The commands that show, audit
 * or change the record read it here; docs/decisions/guard.md says what its fields mean. Nothing is written
 * here.
 */
#ifndef REDLOCK_TOOL_GUARD_RECORD_H
#define REDLOCK_TOOL_GUARD_RECORD_H

#include <redlock/ask.h>

#include "json.h"

#define GUARD_RECORD_KEY "redlock:set"

/* X(NAME, field). `founding`: the set that `redlock init` has begun to make here, in which this process never
 * voted; `done`: the configuration whose change is finished; `leaving`: the member that it leaves out;
 * `unseen`: until then, by the node's clock, there may be clients that were connected before the set was
 * made and have not seen it, or longer locks of theirs. */
#define GUARD_FIELD_MAP(X)                                                                                   \
	X(VERSION, "version")                                                                                    \
	X(MODE, "mode")                                                                                          \
	X(SET, "set")                                                                                            \
	X(CONFIG, "config")                                                                                      \
	X(STEP, "step")                                                                                          \
	X(PASS, "pass")                                                                                          \
	X(PREV, "prev")                                                                                          \
	X(QID, "qid")                                                                                            \
	X(FOUNDING, "founding")                                                                                  \
	X(DONE, "done")                                                                                          \
	X(MEMBERS, "members")                                                                                    \
	X(QUORUM, "quorum")                                                                                      \
	X(TTL, "ttl")                                                                                            \
	X(NODE, "node")                                                                                          \
	X(PREV_CONFIG, "prev_config")                                                                            \
	X(PREV_MEMBERS, "prev_members")                                                                          \
	X(PREV_QUORUM, "prev_quorum")                                                                            \
	X(LEAVING, "leaving")                                                                                    \
	X(FLOOR, "floor")                                                                                        \
	X(GMAX, "gmax")                                                                                          \
	X(QRID, "qrid")                                                                                          \
	X(QUNTIL, "quntil")                                                                                      \
	X(UNSEEN, "unseen")

enum guard_field {
#define GUARD_FIELD_ENUM(name, field) GUARD_##name,
	GUARD_FIELD_MAP(GUARD_FIELD_ENUM)
#undef GUARD_FIELD_ENUM
	    GUARD_FIELDS
};
/* The first ones, up to `done`, are what a change quotes: ops/operator/write_record.lua gets their names. */
enum { GUARD_QUOTED = GUARD_DONE + 1 };

/* X(NAME, word). Two of them are of the node's process: whether it has forgotten what it had. */
#define GUARD_STATE_MAP(X)                                                                                   \
	X(SILENT, "silent")         /* no answer */                                                              \
	X(BLANK, "blank")           /* there is no record */                                                     \
	X(NEWER, "newer")           /* of a later version */                                                     \
	X(PLAIN, "plain")           /* taken back */                                                             \
	X(REMOVED, "removed")       /* it was a member */                                                        \
	X(FOUNDING, "founding")     /* `redlock init` has begun to make a set of it, and has not ended */        \
	X(ADMITTED, "admitted")     /* it votes */                                                               \
	X(UNSEEN, "unseen")         /* INFO is not permitted: whether this process was admitted is not known */  \
	X(QUARANTINE, "quarantine") /* this process may have forgotten locks; `left_ms` more */                  \
	X(OVER, "over")             /* that has ended: the next guarded client admits it */

enum guard_state {
#define GUARD_STATE_ENUM(name, word) GUARD_##name##_,
	GUARD_STATE_MAP(GUARD_STATE_ENUM)
#undef GUARD_STATE_ENUM
};

struct guard_record {
	enum guard_state state;
	char why[128];               /* SILENT, */
	enum redlock_vote_code vote; /* and what the question came to; YES: an answer of another kind */
	char run_id[41];             /* "-": it is not told */
	bool replicas;               /* it has or had some, or is one */
	uint64_t now_ms;             /* its clock */
	uint64_t left_ms; /* QUARANTINE, and of one that is BLANK and was met by a client that knows the set */
	const char *field[GUARD_FIELDS]; /* "": it has none */
	char *texts;                     /* of these */
};

/* Asks the nodes of the mask, all at once. Records of before are freed: they begin as zeros. Returns as
 * redlock_ask() does. */
int guard_record_read(redlock_asker *asker, struct guard_record *records, unsigned count, uint64_t nodes,
                      uint64_t timeout_ms);
void guard_record_free(struct guard_record *records, unsigned count);

uint64_t guard_record_number(const struct guard_record *record, enum guard_field field);

/* FOUNDING: the set that was begun, as text that is alike at all its nodes. Else NULL. */
const char *guard_record_founding(const struct guard_record *record);

/* Whether the node votes, or will vote after its quarantine. */
bool guard_record_is_of_a_set(const struct guard_record *record);

/* The mask of nodes that may have forgotten a lock if the set is guarded, and the time until the last of them
 * votes again. */
uint64_t guard_record_forgetful(const struct guard_record *records, unsigned count, uint64_t *ret_left_ms);

/* The field of a record of a set that somebody has damaged: it is not of its form, or the configuration is
 * not the one that the record's own pass is for. NULL: none, or it is no record of a set. */
const char *guard_record_damage(const struct guard_record *record);

/* The largest fencing number that the node has seen. False: it does not know all of them, and this is what
 * can be read, or 0; it takes both fields, as digits and below the end: so far scripts count exactly. One
 * that has seen less than its own floor was damaged. */
#define GUARD_COUNTER_END (UINT64_C(1) << 53)
bool guard_record_counter(const struct guard_record *record, uint64_t *ret);
/* Too few numbers are left above that. Somebody has written it: by counting nobody comes so far. */
bool guard_record_used_up(const struct guard_record *record, uint64_t *ret);

/* "set 4f..., configuration 2, admitted, fencing known". Returns `buffer`. */
const char *guard_record_text(const struct guard_record *record, char *buffer, size_t size);
/* The member "guard". */
void guard_record_json(const struct guard_record *record, struct json *json);

/* The name that a node has among the members: its address as the URL has it. False: a wrong URL. */
bool guard_record_member(const char *url, char *buffer, size_t size);
/* The members as a record has them. NULL: out of memory. */
char *guard_record_join(const char *const *members, size_t count);

#endif
