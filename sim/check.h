/* SPDX-License-Identifier: MIT */
/*
 * The checkers: what must be true of every run. They see the whole world, the nodes' data included, and
 * compare it with what the library claims and with what the applications were told.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyspace.h"

/* The theorems with which steps are compared: proof.h. */
enum proof_theorem {
	PROOF_LOCK,
	PROOF_SEVERAL,
	PROOF_FENCE,
	PROOF_GUARD,
	PROOF_SHARED,
	PROOF_MEMBERS,
	PROOF_THEOREMS
};
extern const char *const proof_theorems[PROOF_THEOREMS];

struct world;
struct handle;
struct actor;
struct node;

#define SIM_MAX_BESIDE 440

#define SIM_MAX_ACTORS 8
#define SIM_MAX_NODES 7

/* The applications lock resources, by number. */
#define SIM_MAX_RESOURCES 4

/* The owner of a key: an actor, and which of its processes. */
#define KEY_OWNER(actor, life) ((uint64_t)(actor) << 32 | (life))

/* X(name, sentence) */
#define SIM_VIOLATION_MAP(X)                                                                                 \
	X(OVERLAP, "two holders of one resource at one time")                                                    \
	X(FENCE, "a fencing token is not higher than those of all holders before")                               \
	X(DEADLINE, "a claimed deadline is later than the true expiry on a quorum")                              \
	X(CONTINUITY, "an extend was confirmed although no quorum had held the key all along")                   \
	X(BACKWARDS, "a deadline went back while the lock was held")                                             \
	X(REVIVED, "a lost lock came back")                                                                      \
	X(FALSE_LOSS, "a loss was reported while a quorum had the lock")                                         \
	X(NOTICE, "a notice of danger or loss is missing or late")                                               \
	X(TOKEN, "a token was set twice, or is not of the form that was promised")                               \
	X(LATE_SET, "a key was set after its client had settled with that node, and stays")                      \
	X(ORPHAN, "a key is left on a node that its client believes settled")                                    \
	X(LEFTOVER, "a key outlived every TTL")                                                                  \
	X(UNSETTLED, "debts were not settled although all faults were over")                                     \
	X(STARVED, "a free lock could not be acquired although all faults were over")                            \
	X(STANDSTILL, "nobody acquired a lock in time after the faults were over")                               \
	X(OVERTAKEN, "who waited in line was overtaken")                                                         \
	X(PLACES, "a client has more than one place in a queue")                                                 \
	X(IDLE, "a lock was free for long although somebody waited")                                             \
	X(UNSERVED, "somebody waited and had no turn in time")                                                   \
	X(SPLIT, "of clients that tried a free lock at the same moment not exactly one got it")                  \
	X(NEGLECTED, "a lock was not renewed although all faults were over")                                     \
	X(CAP, "a lock was extended more often, or held longer, than its caps allow")                            \
	X(OVERTIME, "a round began after the wait was over")                                                     \
	X(NO_ANSWER, "an operation did not end in time")                                                         \
	X(STRAY_ANSWER, "an operation ended that did not run")                                                   \
	X(RESULT, "an operation ended with a result that it may not have")                                       \
	X(PROTOCOL, "the library sent a node what it does not understand")                                       \
	X(DESCRIPTOR, "a descriptor was used after it was closed, or leaked")                                    \
	X(COUNTERS, "the counters of a client do not fit together")                                              \
	X(LEAK, "a closed client has left memory, or one at rest has too much")                                  \
	X(BLOCKED, "the library would have blocked")                                                             \
	X(TRANSITION, "the core took a step that is not in the table")                                           \
	X(PROOF, "a step is no action of the theorem, or breaks a sentence of its invariant")                    \
	X(SPIN, "virtual time stood still")

enum violation {
#define SIM_VIOLATION_ENUM(name, text) VIOLATION_##name,
	SIM_VIOLATION_MAP(SIM_VIOLATION_ENUM) VIOLATION_COUNT
#undef SIM_VIOLATION_ENUM
};

/* From when to when a node had a key, in world time. */
struct stay {
	uint64_t from_ns;
	uint64_t to_ns; /* 0: it never had it; SIM_NEVER: it still has it, though it may have expired */
};

struct seen_token {
	char text[48]; /* its beginning: tokens differ there */
	size_t size;
	uint32_t actor;
	uint32_t life;
	uint32_t nodes;                /* bit per node that got a SET of it */
	bool deleted;                  /* by a release, on some node */
	bool handed;                   /* by the release of another one */
	bool left;                     /* given away: nobody owes its release any more */
	bool kept;                     /* its caller has released it, and the client has not */
	bool told;                     /* its caller has asked for it */
	const struct handle *claimant; /* the last one that has claimed by it; NULL: none */
	uint64_t first_ns;             /* when the first one did; */
	uint64_t granted_ns;           /* the same, or when it was acquired again as a kept one; */
	unsigned passes;               /* and how often it was passed on since */
	struct stay stay[SIM_MAX_NODES];
};

