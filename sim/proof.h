/* SPDX-License-Identifier: MIT */
/*
 * The simulator's steps as actions of the theorem lock.thm (spec/proof/README.md): what the core decides, and
 * what becomes of the keys of locks on the nodes, each with its values. A step that is no action, or after
 * which a sentence of the invariant is false, is a violation. Locks of other kinds, and other programs, are
 * claims that were given up.
 */
#ifndef SIM_PROOF_H
#define SIM_PROOF_H

#include <stdint.h>

#include "core/state.h"
#include "redis_call.h"

struct world;
struct proof;

/* The core before a step. */
struct proof_before {
	enum rl_phase phase;
	bool claims, open;
	uint8_t operation;
	uint32_t seq, yes;
};

/* Not in guarded sets: lock.thm assumes that no node forgets (A1). */
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

/* A node has run a command; it has lost its data. */
void proof_command(struct world *w, uint32_t node, const struct call *call);
void proof_forgets(struct world *w, uint32_t node);

/* Prints how often each action happened: the number of those that never did, which `missing` names alone. */
enum { PROOF_ACTIONS = 20 };
int proof_print(const uint64_t times[PROOF_ACTIONS], bool missing);

#endif
