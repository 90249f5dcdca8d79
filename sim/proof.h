/* SPDX-License-Identifier: MIT */
/*
 * The simulator's steps as actions of the theorems (spec/proof/traces.md): what the core decides, and
 * what becomes of the keys of locks on the nodes, each with its values. A step that is no action, or after
 * which a sentence of the invariant is false, is a violation.
 */
#ifndef SIM_PROOF_H
#define SIM_PROOF_H

#include <stdint.h>

#include "core/state.h"
#include "redis_call.h"

struct world;
struct proof;
struct cover;

/* The core before a step. */
struct proof_before {
	enum rl_phase phase;
	bool claims, open;
	uint8_t operation;
	uint32_t seq, yes;
	uint64_t t0_ns, until_ns;
};

void proof_begin(struct world *w);
void proof_end(struct world *w);

/* Time has passed, or a clock has changed: for names of which a node has a key, or for all. */
void proof_tick(struct world *w, bool all);

/* A handle is new; its core takes a step; the calls of its process have ended: fresh tokens are known. */
void proof_new(struct world *w, const struct rl_lock *lock);
struct proof_before proof_before(struct world *w, const struct rl_lock *lock, const struct rl_event *event);
void proof_step(struct world *w, const struct rl_lock *lock, const struct proof_before *before,
                const struct rl_event *event, const struct rl_effects *effects);
void proof_settle(struct world *w);

/* A node has run a command, and answers it; it has lost its data. */
void proof_command(struct world *w, uint32_t node, const struct call *call, struct bytes answer);
void proof_forgets(struct world *w, uint32_t node);

/* The operator has changed the members: the node took a list, refuses the former one, or is no member; or a
 * change begins, or is finished. */
enum proof_change { PROOF_TAKES, PROOF_REFUSES_FORMER, PROOF_REMOVED, PROOF_NEXT, PROOF_FINISHED };
void proof_changed(struct world *w, uint32_t node, enum proof_change what);

/* How often each action happened. */
enum { PROOF_ACTIONS = 20 };
void proof_print(const struct cover *cover);

#endif
