/* SPDX-License-Identifier: MIT */
/*
 * The handles of a client: their slots, by which answers find them, the rules that they share, and the queue
 * of events that wait to be pulled.
 */
#ifndef RL_REGISTRY_H
#define RL_REGISTRY_H

#include <redlock/redlock.h>

#include "core/state.h"
#include "net/node.h"

/* A slot outlives the handle in it: its generation distinguishes late answers for the former handle. */
struct rl_slot {
	redlock_lock *lock;
	uint32_t generation;
	uint32_t next_free;
};

struct rl_registry {
	struct rl_slot *slots;
	uint32_t slot_count;
	uint32_t free_slot; /* UINT32_MAX: none */
	struct rl_shared_rules *rules;
	redlock_lock *queue_head;
	redlock_lock *queue_tail;
	int notice_fd; /* readable while there are events, except during a quiet turn; -1: nobody asked */
	bool quiet; /* redlock_turn() returns the events itself: the descriptor is left alone, which saves system
	               calls */
	bool rung;  /* the descriptor is readable */
};

void rl_registry_init(struct rl_registry *registry);
void rl_registry_close(struct rl_registry *registry);

/* ---- handles ---- */

/* Makes sure that one more handle has a slot. False: out of memory. */
bool rl_registry_reserve(struct rl_registry *registry);

void rl_registry_add(struct rl_registry *registry, redlock_lock *lock);
void rl_registry_remove(struct rl_registry *registry, redlock_lock *lock);

/* Swaps the slots of two handles. Answers still to come, and messages, belong to a slot: the handle that is
 * moved into it gets them. */
void rl_registry_exchange(struct rl_registry *registry, redlock_lock *lock, redlock_lock *other);

/* The handle that an answer is for, NULL if it comes too late for it. */
static inline redlock_lock *rl_registry_find(const struct rl_registry *registry, struct rl_tag tag)
{
	const struct rl_slot *slot = &registry->slots[tag.slot];
	return slot->generation == tag.generation ? slot->lock : NULL;
}

/* The tag of a request: its answer is for the handle in this slot. */
static inline struct rl_tag rl_registry_tag(const struct rl_registry *registry, uint32_t slot, uint32_t seq)
{
	return (struct rl_tag){slot, registry->slots[slot].generation, seq};
}

/* The tag of a request whose answer is for no handle. */
static inline struct rl_tag rl_registry_nobody(void)
{
	return (struct rl_tag){.slot = 0, .generation = 0};
}

/* The handle in a slot, NULL if there is none, or no such slot. */
static inline redlock_lock *rl_registry_at(const struct rl_registry *registry, uint32_t slot)
{
	return slot < registry->slot_count ? registry->slots[slot].lock : NULL;
}

/* The first handle from slot `from` on, NULL if there is none. */
redlock_lock *rl_registry_next(const struct rl_registry *registry, uint32_t from);

/* ---- rules ---- */

/* Rules with these values, which stay until they are dropped as often as they were shared. NULL: out of
 * memory. */
const struct rl_rules *rl_registry_share_rules(struct rl_registry *registry, const struct rl_rules *rules);
void rl_registry_drop_rules(struct rl_registry *registry, const struct rl_rules *rules);
/* The handle uses these rules from now on. False: out of memory. */
bool rl_registry_change_rules(struct rl_registry *registry, redlock_lock *lock, const struct rl_rules *rules);

/* ---- events ---- */

/* Adds events, RL_OBSERVE_ bits, to those that wait. */
void rl_registry_push(struct rl_registry *registry, redlock_lock *lock, uint32_t observed);

/* Opens the descriptor that is readable while there are events. Negative: it cannot be opened. */
int rl_registry_notice_fd(struct rl_registry *registry);

/* While the registry is quiet, events do not make the descriptor readable. When that ends, it becomes
 * readable if events are left. */
void rl_registry_be_quiet(struct rl_registry *registry, bool quiet);

/* Pulls the next one. False: none. */
bool rl_registry_pull(struct rl_registry *registry, struct redlock_event *ret_event);

/* Forgets those of `lock`. */
void rl_registry_drop_events(struct rl_registry *registry, redlock_lock *lock);

#endif
