/* SPDX-License-Identifier: MIT */
/* The checker of guard.thm: its claims and clients are in proof_guard.c, its nodes in proof_guard_nodes.c. */
#ifndef SIM_PROOF_GUARD_H
#define SIM_PROOF_GUARD_H

#include "proof_all.h"
#include "proof_clients.h"
#include "proof_clocks.h"
#include "theorem.h"

#include "theorem_guard.h"

enum {
	CLAIMS = sizeof((struct guard *)0)->is_Claim,
	ROUNDS = sizeof((struct guard *)0)->is_Round,
	OFFERS = 12, /* of a claim: older ones are over */
	NONE = -1
};

/* A round asks for one of these. */
enum ask { CLAIM, OFFER, EXTEND };

/* The state of one name. The token of claim k is k + 1, unless a client breaks the rule that tokens differ.
 */
struct proof_guard {
	struct guard t;
	bool refused;
	struct proof_quorums quorums;
	struct {
		struct proof_value token;
		uint32_t actor, life;
		bool stranger;
		uint32_t seq[2]; /* of its last attempt, and of its last extend */
	} claims[CLAIMS];
	struct {
		enum ask ask;
		uint64_t number; /* of an offer */
	} rounds[ROUNDS];
	struct proof_clocks clocks;
	uint32_t starts[SIM_MAX_NODES];  /* of the process that is known, and */
	bool forgot[SIM_MAX_NODES];      /* whether it has lost its data since */
	int64_t until_ms[SIM_MAX_NODES]; /* the end of its quarantine, as it has written it */
	uint32_t ppm;
};

#define TELL(w, m, admitted, action, format, ...)                                                            \
	proof_tells(w, PROOF_GUARD, &(w)->guard[m].refused, admitted, (w)->guard[m].t.why, action,               \
	            "m%u " format, m, __VA_ARGS__)

/* The claim with this token, one that goes on if possible; NONE. `actor`: of its client; NULL: of any. */
int guard_find(const struct proof_guard *name, struct bytes token, const struct actor *actor);

/* The claim with this token. A claim of nobody that is known is made, and is over. */
unsigned guard_stranger(struct world *w, unsigned name, struct bytes token);

#endif
