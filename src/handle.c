/* SPDX-License-Identifier: MIT */
/* Lock handles: made, freed, and what can be asked of them without asking the nodes. */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "options.h"
#include "os/clock.h"

#define NO_SLOT UINT32_MAX

/* ---- slots ---- */

static bool reserve_slot(redlock_client *c)
{
	if (c->free_slot != NO_SLOT)
		return true;
	uint32_t count = c->slot_count > 0 ? c->slot_count * 2 : 16;
	struct rl_slot *slots = realloc(c->slots, count * sizeof *slots);
	if (slots == NULL)
		return false;
	c->slots = slots;
	for (uint32_t i = c->slot_count; i < count; i++)
		slots[i] = (struct rl_slot){.next_free = i + 1 < count ? i + 1 : NO_SLOT};
	c->free_slot = c->slot_count;
	c->slot_count = count;
	return true;
}

static void take_slot(redlock_client *c, redlock_lock *lock)
{
	lock->slot = c->free_slot;
	c->free_slot = c->slots[lock->slot].next_free;
	c->slots[lock->slot].lock = lock;
}

static void free_slot(redlock_client *c, const redlock_lock *lock)
{
	struct rl_slot *slot = &c->slots[lock->slot];
	slot->lock = NULL;
	slot->generation++;
	slot->next_free = c->free_slot;
	c->free_slot = lock->slot;
}

redlock_lock *rl_client_find(redlock_client *c, struct rl_tag tag)
{
	const struct rl_slot *slot = &c->slots[tag.slot];
	return slot->generation == tag.generation ? slot->lock : NULL;
}

/* ---- making ---- */

static redlock_lock *allocate(const redlock_client *c, const void *name, size_t size)
{
	redlock_lock *lock = calloc(1, sizeof *lock + c->prefix_size + size);
	if (lock == NULL)
		return NULL;
	if (c->prefix_size > 0)
		memcpy(lock->name_bytes, c->prefix, c->prefix_size);
	memcpy(lock->name_bytes + c->prefix_size, name, size);
	lock->name = (struct rl_slice){lock->name_bytes, c->prefix_size + size};
	return lock;
}

static void attach(redlock_client *c, redlock_lock *lock)
{
	take_slot(c, lock);
	lock->client = c;
	lock->next = c->locks;
	if (c->locks != NULL)
		c->locks->previous = lock;
	c->locks = lock;
}

static void free_memory(redlock_lock *lock)
{
	sem_destroy(&lock->wake);
	free(lock->core.findings);
	free(lock);
}

static int make(redlock_client *c, const void *name, size_t name_len,
                const struct redlock_lock_options *options, redlock_lock **ret)
{
	struct rl_rules rules;
	int error = rl_rules_make(&rules, options, c->node_count, c->quorum, c->node_timeout_ms, c->drift_ppm,
	                          c->drift_ms);
	if (error < 0)
		return error;
	if (name == NULL || name_len == 0 || name_len > REDLOCK_MAX_NAME - c->prefix_size)
		return REDLOCK_E_INVAL;
	redlock_lock *lock = allocate(c, name, name_len);
	if (lock == NULL)
		return REDLOCK_E_NOMEM;
	sem_init(&lock->wake, 0, 0);
	rl_lock_init(&lock->core, &rules);
	rl_timer_init(&lock->timer);
	lock->user = options->user;
	if (options->token != NULL) {
		memcpy(lock->token, options->token, options->token_len);
		lock->token_size = options->token_len;
	}
	if (!reserve_slot(c) || !rl_schedule_reserve(&c->schedule, c->slot_count)) {
		free_memory(lock);
		return REDLOCK_E_NOMEM;
	}
	attach(c, lock);
	*ret = lock;
	return 0;
}

