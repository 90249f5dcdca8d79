/* SPDX-License-Identifier: MIT */
/* The life of a lock handle: it is made, changed and freed. */
#include "life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "client.h"
#include "core/policy.h"
#include "core/sized.h"
#include "operate.h"
#include "options.h"
#include "proto/hashslot.h"
#include "proto/names.h"
#include "proto/side.h"
#include "seen.h"
#include "stats.h"
#include "turn.h"

/* ---- making ---- */

/* The names of a handle: the first, and others. */
struct names {
	const struct redlock_name *list;
	size_t count;
	struct rl_slice also; /* the names after the first, with their prefixes */
};

/* Behind the handle: votes, name, token, other names. */
static redlock_lock *allocate(const redlock_client *c, const struct rl_rules *rules,
                              const struct names *names, const struct redlock_lock_options *o)
{
	size_t token_room = o->token != NULL ? o->token_len : RL_HANDLE_TOKEN_DIGITS + c->owner_size;
	if (names->also.size > 0)
		token_room = RL_HANDLE_TOKEN_ROOM;
	size_t votes = rules->node_count * sizeof(struct rl_ballot), size = names->list[0].len;
	redlock_lock *lock =
	    calloc(1, sizeof *lock + votes + c->prefix_size + size + token_room + names->also.size);
	if (lock == NULL)
		return NULL;
	rl_lock_init(&lock->core, rules, lock->votes);
	rl_schedule_init_timer(&lock->timer);
	lock->user = o->user;
	lock->reentrant = o->reentrant != 0;
	lock->core.claim.slot = o->slot & (REDLOCK_MAX_SLOTS - 1);
	lock->name_size = (uint32_t)(c->prefix_size + size) & (2 * REDLOCK_MAX_NAME - 1);
	lock->also_size = (uint32_t)names->also.size;
	if (c->prefix_size > 0)
		memcpy(rl_handle_name_bytes(lock), c->prefix, c->prefix_size);
	memcpy(rl_handle_name_bytes(lock) + c->prefix_size, names->list[0].bytes, size);
	if (names->also.size > 0)
		memcpy(rl_handle_token_bytes(lock) + RL_HANDLE_TOKEN_ROOM, names->also.bytes, names->also.size);
	rl_handle_turn(lock);
	if (o->token != NULL) {
		memcpy(rl_handle_token_bytes(lock), o->token, o->token_len);
		lock->token_size = (uint16_t)o->token_len;
	}
	return lock;
}

/* Numbers that nodes tell: a fencing number, a slot. A guarded set makes room for them later, too. False: out
 * of memory. */
static bool make_numbers(redlock_lock *lock, const struct rl_policy *policy)
{
	bool tell = policy->draws || policy->slots;
	return !tell || rl_handle_make_numbers(lock);
}

static void free_memory(redlock_lock *lock)
{
	free(lock->core.numbers);
	free(lock->core.findings);
	free(lock->core.caller_votes);
	rl_seen_forget(lock); /* in a child process it still waits */
	rl_seen_forget_heir(lock);
	free(lock);
}

static int refuse(redlock_client *c, const char *why)
{
	snprintf(c->refusal, sizeof c->refusal, "%s", why);
	return REDLOCK_E_INVAL;
}

static const char no_memory[] = "out of memory"; /* compared by its address */

static int out_of_memory(redlock_client *c)
{
	refuse(c, no_memory);
	return REDLOCK_E_NOMEM;
}

/* The first name that is the same as `name`, which is among them. */
static size_t find_name(const struct names *names, const struct redlock_name *name)
{
	size_t i = 0;
	while (names->list[i].len != name->len || memcmp(names->list[i].bytes, name->bytes, name->len) != 0)
		i++;
	return i;
}

/* Why a cluster cannot have the name beside the first one; NULL: it can. All keys of a lock must be in one
 * hash slot, those beside its own with it, whose names begin with {NAME}. */
