/* SPDX-License-Identifier: MIT */
/* Lock handles: made and freed. */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "heir.h"
#include "options.h"
#include "seen.h"

/* ---- making ---- */

/* Where the order of nodes begins for a name: all clients must agree, so that the waiters for it meet.
 * FNV-1a, 32 bits (Fowler, Noll, Vo). */
static uint8_t turn_of(struct rl_slice name, unsigned nodes)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < name.size; i++)
		hash = (hash ^ (uint8_t)name.bytes[i]) * 16777619u;
	return (uint8_t)(hash % nodes);
}

/* Behind the handle: votes, name, token. */
static redlock_lock *allocate(const redlock_client *c, const struct rl_rules *rules, const void *name,
                              size_t size, const struct redlock_lock_options *o)
{
	size_t token_room = o->token != NULL ? o->token_len : RL_OPERATE_TOKEN_DIGITS + c->owner_size;
	size_t votes = rules->node_count * sizeof(struct rl_ballot);
	redlock_lock *lock = calloc(1, sizeof *lock + votes + c->prefix_size + size + token_room);
	if (lock == NULL)
		return NULL;
	rl_lock_init(&lock->core, rules, lock->votes);
	rl_schedule_init_timer(&lock->timer);
	lock->user = o->user;
	lock->name_size = (uint32_t)(c->prefix_size + size) & INT32_MAX;
	if (c->prefix_size > 0)
		memcpy(rl_handle_name_bytes(lock), c->prefix, c->prefix_size);
	memcpy(rl_handle_name_bytes(lock) + c->prefix_size, name, size);
	lock->core.turn = turn_of(rl_handle_name(lock), rules->node_count);
	if (o->token != NULL) {
		memcpy(rl_handle_token_bytes(lock), o->token, o->token_len);
		lock->token_size = (uint16_t)o->token_len;
	}
	return lock;
}

static void free_memory(redlock_lock *lock)
{
	free(lock->core.findings);
	rl_seen_forget(lock); /* in a child process it still waits */
	rl_heir_forget(lock);
	free(lock);
}

static int make(redlock_client *c, const void *name, size_t name_len,
                const struct redlock_lock_options *options, redlock_lock **ret)
{
	struct rl_rules wanted;
	int error = rl_options_make_rules(&wanted, options, c->nodes.count, c->nodes.quorum, c->node_timeout_ms,
	                                  c->drift_ppm, c->drift_ms);
	if (error < 0)
		return error;
	if (name == NULL || name_len == 0 || name_len > REDLOCK_MAX_NAME - c->prefix_size)
		return REDLOCK_E_INVAL;
	if (!rl_registry_reserve(&c->handles) || !rl_schedule_reserve(&c->loop.schedule, c->handles.slot_count))
		return REDLOCK_E_NOMEM;
	const struct rl_rules *rules = rl_registry_share_rules(&c->handles, &wanted);
	if (rules == NULL)
		return REDLOCK_E_NOMEM;
	redlock_lock *lock = allocate(c, rules, name, name_len, options);
	if (lock == NULL) {
		rl_registry_drop_rules(&c->handles, rules);
		return REDLOCK_E_NOMEM;
	}
	lock->client = c;
	rl_registry_add(&c->handles, lock);
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
		error = rl_client_enter(client);
	if (error < 0)
		return error;
	error = make(client, name, name_len, &o, ret_lock);
	rl_loop_leave(&client->loop);
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
	rl_schedule_set(&c->loop.schedule, &lock->timer, UINT64_MAX);
	rl_registry_remove(&c->handles, lock);
	rl_registry_drop_rules(&c->handles, lock->core.rules);
	lock->core.rules = NULL;
	lock->client = NULL;
}

void rl_handle_detach(redlock_lock *lock, bool release)
{
	redlock_client *c = lock->client;
	if (!rl_forkmark_is_child(
	        &c->forkmark)) { /* a child sends nothing, and the notice descriptor is shared */
		give_up(c, lock, release);
		rl_registry_drop_events(&c->handles, lock);
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
		rl_loop_enter_now(&c->loop);
		rl_handle_detach(lock, release);
		rl_turn_settle(c);
		rl_loop_leave(&c->loop);
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

int rl_handle_extend_event(const redlock_lock *lock, uint64_t ttl_ms, struct rl_event *ret)
{
	if (lock == NULL || lock->client == NULL)
		return lock == NULL ? REDLOCK_E_INVAL : REDLOCK_E_STATE;
	*ret = (struct rl_event){.kind = RL_EV_EXTEND, .ttl_ns = rl_options_extend_ttl(lock->core.rules, ttl_ms)};
	return ret->ttl_ns == 0 ? REDLOCK_E_INVAL : 0;
}

int rl_handle_prepare_query(redlock_lock *lock)
{
	int error = rl_client_enter_lock(lock);
	if (error < 0)
		return error;
	bool ready = rl_operate_make_findings(lock);
	rl_loop_leave(&lock->client->loop);
	return ready ? 0 : REDLOCK_E_NOMEM;
}
