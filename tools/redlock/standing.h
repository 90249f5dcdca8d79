/* SPDX-License-Identifier: MIT */
/* Finds out who has a lock: the keys of all nodes under its name, taken together. */
#ifndef REDLOCK_TOOL_STANDING_H
#define REDLOCK_TOOL_STANDING_H

#include "holder.h"
#include "json.h"
#include "session.h"

/* X(NAME, word for programs) */
#define STANDING_MAP(X)                                                                                      \
	X(FREE, "free")         /* no key on a quorum */                                                         \
	X(HELD, "held")         /* by one, on a quorum */                                                        \
	X(SPLIT, "split")       /* between several, none of them on a quorum, whatever silent nodes have */      \
	X(LEFTOVER, "leftover") /* one, on less than a quorum, the same */                                       \
	X(UNKNOWN, "unknown")   /* too few nodes answered, or those that did not decide it */

enum standing_state {
#define STANDING_ENUM(name, word) STANDING_##name,
	STANDING_MAP(STANDING_ENUM)
#undef STANDING_ENUM
};

/* X(NAME, word for people, format, next step): verdicts and warnings that a person has to do something about,
 * and parts of `busy` and `waiting` lines that people look up. */
#define STANDING_TROUBLE_MAP(X)                                                                              \
	X(SPLIT, "split",                                                                                        \
	  "split: %u different holders, none on a quorum (%u of %u); it resolves by retries, %s; if they are "   \
	  "dead: "                                                                                               \
	  "`redlock break NAME`",                                                                                \
	  "wait for that; `redlock break NAME` ends all of the holders, with --holder TOKEN one of them; if it " \
	  "stays, some client has another list of nodes, or the keys are no locks: `redlock status NAME`")       \
	X(LEFTOVER, "leftover", "held by nobody: a leftover of %s on %u of %u nodes, which %s",                  \
	  "wait for its TTL, or end it with `redlock break NAME`")                                               \
	X(MAYBE, "in-doubt", "maybe held by %s: on %u of %u nodes, and forgotten by %u node%s in quarantine%s",  \
	  "wait for the end of the quarantine")                                                                  \
	X(FORGOTTEN, "in-doubt",                                                                                 \
	  "unknown: no key, and a lock may be forgotten by %u of %u nodes, in quarantine%s",                     \
	  "wait for the end of the quarantine")                                                                  \
	X(OPEN, "in-doubt",                                                                                      \
	  "maybe held by %s: it has %u of %u nodes, and %u node%s did not answer, which may have its key too",   \
	  "mend the nodes that do not answer: `redlock doctor`; do not break the lock before they answer")       \
	X(FEW, "unknown", "unknown: %u of %u nodes answered, %u are needed",                                     \
	  "mend the nodes that do not answer: `redlock doctor`")                                                 \
	X(BLOCKS, "blocks",                                                                                      \
	  "warning: on %u node%s no expiry: it blocks until somebody deletes it, with `redlock break NAME`",     \
	  "if its holder is gone, end it with `redlock break NAME`, or delete the key on each node")             \
	X(ENDLESS, "stays", "warning: on %u node%s no expiry: the key stays there until somebody deletes it",    \
	  "it keeps nobody out; `redlock break NAME` deletes it, or DEL on that node")                           \
	X(OTHER, "another-client", HOLDER_TEXT_OTHER,                                                            \
	  "another program has written this key, by the rules of redis.io or for something else: find that "     \
	  "program by the value, or `redlock break NAME`")                                                       \
	X(NEVER, "never-expires", ", its key has no expiry",                                                     \
	  "no wait ends it: if its holder is gone, `redlock break NAME`")                                        \
	X(EXPIRES, "expires", ", its key expires in %.1f s",                                                     \
	  "a living holder renews it: its TTL rises again in `redlock ls --follow NAME`; that of a dead holder " \
	  "only falls, and the lock ends with it")                                                               \
	X(SEEN, "seen", " for %.1f s at least%s",                                                                \
	  "for so long this wait has seen the same holder; \"and renewed\": it lives, as it has extended its "   \
	  "key")                                                                                                 \
	X(PLACE, "place", ", place %u of %u",                                                                    \
	  "1 is the next; `redlock break --waiters NAME` clears a queue whose clients are gone")
