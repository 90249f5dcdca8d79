/* SPDX-License-Identifier: MIT */
/* The checkers of the theorems, one each: proof_hooks.c leads all of what proof.h tells to them. */
#ifndef SIM_PROOF_ALL_H
#define SIM_PROOF_ALL_H

#include "proof.h"

struct proof_clients;

/* lock.thm, step by step: proof.c, proof_keys.c, proof_steps.c. */
extern const char *const plain_actions[];
void plain_begin(struct world *w);
void plain_end(struct world *w);
void plain_tick(struct world *w, bool all);
void plain_new(struct world *w, const struct rl_lock *lock);
void plain_ready(struct world *w, const struct rl_lock *lock, const struct rl_event *event);
void plain_step(struct world *w, const struct rl_lock *lock, const struct proof_before *before,
                const struct rl_event *event, const struct rl_effects *effects);
void plain_settle(struct world *w);
void plain_command(struct world *w, uint32_t node, const struct call *call);
void plain_forgets(struct world *w, uint32_t node);

/* several.thm: proof_several.c. */
extern const char *const several_names[];
void several_begin(struct world *w);
void several_end(struct world *w);
void several_look(struct world *w, const struct proof_clients *clients);
void several_step(struct world *w, const struct rl_lock *lock, const struct proof_before *before,
                  const struct rl_event *event, const struct rl_effects *effects);
void several_command(struct world *w, uint32_t node);
void several_forgets(struct world *w, uint32_t node);

/* fence.thm, in guarded seeds: proof_fence.c. */
extern const char *const fence_names[];
void fence_begin(struct world *w);
void fence_end(struct world *w);
void fence_look(struct world *w, const struct proof_clients *clients);
void fence_command(struct world *w, uint32_t node, const struct call *call);
void fence_forgets(struct world *w, uint32_t node);

/* guard.thm, in guarded seeds: proof_guard.c. */
extern const char *const guard_names[];
void guard_begin(struct world *w);
void guard_end(struct world *w);
void guard_time(struct world *w);
void guard_look(struct world *w, const struct proof_clients *clients);
void guard_step(struct world *w, const struct rl_lock *lock, const struct proof_before *before,
                const struct rl_event *event, const struct rl_effects *effects);
void guard_command(struct world *w, uint32_t node, const struct call *call);
void guard_forgets(struct world *w, uint32_t node);

/* shared.thm: proof_shared.c. */
extern const char *const shared_names[];
void shared_begin(struct world *w);
void shared_end(struct world *w);
void shared_look(struct world *w, const struct proof_clients *clients);
void shared_step(struct world *w, const struct rl_lock *lock, const struct proof_before *before,
                 const struct rl_event *event, const struct rl_effects *effects);
void shared_command(struct world *w, uint32_t node, const struct call *call);
void shared_forgets(struct world *w, uint32_t node);

/* members.thm, in seeds whose members change: proof_members.c. */
extern const char *const members_names[];
void members_begin(struct world *w);
void members_end(struct world *w);
void members_look(struct world *w, const struct proof_clients *clients);
void members_step(struct world *w, const struct rl_lock *lock, const struct proof_before *before,
                  const struct rl_event *event, const struct rl_effects *effects);
void members_command(struct world *w, uint32_t node, const struct call *call, struct bytes answer);
void members_forgets(struct world *w, uint32_t node);
void members_changed(struct world *w, uint32_t node, enum proof_change what);

#endif
