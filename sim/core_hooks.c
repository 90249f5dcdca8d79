/* SPDX-License-Identifier: MIT */
/*
 * Calls between the library's own files that the linker leads through here (--wrap, see CMakeLists.txt), so
 * that its objects stay as they are shipped: transitions of the core are counted, and some assumptions are
 * broken on purpose.
 */
#include "core/acquire.h"
#include "core/contend.h"
#include "core/enter.h"
#include "core/validity.h"
#include "kept.h"
#include "net/auth.h"
#include "proof.h"
#include "world.h"

int real_step(struct rl_lock *lock, const struct rl_event *event,
              struct rl_effects *effects) __asm__("__real_rl_lock_step");
void real_init(struct rl_lock *lock, const struct rl_rules *rules,
               struct rl_ballot *votes) __asm__("__real_rl_lock_init");
void hooked_init(struct rl_lock *lock, const struct rl_rules *rules,
                 struct rl_ballot *votes) __asm__("__wrap_rl_lock_init");
uint64_t real_validity_end(uint64_t t0_ns, uint64_t ttl_ns,
                           uint64_t drift_ns) __asm__("__real_rl_validity_end");
unsigned real_majority(unsigned node_count) __asm__("__real_rl_quorum_least");
bool real_auth_go_on(struct rl_link *link) __asm__("__real_rl_auth_go_on");

int hooked_step(struct rl_lock *lock, const struct rl_event *event,
                struct rl_effects *effects) __asm__("__wrap_rl_lock_step");
uint64_t hooked_validity_end(uint64_t t0_ns, uint64_t ttl_ns,
                             uint64_t drift_ns) __asm__("__wrap_rl_validity_end");
unsigned hooked_majority(unsigned node_count) __asm__("__wrap_rl_quorum_least");
bool hooked_auth_go_on(struct rl_link *link) __asm__("__wrap_rl_auth_go_on");
void real_contend(struct rl_lock *lock, const struct rl_event *event,
                  struct rl_effects *effects) __asm__("__real_rl_contend_begin");
void hooked_contend(struct rl_lock *lock, const struct rl_event *event,
                    struct rl_effects *effects) __asm__("__wrap_rl_contend_begin");
uint64_t real_pace_next(struct rl_lock *lock, const struct rl_event *event,
                        uint64_t left_ns) __asm__("__real_rl_pace_next");
uint64_t hooked_pace_next(struct rl_lock *lock, const struct rl_event *event,
                          uint64_t left_ns) __asm__("__wrap_rl_pace_next");
void real_enter_wake(struct rl_lock *lock, const struct rl_event *event,
                     struct rl_effects *effects) __asm__("__real_rl_enter_wake");
void hooked_enter_wake(struct rl_lock *lock, const struct rl_event *event,
                       struct rl_effects *effects) __asm__("__wrap_rl_enter_wake");

void hooked_back_off(struct rl_kept *kept, const redlock_lock *lock,
                     uint64_t now_ns) __asm__("__wrap_rl_kept_back_off");

/* A seed is shorter than the time in which a name is not kept after a waiter has asked for it: that is no
 * matter of safety, and left out. */
void hooked_back_off(struct rl_kept *kept, const redlock_lock *lock, uint64_t now_ns)
{
	(void)kept, (void)lock, (void)now_ns;
	world_hit(sim_world, COVER_ASKED_BACK);
}

int hooked_step(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects)
{
	struct world *w = sim_world;
	enum rl_phase before = lock->phase;
	struct proof_before was = proof_before(w, lock, event);
	int error = real_step(lock, event, effects);
	if (w->plan.broken == BREAK_OWN_VALUE && effects->send.seq == 0)
		effects->send.owed = effects->send.nodes; /* the mistake of deleting what may be another attempt's */
	proof_step(w, lock, &was, event, effects);
	w->cover->transitions.seen[before][event->kind][lock->phase]++;
	if (!transition_expected(before, event->kind, lock->phase))
		check_fail(w, VIOLATION_TRANSITION, "phase %d, event %d -> phase %d", (int)before, (int)event->kind,
		           (int)lock->phase);
	return error;
}

void hooked_init(struct rl_lock *lock, const struct rl_rules *rules, struct rl_ballot *votes)
{
	real_init(lock, rules, votes);
	proof_new(sim_world, lock);
}

/* The mistake of measuring after the answers have come. */
uint64_t hooked_validity_end(uint64_t t0_ns, uint64_t ttl_ns, uint64_t drift_ns)
{
	const struct world *w = sim_world;
	uint64_t from_ns = w->plan.broken == BREAK_VALIDITY ? actor_now(w, w->current) : t0_ns;
	return real_validity_end(from_ns, ttl_ns, drift_ns);
}

/* The mistake of leaving out the + 1. */
unsigned hooked_majority(unsigned node_count)
{
	bool broken = sim_world->plan.broken == BREAK_QUORUM && node_count > 1;
	return broken ? node_count / 2 : real_majority(node_count);
}

/* The mistake of the first version: AUTH is a request like any other, whose answer is nobody's. */
bool hooked_auth_go_on(struct rl_link *l)
{
	struct rl_outbox auth = {0};
	const struct rl_entry entry = {
	    .setup = RL_SETUP_AUTH, .operation = REDLOCK_OP_ACQUIRE, .tag.slot = UINT32_MAX};
	if (sim_world->plan.broken != BREAK_LOGIN)
		return real_auth_go_on(l);
	rl_auth_end(l);
	l->new_credentials = false;
	if (rl_auth_push(&auth, &l->endpoint) && auth.count > 0)
		(void)rl_outbox_push_secret(&l->outbox, &entry, rl_outbox_front_bytes(&auth));
	rl_outbox_free(&auth);
	return true;
}

/* The mistake of calling any refusal "busy". */
void hooked_contend(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects)
{
	if (sim_world->plan.broken == BREAK_SPLIT)
		rl_acquire_fail(lock, event, REDLOCK_E_BUSY, false, effects);
	else
		real_contend(lock, event, effects);
}

static bool is_silent(const struct world *w)
{
	return w->plan.broken == BREAK_SILENT && w->crowd.on && w->current->index == 0;
}

/* The mistake of relying on messages. */
uint64_t hooked_pace_next(struct rl_lock *lock, const struct rl_event *event, uint64_t left_ns)
{
	const struct world *w = sim_world;
	uint64_t at_ns = real_pace_next(lock, event, left_ns);
	bool waits = is_silent(w) || (w->plan.broken == BREAK_POLLS && lock->queue.placed);
	return waits ? rl_time_add(event->now_ns, left_ns / 2) : at_ns;
}

/* The mistake of ignoring messages. */
void hooked_enter_wake(struct rl_lock *lock, const struct rl_event *event, struct rl_effects *effects)
{
	if (!is_silent(sim_world))
		real_enter_wake(lock, event, effects);
}
