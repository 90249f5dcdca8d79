/* SPDX-License-Identifier: MIT */
#include "kept.h"

#include "core/policy.h"

/* The list is searched by each acquire of the client. */
enum { MOST = 256 };

/* After a waiter has asked. A turn that it had to ask for costs about four pairs: of two clients that take
 * turns, each loses that once in this time. */
#define AWAY_NS (30000 * RL_NS_PER_MS)

void rl_kept_join(struct rl_kept *k, redlock_lock *lock)
{
	lock->previous_in_line = NULL;
	lock->next_in_line = k->first;
	if (k->first != NULL)
		k->first->previous_in_line = lock;
	k->first = lock;
	k->count++;
}

void rl_kept_quit(struct rl_kept *k, redlock_lock *lock)
{
	redlock_lock *next = lock->next_in_line, *previous = lock->previous_in_line;
	*(previous != NULL ? &previous->next_in_line : &k->first) = next;
	if (next != NULL)
		next->previous_in_line = previous;
	k->count--;
}

/* A handle of several names wants all that is kept: to look at each name is not worth it. */
redlock_lock *rl_kept_find(const struct rl_kept *k, const redlock_lock *lock)
{
	redlock_lock *l = k->first;
	while (l != NULL && lock->also_size == 0 && !rl_slice_same(rl_handle_name(l), rl_handle_name(lock)))
		l = l->next_in_line;
	return l;
}

redlock_lock *rl_kept_wanted(const struct rl_registry *handles, const struct rl_heard *heard)
{
	redlock_lock *l = rl_registry_next(handles, 0);
	for (; l != NULL; l = rl_registry_next(handles, l->slot + 1))
		if (l->core.rules->sticky_ns > 0 && rl_state_holds(&l->core) &&
		    rl_slice_same(rl_handle_token(l), heard->token) && rl_slice_same(rl_handle_name(l), heard->name))
			break;
	return l;
}

/* Names with the same number back off together. */
static unsigned number_of(const redlock_lock *lock)
{
	const struct rl_slice name = rl_handle_name(lock);
	uint32_t hash = 2166136261u; /* FNV-1a */
	for (size_t i = 0; i < name.size; i++)
		hash = (hash ^ (unsigned char)name.bytes[i]) * 16777619u;
	return (hash ^ hash >> 16) % RL_KEPT_NAMES;
}

static uint32_t seconds(uint64_t ns)
{
	return (uint32_t)(ns / (1000 * RL_NS_PER_MS));
}

static bool is_away(const struct rl_kept *k, const redlock_lock *lock, uint64_t now_ns)
{
	return now_ns < k->away_until_ns && seconds(now_ns) < k->away_until_s[number_of(lock)];
}

static bool is_driven(const struct rl_loop *l)
{
	return l->driven || (l->keeper_runs && !l->keeper_stops);
}

static bool is_awaited(const struct rl_places *places, const redlock_lock *lock)
{
	return places->first != NULL && rl_places_first_waiter(places, lock) != NULL;
}

/* A token that the caller was told may be used after its turn. */
bool rl_kept_may(const struct rl_kept *k, const struct rl_loop *l, const struct rl_places *places,
                 const redlock_lock *lock)
{
	bool may = is_driven(l) && !lock->told && !is_away(k, lock, l->now_ns);
	bool room = lock->core.phase == RL_KEPT || k->count < MOST;
	return may && room && rl_places_can_be_asked(places, lock) && !is_awaited(places, lock);
}

void rl_kept_back_off(struct rl_kept *k, const redlock_lock *lock, uint64_t now_ns)
{
	k->away_until_ns = rl_time_add(now_ns, AWAY_NS);
	k->away_until_s[number_of(lock)] = seconds(k->away_until_ns);
}
