/* SPDX-License-Identifier: MIT */
/* The clients as checkers of theorems without clocks see them: which handle relies on which token now. */
#ifndef SIM_PROOF_CLIENTS_H
#define SIM_PROOF_CLIENTS_H

#include "core/state.h"
#include "keyspace.h"
#include "redis_call.h"
#include "world.h"

struct proof_client {
	const struct actor *actor;
	const struct handle *handle;
	const struct rl_lock *core;
	struct bytes token;
	uint64_t now_ns; /* by its clock, with what it will learn before it relies on anything */
	bool holds;      /* it is granted, and its validity is not over by its own clock */
	bool relies;     /* that, or an attempt is out whose votes may still grant it, or the token is on offer */
};

/* The next handle whose process lives; `at` is 0 at first. */
bool proof_next_client(const struct world *w, unsigned *at, struct proof_client *ret);

/* All of them, for the checkers in turn. */
struct proof_clients {
	unsigned count;
	struct proof_client of[SIM_MAX_ACTORS * SIM_MAX_HANDLES];
};
void proof_clients(const struct world *w, struct proof_clients *ret);

/* The client whose core this is, if it holds the lock. */
bool proof_holder(const struct world *w, const struct rl_lock *core, struct proof_client *ret);

/* The clock that a client goes by, with the time for which its machine was stopped. */
int64_t proof_actor_ns(const struct world *w, const struct actor *a);

/* A core learns how long its machine was stopped, or begins anew. */
void proof_told(struct world *w, const struct rl_lock *core, const struct rl_event *event);

/* The nodes that have said yes in the present round, as bits of the world's nodes. With slots or numbers:
 * those that gave the slot that is held, or have the number that was chosen. */
uint32_t proof_voted(const struct proof_client *c);

/* Bits of the client's nodes as bits of the world's. */
uint32_t proof_in_world(const struct actor *a, uint32_t nodes);

/* Whether the step has granted the lock, or confirmed an extend; and the votes on which its decision rests,
 * as bits of the world's nodes: another round may have begun in the same step. */
struct proof_before;
bool proof_grants(const struct rl_lock *core, const struct proof_before *before);
bool proof_confirms(const struct proof_before *before, const struct rl_effects *effects);
uint32_t proof_voters(const struct world *w, const struct rl_lock *core, const struct proof_before *before,
                      const struct rl_event *event);

/* The value of a key as a token: one of another type has none of its own. */
struct bytes proof_value_of(const struct key *key);

/* A value that is kept for later: its size and its first bytes, where values differ. */
enum { PROOF_VALUE_BYTES = 96 };
struct proof_value {
	size_t size;
	char at[PROOF_VALUE_BYTES];
};
void proof_value_keep(struct proof_value *ret, struct bytes value);
bool proof_value_is(const struct proof_value *kept, struct bytes value);

/* Whether a request with the value, and no SET, is on another connection to the node than that of the
 * command: what comes on this one comes in order. */
bool proof_is_on_its_way(const struct world *w, unsigned node, const struct call *call,
                         const struct proof_value *value);

/* Which quorum these nodes are, and which node it has in common with each other one. The number of
 * quorums: it was not there yet. */
enum { PROOF_QUORUMS = 100 };
struct proof_quorums {
	uint32_t nodes[PROOF_QUORUMS];
	unsigned count;
};
unsigned proof_quorum_of(struct proof_quorums *quorums, uint32_t nodes);

/* Tells a theorem of quorum `q`, the last one: its nodes, and one that it has in common with each other. */
void proof_quorum_tell(const uint32_t *quorums, unsigned q, bool in[][PROOF_QUORUMS],
                       unsigned common[][PROOF_QUORUMS]);

/* As theorem_room(). If it is full, the seed fails, and the theorem is not told any more; the answer is 0. */
unsigned proof_room(struct world *w, const char *theorem, bool *refused, bool *is, unsigned size,
                    unsigned *most);

/* Something happened: the action, and whether the theorem admits it. */
void proof_tells(struct world *w, enum proof_theorem theorem, bool *refused, bool admitted, const char *why,
                 const char *action, const char *format, ...) __attribute__((format(printf, 7, 8)));

#endif