#define STANDING_TROUBLE_TEXT(name, word, text, step)                                                        \
	__attribute__((unused)) static const char STANDING_TEXT_##name[] = text;
STANDING_TROUBLE_MAP(STANDING_TROUBLE_TEXT)
#undef STANDING_TROUBLE_TEXT

struct standing {
	struct redlock_finding finding[REDLOCK_MAX_NODES];
	enum standing_state state;
	unsigned nodes;
	unsigned quorum;
	unsigned known;        /* nodes that answered */
	unsigned free;         /* of these, without a key */
	unsigned holders;      /* different things under the name */
	unsigned most;         /* nodes that have the most frequent one */
	unsigned best;         /* one of these nodes: the one where it lives longest */
	unsigned endless;      /* keys without expiry */
	unsigned forgetful;    /* nodes in quarantine without a key: they may have forgotten one */
	uint64_t forgetful_ms; /* until the last of them votes again; 0: unknown */
	/* Filled in by a caller that has seen the holder before. */
	uint64_t seen_ms; /* the holder is known to have it for so long at least; 0: unknown */
	bool renewed;     /* the holder has extended its key meanwhile */
};

enum { STANDING_TEXT_MAX = HOLDER_TEXT_MAX + 160 };

/* Reads the findings of the handle's last operation. */
void standing_read(struct standing *standing, const struct session *session, const redlock_lock *lock);

/* Concludes from findings that are there already, with nodes and quorum. */
void standing_conclude(struct standing *standing);

/* As standing_read(), but asks the nodes if fewer findings than a quorum are known: the handle's votes are
 * then those of that query. */
void standing_ask(struct standing *standing, struct session *session, redlock_lock *lock);

/* The nodes of this mask are in quarantine, the last of them for `left_ms` more. If they could complete a
 * quorum for the most frequent key, or for a key that all nodes have lost, the holder is unknown. */
void standing_doubt(struct standing *standing, uint64_t nodes, uint64_t left_ms);

/* "free", "held by TOKEN (owner web-1:42) on 5 of 5 nodes", "split: ...". Returns `buffer`. */
const char *standing_text(const struct standing *standing, char *buffer, size_t size);

/* ", its key expires in 21.3 s"; "": nobody has it. Returns `buffer`. */
const char *standing_life(const struct standing *standing, char *buffer, size_t size);

/* Tells a user that wanted the lock the next step where no wait helps: "; if its holder is gone: `redlock
 * break NAME`". "": nothing. */
const char *standing_remedy(const struct standing *standing);

/* As standing_text(), for a user that wanted the lock, with the time that is left: "held by web-1:42 on at
 * least 3 of 5 nodes, for 4.7 s at least and renewed, its key expires in 21.3 s". The token is of no use to
 * that user, and left out where there is an owner. */
const char *standing_words(const struct standing *standing, char *buffer, size_t size);

/* How many nodes have this value. */
unsigned standing_count(const struct standing *standing, const char *value, size_t length);

/* How many nodes have it as one of those that share the lock, as far as they have told. */
unsigned standing_count_sharing(const struct standing *standing, const char *value);

/* Whether a quorum is shared. */
bool standing_is_shared(const struct standing *standing);

/* Whether keys without expiry keep everybody from a quorum, until somebody deletes them. */
bool standing_blocks_for_ever(const struct standing *standing);

/* As standing_blocks_for_ever(), but false where a client of the old SETNX protocol holds the lock, whose
 * keys have no expiry and end by the time in their value. */
bool standing_is_stuck(const struct standing *standing);

const char *standing_name(enum standing_state state);

/* A member with what standing_words() says, for programs. */
void standing_json(const struct standing *standing, const char *key, struct json *json);

/* As an element of an array, with the member "token", which ends a slot; null if nobody has it. */
void standing_json_token(const struct standing *standing, struct json *json);

#endif