static const char *misplaced(const struct redlock_client *c, const struct redlock_name *name, unsigned *slot)
{
	struct rl_buffer whole = {0};
	if (!rl_buffer_reserve(&whole, c->prefix_size + name->len))
		return no_memory;
	if (c->prefix_size > 0)
		memcpy(whole.bytes, c->prefix, c->prefix_size);
	memcpy(whole.bytes + c->prefix_size, name->bytes, name->len);
	struct rl_slice all = {whole.bytes, c->prefix_size + name->len};
	bool torn = rl_hashslot_tag(all).size == all.size && memchr(all.bytes, '}', all.size) != NULL;
	unsigned own = rl_hashslot_of(all);
	bool apart = *slot < RL_HASHSLOT_COUNT && *slot != own;
	*slot = own;
	rl_buffer_free(&whole);
	if (torn)
		return "a node is a cluster, where a name with } needs a hash tag, as {job}";
	return apart
	           ? "a node is a cluster, and these names are in different hash slots of it: use a hash tag, as "
	             "{job}:a and {job}:b"
	           : NULL;
}

/* No two names are alike: the second one would find the key of the first. Nor is a name another lock's side
 * key, which users of that lock overwrite. */
static int check_names(redlock_client *c, const struct names *names)
{
	size_t left = REDLOCK_MAX_NAME;
	unsigned slot = RL_HASHSLOT_COUNT;
	for (size_t i = 0; i < names->count; i++) {
		const struct redlock_name *name = &names->list[i];
		if (name->bytes == NULL || name->len == 0)
			return refuse(c, "the name is empty");
		if (left < c->prefix_size || name->len > left - c->prefix_size)
			return refuse(
			    c, "the name is too long: with the prefix, and all names together, at most 65536 bytes");
		if (rl_side_is_reserved((struct rl_slice){c->prefix, c->prefix_size},
		                        (struct rl_slice){name->bytes, name->len}))
			return refuse(
			    c, "the name is reserved: redlock keeps such a key beside a lock, as NAME:redlock:queue");
		const char *why = c->nodes.clusters != NULL ? misplaced(c, name, &slot) : NULL;
		if (why != NULL)
			return why == no_memory ? out_of_memory(c) : refuse(c, why);
		if (find_name(names, name) < i)
			return refuse(c, "two names are the same: give each name once");
		left -= c->prefix_size + name->len;
	}
	return 0;
}

int rl_life_make_rules(redlock_client *c, const struct redlock_lock_options *options, bool several,
                       struct rl_rules *ret)
{
	const struct rl_set *set = c->nodes.set;
	if (c->is_part && options->fence != 0)
		return refuse(c, "fencing tokens need one node set: a name that moves to another set would begin to "
		                 "count again");
	const struct rl_wish wish = {
	    .options = options,
	    .several = several,
	    .guard = set == NULL    ? REDLOCK_GUARD_OFF
	             : set->require ? REDLOCK_GUARD_REQUIRE
	                            : REDLOCK_GUARD_AUTO,
	    .node_count = c->nodes.count,
	    .quorum = c->nodes.quorum,
	    .node_timeout_ms = c->node_timeout_ms,
	    .drift_ppm = c->drift_ppm,
	    .drift_ms = c->drift_ms,
	};
	return rl_options_make_rules(ret, &wish, c->refusal, sizeof c->refusal);
}

/* A node of a guarded set is heard for as long as the handle waits. */
static void hurry(struct rl_set *set, const struct rl_rules *rules)
{
	rl_set_limit_wait(set, rl_time_min(rules->wait_ns, rules->noquorum_wait_ns), rules->node_timeout_ns);
}

static int make(redlock_client *c, const struct names *names, const struct redlock_lock_options *options,
                redlock_lock **ret)
{
	struct rl_rules wanted;
	int error = rl_life_make_rules(c, options, names->count > 1, &wanted);
	if (error < 0)
		return error;
	const struct rl_policy *policy = wanted.policy;
	struct rl_set *set = c->nodes.set;
	if (set != NULL) /* the maximum is 0 as long as it is unknown */
		(void)rl_options_follow(&wanted, set->ttl_ms);
	if (!rl_registry_reserve(&c->handles) || !rl_schedule_reserve(&c->loop.schedule, c->handles.slot_count))
		return out_of_memory(c);
	const struct rl_rules *rules = rl_registry_share_rules(&c->handles, &wanted);
	if (rules == NULL)
		return out_of_memory(c);
	redlock_lock *lock = allocate(c, rules, names, options);
	if (lock == NULL || !make_numbers(lock, policy)) {
		free(lock);
		rl_registry_drop_rules(&c->handles, rules);
		return out_of_memory(c);
	}
	lock->client = c;
	if (set != NULL) {
		hurry(set, rules);
		set->hears_all = set->hears_all || policy->draws;
	}
	rl_registry_add(&c->handles, lock);
	*ret = lock;
	return 0;
}