int redlock_lock_new(redlock_client *client, const void *name, size_t name_len,
                     const struct redlock_lock_options *options, redlock_lock **ret_lock)
{
	struct redlock_lock_options o;
	redlock_lock_options_init(&o);
	int error = ret_lock == NULL ? REDLOCK_E_INVAL : 0;
	if (error == 0 && options != NULL)
		error = rl_options_copy(&o, sizeof o, options);
	if (error == 0)
		error = rl_enter(client);
	if (error < 0)
		return error;
	error = make(client, name, name_len, &o, ret_lock);
	rl_leave(client);
	return error;
}

/* ---- freeing ---- */

/* Without waiting: what is half acquired is given back in any case, what is held if `release`. */
static void give_up(redlock_client *c, redlock_lock *lock, bool release)
{
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .result = REDLOCK_E_CANCELLED});
	if (release && (lock->core.phase == RL_HELD || lock->core.phase == RL_LOST))
		rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_RELEASE});
}

static void unlink_handle(redlock_client *c, redlock_lock *lock)
{
	rl_schedule_set(&c->schedule, &lock->timer, UINT64_MAX);
	free_slot(c, lock);
	if (lock->previous != NULL)
		lock->previous->next = lock->next;
	else
		c->locks = lock->next;
	if (lock->next != NULL)
		lock->next->previous = lock->previous;
	lock->client = NULL;
}

void rl_handle_detach(redlock_lock *lock, bool release)
{
	redlock_client *c = lock->client;
	if (!rl_forkmark_is_child(
	        &c->forkmark)) { /* a child sends nothing, and the notice descriptor is shared */
		give_up(c, lock, release);
		rl_drop_events(c, lock);
	}
	unlink_handle(c, lock);
}

static void free_handle(redlock_lock *lock, bool release)
{
	RL_NO_CANCEL;
	if (lock == NULL)
		return;
	redlock_client *c = lock->client;
	if (c != NULL && rl_forkmark_is_child(&c->forkmark)) {
		rl_handle_detach(lock, false); /* a child has one thread, and the mutex may be taken for ever */
	} else if (c != NULL) {
		pthread_mutex_lock(&c->mutex);
		c->now_ns = rl_clock_now();
		rl_handle_detach(lock, release);
		rl_settle(c);
		rl_leave(c);
	}
	free_memory(lock);
}

void redlock_lock_free(redlock_lock *lock)
{
	free_handle(lock, true);
}

void redlock_lock_leave(redlock_lock *lock)
{
	free_handle(lock, false);
}

bool rl_handle_make_findings(redlock_lock *lock)
{
	if (lock->core.findings == NULL)
		lock->core.findings = calloc(lock->client->node_count, sizeof *lock->core.findings);
	return lock->core.findings != NULL;
}

int rl_handle_prepare_query(redlock_lock *lock)
{
	int error = rl_enter_lock(lock);
	if (error < 0)
		return error;
	bool ready = rl_handle_make_findings(lock);
	rl_leave(lock->client);
	return ready ? 0 : REDLOCK_E_NOMEM;
}

/* ---- queries ---- */

void *redlock_lock_user(const redlock_lock *lock)
{
	return lock != NULL ? lock->user : NULL;
}

uint64_t redlock_deadline_ns(const redlock_lock *lock)
{
	if (rl_enter_lock(lock) < 0)
		return 0;
	uint64_t until = rl_lock_valid_until(&lock->core, rl_clock_now());
	rl_leave(lock->client);
	return until;
}

uint64_t redlock_remaining_ms(const redlock_lock *lock)
{
	return rl_time_sub(redlock_deadline_ns(lock), rl_clock_now()) / RL_NS_PER_MS;
}

int redlock_lock_token(const redlock_lock *lock, void *buffer, size_t size, size_t *ret_len)
{
	int error = buffer != NULL && ret_len != NULL ? rl_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	if (lock->token_size < size) {
		memcpy(buffer, lock->token, lock->token_size);
		((char *)buffer)[lock->token_size] = '\0';
		*ret_len = lock->token_size;
	} else {
		error = REDLOCK_E_INVAL;
	}
	rl_leave(lock->client);
	return error;
}
