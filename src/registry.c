/* SPDX-License-Identifier: MIT */
#include "registry.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/observe.h"
#include "handle.h"
#include "os/bell.h"

#define NO_SLOT UINT32_MAX

_Static_assert(RL_OBSERVE_COUNT <= 8, "redlock_lock.pending has a bit for each");

/* Rules are looked for among the last ones that were asked for: most programs have one or two kinds of locks,
 * and one that has as many as locks does not wait for the search. */
enum { SEARCHED = 8 };

struct rl_shared_rules {
	struct rl_rules rules;
	uint32_t users;
	struct rl_shared_rules *previous;
	struct rl_shared_rules *next;
};

void rl_registry_init(struct rl_registry *r)
{
	r->free_slot = NO_SLOT;
	r->notice_fd = -1;
}

void rl_registry_close(struct rl_registry *r)
{
	rl_bell_close(r->notice_fd);
	free(r->rules); /* no handle is left, and so the last ones at most */
	free(r->slots);
}

/* ---- handles ---- */

bool rl_registry_reserve(struct rl_registry *r)
{
	if (r->free_slot != NO_SLOT)
		return true;
	uint32_t count = r->slot_count > 0 ? r->slot_count * 2 : 16;
	struct rl_slot *slots = realloc(r->slots, count * sizeof *slots);
	if (slots == NULL)
		return false;
	r->slots = slots;
	for (uint32_t i = r->slot_count; i < count; i++)
		slots[i] = (struct rl_slot){.generation = 1, .next_free = i + 1 < count ? i + 1 : NO_SLOT};
	r->free_slot = r->slot_count;
	r->slot_count = count;
	return true;
}

void rl_registry_add(struct rl_registry *r, redlock_lock *lock)
{
	lock->slot = r->free_slot;
	r->free_slot = r->slots[lock->slot].next_free;
	r->slots[lock->slot].lock = lock;
}

void rl_registry_remove(struct rl_registry *r, redlock_lock *lock)
{
	struct rl_slot *slot = &r->slots[lock->slot];
	slot->lock = NULL;
	slot->generation += slot->generation != UINT32_MAX ? 1 : 2; /* 0 is nobody's */
	slot->next_free = r->free_slot;
	r->free_slot = lock->slot;
}

void rl_registry_exchange(struct rl_registry *r, redlock_lock *lock, redlock_lock *other)
{
	uint32_t slot = lock->slot;
	lock->slot = other->slot;
	other->slot = slot;
	r->slots[lock->slot].lock = lock;
	r->slots[other->slot].lock = other;
}

redlock_lock *rl_registry_next(const struct rl_registry *r, uint32_t from)
{
	for (uint32_t i = from; i < r->slot_count; i++)
		if (r->slots[i].lock != NULL)
			return r->slots[i].lock;
	return NULL;
}

/* ---- rules ---- */

static void put_first(struct rl_registry *r, struct rl_shared_rules *shared)
{
	shared->previous = NULL;
	shared->next = r->rules;
	if (r->rules != NULL)
		r->rules->previous = shared;
	r->rules = shared;
}

static void take_out(struct rl_registry *r, const struct rl_shared_rules *shared)
{
	*(shared->previous != NULL ? &shared->previous->next : &r->rules) = shared->next;
	if (shared->next != NULL)
		shared->next->previous = shared->previous;
}

/* The first ones stay without users, for the next handle like the last. */
static void forget_unused(struct rl_registry *r, struct rl_shared_rules *shared)
{
	if (shared == NULL || shared->users > 0 || shared == r->rules)
		return;
	take_out(r, shared);
	free(shared);
}

static struct rl_shared_rules *make_rules(const struct rl_rules *rules)
{
	struct rl_shared_rules *shared = calloc(1, sizeof *shared);
	if (shared != NULL)
		memcpy(&shared->rules, rules, sizeof *rules);
	return shared;
}

/* The shared rules of which `rules` is a part, without a search: a program may have as many of them as locks.
 */
static struct rl_shared_rules *shared_of(const struct rl_rules *rules)
{
	return (struct rl_shared_rules *)((char *)rules - offsetof(struct rl_shared_rules, rules));
}