/* Copies the options of the caller, or those of the client. */
static int copy_options(redlock_client *c, const struct redlock_lock_options *options,
                        struct redlock_lock_options *ret)
{
	*ret = c->lock_options;
	if (options == NULL)
		return 0;
	redlock_lock_options_init(ret);
	bool known = rl_sized_copy(ret, sizeof *ret, options) == 0;
	return known ? 0
	             : refuse(c, "the options have no size, or one that this library does not know: call "
	                         "redlock_lock_options_init() first");
}

static int make_all(redlock_client *c, struct names *names, const struct redlock_lock_options *options,
                    redlock_lock **ret)
{
	struct redlock_lock_options o;
	struct rl_buffer also = {0};
	const struct rl_slice prefix = {c->prefix, c->prefix_size};
	bool ok = true;
	if (ret == NULL)
		return refuse(c, "there is no place for the handle");
	if (names->count == 0 || names->count > REDLOCK_MAX_NAMES)
		return refuse(c, "a lock has 1 to 64 names");
	if (names->list == NULL)
		return refuse(c, "there are no names: the pointer to them is NULL");
	int error = copy_options(c, options, &o);
	if (error == 0)
		error = check_names(c, names);
	if (error < 0)
		return error;
	for (size_t i = 1; ok && i < names->count; i++)
		ok = rl_names_add(&also, prefix, (struct rl_slice){names->list[i].bytes, names->list[i].len});
	names->also = (struct rl_slice){also.bytes, also.size};
	error = ok ? make(c, names, &o, ret) : out_of_memory(c);
	rl_buffer_free(&also);
	return error;
}

/* The part of a client with several node sets whose set has the names; names that no set could have are for
 * any part, which says what is wrong with them. NULL, with the reason: the names are not in one set. */
static redlock_client *find_part(const redlock_client *c, const struct names *names, const char **ret_why)
{
	const struct rl_client_parts *parts = c->parts;
	const struct rl_slice prefix = {c->prefix, c->prefix_size};
	struct rl_spread_choice choice = {0};
	bool ok = names->list != NULL && names->count > 0 && names->count <= REDLOCK_MAX_NAMES;
	for (size_t i = 0; ok && i < names->count; i++)
		ok = names->list[i].bytes != NULL && names->list[i].len > 0 && names->list[i].len <= REDLOCK_MAX_NAME;
	if (!ok)
		return parts->list[0];
	*ret_why = rl_spread_choose(&parts->sets, prefix, names->list, names->count, &choice);
	if (*ret_why != NULL)
		return NULL;
	return parts->list[(choice.joins ? parts->joint : parts->alone)[choice.set]];
}

int rl_life_refuse(redlock_client *c, int error, const char *why)
{
	rl_loop_enter(&c->loop);
	refuse(c, why);
	rl_loop_leave(&c->loop);
	return error;
}

static int enter_and_make(redlock_client *client, struct names *names,
                          const struct redlock_lock_options *options, redlock_lock **ret_lock)
{
	int error = rl_client_check(client);
	if (error < 0)
		return error;
	char text[sizeof client->refusal];
	const char *why = NULL;
	redlock_client *part = client->parts != NULL ? find_part(client, names, &why) : client;
	if (part == NULL)
		return rl_life_refuse(client, why == rl_spread_no_memory ? REDLOCK_E_NOMEM : REDLOCK_E_INVAL, why);
	rl_loop_enter(&part->loop);
	error = make_all(part, names, options, ret_lock);
	snprintf(text, sizeof text, "%s", error < 0 ? part->refusal : "");
	rl_loop_leave(&part->loop);
	return error < 0 && part != client ? rl_life_refuse(client, error, text) : error;
}

int redlock_lock_new_bytes(redlock_client *client, const void *name, size_t name_len,
                           const struct redlock_lock_options *options, redlock_lock **ret_lock)
{
	const struct redlock_name list = {name, name_len};
	return enter_and_make(client, &(struct names){.list = &list, .count = 1}, options, ret_lock);
}

int redlock_lock_new(redlock_client *client, const char *name, const struct redlock_lock_options *options,
                     redlock_lock **ret_lock)
{
	return redlock_lock_new_bytes(client, name, name == NULL ? 0 : strlen(name), options, ret_lock);
}

