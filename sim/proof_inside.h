/* SPDX-License-Identifier: MIT */
/* The theorem in C, and the things of the simulator that it speaks of. */
#ifndef SIM_PROOF_INSIDE_H
#define SIM_PROOF_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "proof_all.h"
#include "proof_clients.h"
#include "proof_clocks.h"
#include "theorem.h"
#include "world.h"

#include "theorem_lock.h"

enum {
	PROOF_CLAIMS = sizeof((struct lock *)0)->is_Claim,
	PROOF_VALUES = sizeof((struct lock *)0)->is_Value,
	PROOF_TTLS = sizeof((struct lock *)0)->is_Ttl,
	PROOF_ENTERS = sizeof((struct lock *)0)->is_Enter,
	PROOF_HANDLES = SIM_MAX_ACTORS * SIM_MAX_HANDLES + 1
};
#define PROOF_NONE THEOREM_FULL

/* The state of one name. */
struct proof_name {
	struct lock lock;
	bool refused;
	struct proof_value values[PROOF_VALUES];
	struct {
		uint32_t actor, life;
		bool stranger; /* of another kind of lock, or of another program */
	} claims[PROOF_CLAIMS];
	uint64_t ttl_ns[PROOF_TTLS];
	uint64_t numbers[PROOF_ENTERS]; /* as they are sent */
	uint32_t quorums[PROOF_QUORUMS];
	unsigned made;              /* claims, since those that were over made room */
	bool forgot[SIM_MAX_NODES]; /* the node lost the key, which it still owes */
	struct proof_clocks clocks;
};

/* A handle, and its present claim. */
struct proof_handle {
	const struct rl_lock *core; /* NULL: none */
	uint32_t actor, life;
	unsigned resource, claim;
	bool begins;         /* a claim, with a token that is not known yet, */
	uint64_t offered_ns; /* and is on offer; 0: it is not */
};

struct proof {
	struct proof_name names[SIM_MAX_RESOURCES];
	struct proof_handle handles[PROOF_HANDLES];
	const struct rl_lock *passes; /* the first of the two that exchange their claims */
	uint32_t ppm;
	uint64_t clocks; /* what all of them were set to, added up */
};

/* Something happened to a name: the action, and whether the theorem admits it. */
void proof_did(struct world *w, unsigned resource, bool admitted, const char *action, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

unsigned proof_value(struct proof_name *n, struct bytes value, bool make);
unsigned proof_ttl(struct proof *p, struct proof_name *n, uint64_t ttl_ns);
unsigned proof_quorum(struct world *w, unsigned resource, uint32_t nodes);
unsigned proof_claim(struct world *w, unsigned resource, const struct actor *a, unsigned value,
                     uint64_t ttl_ns);
unsigned proof_offer(struct world *w, unsigned resource, unsigned claim, uint64_t number);

#endif