const struct rl_rules *rl_registry_share_rules(struct rl_registry *r, const struct rl_rules *rules)
{
	struct rl_shared_rules *first = r->rules;
	struct rl_shared_rules *found = first;
	for (unsigned i = 1; found != NULL && memcmp(&found->rules, rules, sizeof *rules) != 0; i++)
		found = i < SEARCHED ? found->next : NULL;
	if (found != NULL)
		take_out(r, found); /* its values stay untouched: others read them without the mutex */
	else
		found = make_rules(rules);
	if (found == NULL)
		return NULL;
	found->users++;
	put_first(r, found);
	forget_unused(r, first);
	return &found->rules;
}

void rl_registry_drop_rules(struct rl_registry *r, const struct rl_rules *rules)
{
	struct rl_shared_rules *shared = shared_of(rules);
	shared->users--;
	forget_unused(r, shared);
}

bool rl_registry_change_rules(struct rl_registry *r, redlock_lock *lock, const struct rl_rules *rules)
{
	const struct rl_rules *old = lock->core.rules, *shared = rl_registry_share_rules(r, rules);
	if (shared == NULL)
		return false;
	lock->core.rules = shared;
	rl_registry_drop_rules(r, old);
	return true;
}

/* ---- events ---- */

/* The bits of the observations that are events. */
static unsigned pullable(uint32_t observed)
{
#define EVENT_BIT(name, words, event) | ((event) != 0 ? RL_OBSERVE_##name : 0u)
	return observed & (0u RL_OBSERVE_MAP(EVENT_BIT));
#undef EVENT_BIT
}

static void ring(struct rl_registry *r)
{
	rl_bell_ring(r->notice_fd);
	r->rung = true;
}

int rl_registry_notice_fd(struct rl_registry *r)
{
	if (r->notice_fd >= 0)
		return r->notice_fd;
	r->notice_fd = rl_bell_open();
	if (r->queue_head != NULL)
		ring(r);
	return r->notice_fd;
}

void rl_registry_be_quiet(struct rl_registry *r, bool quiet)
{
	r->quiet = quiet;
	if (!quiet && r->queue_head != NULL && !r->rung)
		ring(r);
}

void rl_registry_push(struct rl_registry *r, redlock_lock *lock, uint32_t observed)
{
	bool queued = lock->pending != 0;
	lock->pending |= (uint8_t)pullable(observed);
	if (queued || lock->pending == 0)
		return;
	lock->next_queued = NULL;
	lock->previous_queued = r->queue_tail;
	*(r->queue_tail != NULL ? &r->queue_tail->next_queued : &r->queue_head) = lock;
	r->queue_tail = lock;
	if (!r->quiet)
		ring(r);
}

static void unqueue(struct rl_registry *r, redlock_lock *lock)
{
	*(lock->previous_queued != NULL ? &lock->previous_queued->next_queued : &r->queue_head) =
	    lock->next_queued;
	*(lock->next_queued != NULL ? &lock->next_queued->previous_queued : &r->queue_tail) =
	    lock->previous_queued;
	if (r->queue_head != NULL || !r->rung)
		return;
	rl_bell_silence(r->notice_fd);
	r->rung = false;
}

bool rl_registry_pull(struct rl_registry *r, struct redlock_event *ret)
{
	redlock_lock *lock = r->queue_head;
	if (lock == NULL)
		return false;
	unsigned number = (unsigned)__builtin_ctz(lock->pending);
	lock->pending &= (uint8_t)(lock->pending - 1);
	*ret = (struct redlock_event){.lock = lock, .kind = rl_observe_events[number], .user = lock->user};
	if (ret->kind == REDLOCK_EVENT_DONE) {
		ret->operation = lock->done_operation;
		ret->result = lock->done_result;
	}
	if (lock->pending == 0)
		unqueue(r, lock);
	return true;
}

void rl_registry_drop_events(struct rl_registry *r, redlock_lock *lock)
{
	if (lock->pending != 0)
		unqueue(r, lock);
	lock->pending = 0;
}