int redlock_lock_new_many_bytes(redlock_client *client, const struct redlock_name *names, size_t count,
                                const struct redlock_lock_options *options, redlock_lock **ret_lock)
{
	return enter_and_make(client, &(struct names){.list = names, .count = count}, options, ret_lock);
}

int redlock_lock_new_many(redlock_client *client, const char *const *names, size_t count,
                          const struct redlock_lock_options *options, redlock_lock **ret_lock)
{
	struct redlock_name list[REDLOCK_MAX_NAMES];
	for (size_t i = 0; names != NULL && i < count && i < REDLOCK_MAX_NAMES; i++)
		list[i] = (struct redlock_name){names[i], names[i] == NULL ? 0 : strlen(names[i])};
	return redlock_lock_new_many_bytes(client, names != NULL ? list : NULL, count, options, ret_lock);
}

/* ---- changing ---- */

static int set_wait(redlock_client *c, redlock_lock *lock, uint64_t wait_ns)
{
	struct rl_rules wanted;
	memcpy(&wanted, lock->core.rules, sizeof wanted);
	if (wanted.noquorum_wait_ns == wanted.wait_ns)
		wanted.noquorum_wait_ns = wait_ns;
	wanted.wait_ns = wait_ns;
	if (!rl_registry_change_rules(&c->handles, lock, &wanted))
		return REDLOCK_E_NOMEM;
	if (c->nodes.set != NULL)
		hurry(c->nodes.set, &wanted);
	return 0;
}

int redlock_lock_set_wait(redlock_lock *lock, uint64_t wait_ms)
{
	RL_NO_CANCEL;
	int error = rl_client_enter_lock(lock);
	if (error < 0)
		return error;
	redlock_client *c = lock->client;
	uint64_t wait_ns = rl_time_ms(wait_ms);
	if (lock->waiter != NULL || rl_state_acquires(&lock->core)) {
		error = REDLOCK_E_STATE;
		rl_handle_note(lock, error, RL_CAUSE_RUNS);
	} else if (wait_ns != lock->core.rules->wait_ns)
		error = set_wait(c, lock, wait_ns);
	rl_loop_leave(&c->loop);
	return error;
}

/* ---- freeing ---- */

/* Without waiting: what is half acquired is given back in any case, what is held if `release`. */
static void give_up(redlock_client *c, redlock_lock *lock, bool release)
{
	lock->entries = 0;
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_CANCEL, .asked.result = REDLOCK_E_CANCELLED});
	if (release && (lock->core.phase == RL_HELD || lock->core.phase == RL_LOST))
		rl_call_begin(c, lock, &(struct rl_event){.kind = RL_EV_RELEASE});
}

static void unlink_handle(redlock_client *c, redlock_lock *lock)
{
	rl_schedule_set(&c->loop.schedule, &lock->timer, UINT64_MAX);
	rl_registry_remove(&c->handles, lock);
	rl_registry_drop_rules(&c->handles, lock->core.rules);
	lock->core.rules = NULL;
	lock->client = NULL;
}

void rl_life_detach(redlock_lock *lock, bool release)
{
	redlock_client *c = lock->client;
	/* a child sends nothing, and the notice descriptor is shared */
	if (!rl_forkmark_is_child(&c->forkmark)) {
		give_up(c, lock, release);
		rl_places_line_up(&c->places, lock, false, c->loop.now_ns); /* it may hold the lock, and be left */
		rl_registry_drop_events(&c->handles, lock);
	}
	if (lock->core.phase == RL_HELD)
		rl_stats_add(&c->stats.hold, rl_time_sub(rl_time_min(c->loop.now_ns, lock->core.valid_until_ns),
		                                         lock->core.hold.held_ns));
	unlink_handle(c, lock);
}

static void free_handle(redlock_lock *lock, bool release)
{
	RL_NO_CANCEL;
	if (lock == NULL)
		return;
	redlock_client *c = lock->client;
	if (c != NULL && rl_forkmark_is_child(&c->forkmark)) {
		if (!rl_loop_is_whole(&c->loop))
			return;
		rl_life_detach(lock, false); /* a child has one thread */
	} else if (c != NULL) {
		rl_loop_enter_now(&c->loop);
		rl_life_detach(lock, release);
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