struct check {
	bool failed;
	uint64_t found[VIOLATION_COUNT];
	char first[540];                   /* the first violation in words */
	char refused[PROOF_THEOREMS][480]; /* the first step that each theorem refuses */
	struct seen_token *tokens;
	size_t token_count;
	size_t token_capacity;
	/* Which processes of each actor (bit per process) have settled with which node: no SET of theirs may come
	 * any more. */
	uint64_t settled[SIM_MAX_ACTORS][SIM_MAX_NODES];
	uint64_t fences[SIM_MAX_RESOURCES]; /* the highest number that was granted */
};

extern const struct violation_row {
	const char *name, *text;
} violations[VIOLATION_COUNT];

/* Reports a violation. The seed ends, unless an assumption is broken on purpose. */
void check_fail(struct world *w, enum violation kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A theorem refuses a step. */
void check_refuse(struct world *w, enum proof_theorem theorem, const char *text);

/* After calls into the library: what does it claim now of this handle, of all handles of a client? */
void check_claim(struct world *w, struct actor *a, struct handle *h);
void check_claims(struct world *w, struct actor *a);

/* The application has seen its grant and begins to rely on it. */
void check_grant(struct world *w, struct actor *a, struct handle *h);

/* A shared lock is exclusive from now on: a quorum keeps everybody out. */
void check_upgrade(struct world *w, struct actor *a, struct handle *h);

/* The library says that the lock is lost, or that a quorum does not have it. */
void check_loss(struct world *w, struct actor *a, struct handle *h);

/* A node got a SET of `token` from a process of `actor`. */
void check_set(struct world *w, uint32_t node, uint32_t actor, uint32_t life, struct bytes token);

/* A node is about to answer after a key was removed or its life changed: do all claims on it still hold? */
void check_key(struct world *w, struct bytes name);

/* A clock has changed its rate, or jumped: do all claims still hold? */
void check_clocks(struct world *w);

/* A node has stored a key; it has gone. */
void check_stored(struct world *w, uint32_t node, const struct key *key, bool handed);
void check_gone(struct world *w, uint32_t node, const struct key *key, uint64_t at_ns);

/* A claim was raised: has a quorum had the key ever since the claim began? */
void check_continuity(struct world *w, const struct actor *a, const struct handle *h);

/* A release has deleted a key with this token. Was that so, now that it is reported? */
void check_deleted(struct world *w, struct bytes token);
void check_told(struct world *w, const struct handle *h);

/* The handle has released its lock, which its client may keep. */
void check_kept(struct world *w, const struct handle *h);

/* A handle begins to claim. True: another one of its client had this claim, and has passed it on. */
bool check_passed(struct world *w, const struct actor *a, const struct handle *h);
void check_released(struct world *w, const struct handle *h);

/* A key as tokens see it. The token beside a time (check_setnx.c) appears as a key with the token as its
 * value, in `room`; NULL: a time, which comes and goes with that. */
const struct key *check_as_token(const struct key *key, struct key *room);

/* The key beside the time of a resource, which nobody's name can be. */
struct bytes check_beside(const struct world *w, unsigned resource, char buffer[SIM_MAX_BESIDE]);

/* Whether the node keeps everybody else from a handle's lock by time until then; `ours`: or would say now
 * that it is. */
bool check_time_beyond(const struct world *w, const struct node *n, const struct handle *h, uint64_t until_ns,
                       bool ours);

/* Whether the name has the time that is noted beside it. If not, that keeps nobody out and ends by itself: a
 * server that refuses writes leaves it, and says no more than "not yours". */
bool check_is_noted(const struct world *w, const struct node *n, const struct key *beside);

/* A time was written over that of an old client. */
void check_time_stored(struct world *w, uint32_t node, const struct key *key);

/* The token was left to others on purpose. */
void check_left(struct world *w, const struct handle *h);

/* Whether a quorum of the client's nodes has the token for longer than `until_ns` of world time. */
bool check_quorum_beyond(const struct world *w, const struct actor *a, const struct handle *h,
                         uint64_t until_ns);

/* Whether nobody else can get the lock until then: a quorum has the key, or in a guarded set the nodes
 * without it have no vote. */
bool check_excludes(const struct world *w, const struct actor *a, const struct handle *h, uint64_t until_ns);

/* The client of `actor` says that it owes node `node` nothing (any more), or something. */
void check_settled(struct world *w, uint32_t actor, uint32_t node);
void check_owes(struct world *w, uint32_t actor, uint32_t node);

/* No key of any client is left anywhere. */
void check_no_keys(struct world *w);

void check_free(struct check *c);

#endif
