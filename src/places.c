/* SPDX-License-Identifier: MIT */
#include "places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/enter.h"
#include "core/hold.h"
#include "core/policy.h"
#include "seen.h"

#define CHANNEL "redlock:wake:"
#define STICKY                                                                                               \
	"5c" /* the digits after those of the client: ops/lib/kept.lua. By chance, others have them too */

enum { CLIENT_BYTES = 8, CLIENT_DIGITS = 2 * CLIENT_BYTES };

/* Handles beyond these have no number, and of those that wait for a slot, whose number has one digit more,
 * none that has room. */
#define NUMBERS (UINT32_MAX / RL_CALLS)
#define SLOT_NUMBERS (999999999 / RL_CALLS)

/* Places from which the lock may be handed over soon. */
enum { NEAR = 16 };

static bool has_number(const redlock_lock *lock)
{
	return lock->slot < (lock->core.rules->slots > 0 ? SLOT_NUMBERS : NUMBERS);
}

/* Once for each client. False: no random bytes are available. */
static bool draw(struct rl_places *p, uint64_t now_ns)
{
	unsigned char random[CLIENT_BYTES];
	char *at = p->channel;
	if (*at != '\0')
		return true;
	if (rl_random_pool_take(p->random, now_ns, random, sizeof random) < 0)
		return false;
	memcpy(at, CHANNEL, sizeof CHANNEL);
	rl_slice_put_hex(at + sizeof CHANNEL - 1, random, sizeof random); /* the rest is zero */
	return true;
}

void rl_places_init(struct rl_places *p, struct rl_nodes *nodes, struct rl_random_pool *random)
{
	p->nodes = nodes;
	p->random = random;
}

/* ---- the line of this client's handles ---- */

static redlock_lock *first_for(redlock_lock *from, struct rl_slice name)
{
	while (from != NULL && !rl_slice_same(rl_handle_line(from), name))
		from = from->next_in_line;
	return from;
}

bool rl_places_are_apart(const redlock_lock *lock)
{
	const struct rl_policy *policy = lock->core.policy;
	return policy->shares || policy->several;
}

/* Waiters for the name and waiters for any slot of it have separate lines: the name may be free while all
 * slots are held, and the reverse. A waiter for several names joins no line. */
static redlock_lock *first_of(redlock_lock *from, const redlock_lock *like)
{
	bool slots = like->core.rules->slots > 0;
	redlock_lock *l = first_for(from, rl_handle_name(like));
	while (l != NULL && ((l->core.rules->slots > 0) != slots || l->core.policy->several))
		l = first_for(l->next_in_line, rl_handle_name(like));
	return l;
}

/* Skips handles in the line that already hold the lock. */
static redlock_lock *waiter_of(redlock_lock *from, const redlock_lock *like)
{
	redlock_lock *l = first_of(from, like);
	while (l != NULL && l->core.phase == RL_HELD)
		l = first_of(l->next_in_line, like);
	return l;
}

redlock_lock *rl_places_waits_for(const struct rl_places *p, struct rl_slice name, unsigned node)
{
	redlock_lock *l = first_for(p->first, name);
	while (l != NULL && l->follows != node + 1)
		l = first_for(l->next_in_line, name);
	return l;
}

redlock_lock *rl_places_first_waiter(const struct rl_places *p, const redlock_lock *lock)
{
	return waiter_of(p->first, lock);
}

uint64_t rl_places_behind_until(const struct rl_places *p, const redlock_lock *lock, uint64_t now_ns)
{
	uint64_t until = 0;
	if (rl_places_are_apart(lock))
		return 0; /* readers enter together; several names differ */
	const redlock_lock *l = first_of(p->first, lock);
	for (; l != NULL && l != lock && until <= now_ns; l = first_of(l->next_in_line, lock))
		until = l->core.phase == RL_HELD ? rl_hold_pass_until(&l->core) : RL_TIME_NEVER;
	return until;
}

static void tell_next(struct rl_places *p, const redlock_lock *before)
{
	if (!before->core.policy->several) /* nobody waited for it */
		p->next = waiter_of(p->first, before);
}

const redlock_lock *rl_places_first(const struct rl_places *p, const redlock_lock *lock, unsigned *ret_before,
                                    unsigned *ret_count)
{
	const redlock_lock *first = rl_places_first_waiter(p, lock);
	*ret_before = 0;
	*ret_count = 1;
	if (lock->core.policy->several)
		return lock;
	*ret_count = 0;
	for (const redlock_lock *l = first; l != NULL; l = waiter_of(l->next_in_line, lock)) {
		if (l == lock)
			*ret_before = *ret_count;
		++*ret_count;
	}
	return first;
}

static void join(struct rl_places *p, redlock_lock *lock)
{
	lock->previous_in_line = p->last;
	lock->next_in_line = NULL;
	*(p->last != NULL ? &p->last->next_in_line : &p->first) = lock;
	p->last = lock;
}

static void quit(struct rl_places *p, redlock_lock *lock)
{
	redlock_lock *next = lock->next_in_line, *previous = lock->previous_in_line;
	*(previous != NULL ? &previous->next_in_line : &p->first) = next;
	*(next != NULL ? &next->previous_in_line : &p->last) = previous;
}

/* ---- the key at the gate ---- */

static void follow_no_more(const struct rl_places *p, redlock_lock *lock, uint64_t now_ns)
{
	if (lock->follows == 0)
		return;
	(void)rl_node_follow(&p->nodes->list[lock->follows - 1], rl_handle_line(lock), false, now_ns);
	lock->follows = 0;
}

static void follow(const struct rl_places *p, redlock_lock *lock, uint64_t now_ns)
{
	unsigned gate = lock->core.queue.gate;
	if (lock->follows != gate + 1u)
		follow_no_more(p, lock, now_ns);
	if (lock->follows == 0 && rl_enter_follows(&lock->core, now_ns) &&
	    rl_node_follow(&p->nodes->list[gate], rl_handle_line(lock), true, now_ns))
		lock->follows = (gate + 1u) % RL_WATCH_NODES;
}

void rl_places_change(struct rl_places *p, redlock_lock *lock, uint8_t before, uint64_t now_ns)
{
	uint8_t line = lock->core.queue.line;
	lock->core.queue.line = before;
	follow_no_more(p, lock, now_ns);
	lock->core.queue.line = line;
	rl_seen_forget(lock);
}

void rl_places_deafen(redlock_lock *lock, uint32_t nodes)
{
	if (lock->follows != 0 && (nodes >> (lock->follows - 1) & 1) != 0)
		lock->follows = 0;
}

/* ---- the line goes on ---- */

void rl_places_line_up(struct rl_places *p, redlock_lock *lock, bool waits, uint64_t now_ns)
{
	if (waits == lock->in_line)
		return;
	lock->in_line = waits;
	if (waits) {
		rl_seen_forget(lock);
		join(p, lock);
		return;
	}
	follow_no_more(p, lock, now_ns);
	bool was_first = first_of(p->first, lock) == lock;
	quit(p, lock);
	if (was_first)
		tell_next(p, lock);
}

void rl_places_held(struct rl_places *p, redlock_lock *lock, uint64_t now_ns)
{
	rl_seen_forget(lock);
	follow_no_more(p, lock, now_ns);
	tell_next(p, lock);
}

/* ---- places at the nodes ---- */

void rl_places_wait(struct rl_places *p, redlock_lock *lock, uint64_t now_ns)
{
	bool near = lock->core.queue.place > 0 && lock->core.queue.place <= NEAR;
	if (!has_number(lock) || !rl_node_may_queue(&p->nodes->list[lock->core.queue.gate]) || !draw(p, now_ns))
		return;
	for (unsigned i = 0; i < p->nodes->count; i++)
		if (near || i == lock->core.queue.gate)
			rl_nodes_listen(p->nodes, i, rl_handle_line(lock), p->channel, now_ns);
	follow(p, lock, now_ns);
}

void rl_places_invite(struct rl_places *p, const redlock_lock *lock, uint64_t now_ns)
{
	unsigned gate = rl_nodes_gate(p->nodes, lock->core.queue.turn);
	if (rl_node_may_queue(&p->nodes->list[gate]) && draw(p, now_ns))
		rl_nodes_listen(p->nodes, gate, rl_handle_line(lock), p->channel, now_ns);
}

bool rl_places_can_be_asked(const struct rl_places *p, const redlock_lock *lock)
{
	/* a cluster cannot tell a script who hears its messages */
	return p->nodes->clusters == NULL &&
	       (p->nodes->heard >> rl_nodes_gate(p->nodes, lock->core.queue.turn) & 1) != 0;
}

uint32_t rl_places_heard(const struct rl_places *p, const redlock_lock *lock)
{
	uint32_t nodes = has_number(lock) ? rl_nodes_heard(p->nodes) : 0;
	for (unsigned i = 0; i < p->nodes->count; i++)
		if (!rl_node_may_queue(&p->nodes->list[i]))
			nodes &= ~(1u << i);
	return nodes;
}

struct rl_slice rl_places_name(const struct rl_places *p, const redlock_lock *lock, unsigned call,
                               char text[RL_PLACES_TEXT])
{
	if (p->channel[0] == '\0')
		return (struct rl_slice){"", 0};
	/* By a number that begins with 0 scripts know who waits for a slot: ops/lib/slots.lua. */
	int size =
	    snprintf(text, RL_PLACES_TEXT, "%.*s.%s%" PRIu32, CLIENT_DIGITS, p->channel + sizeof CHANNEL - 1,
	             lock->core.rules->slots > 0 ? "0" : "", lock->slot * RL_CALLS + call);
	return (struct rl_slice){text, (size_t)size};
}

void rl_places_mark(const struct rl_places *p, char *digits, bool sticky)
{
	memcpy(digits, p->channel + sizeof CHANNEL - 1, CLIENT_DIGITS);
	if (sticky)
		memcpy(digits + CLIENT_DIGITS, STICKY, sizeof STICKY - 1);
}

bool rl_places_marks(const struct rl_places *p, const char *digits)
{
	return p->channel[0] != '\0' && memcmp(digits, p->channel + sizeof CHANNEL - 1, CLIENT_DIGITS) == 0;
}

redlock_lock *rl_places_find(const struct rl_registry *handles, uint32_t number, uint16_t *ret_call)
{
	*ret_call = (uint16_t)(number % RL_CALLS);
	return rl_registry_at(handles, number / RL_CALLS);
}

/* ---- passing on ---- */

/* A token that the caller was told may be used after its turn. */
redlock_lock *rl_places_heir(const struct rl_places *places, const redlock_lock *lock, uint64_t now_ns)
{
	redlock_lock *next = places->first != NULL ? rl_places_first_waiter(places, lock) : NULL;
	bool fits = next != NULL && !lock->told && rl_hold_may_pass(&lock->core, &next->core, now_ns);
	return fits ? next : NULL;
}

static void swap_bytes(void *a, void *b, size_t size)
{
	unsigned char *x = a, *y = b;
	for (size_t i = 0; i < size; i++) {
		unsigned char kept = x[i];
		x[i] = y[i];
		y[i] = kept;
	}
}

#define SWAP(type, field)                                                                                    \
	do {                                                                                                     \
		type kept_ = lock->field;                                                                            \
		lock->field = next->field;                                                                           \
		next->field = kept_;                                                                                 \
	} while (0)

/* Both have room for fresh tokens, of one size; one that has not tried yet has none. */
void rl_places_exchange(struct rl_registry *handles, redlock_lock *lock, redlock_lock *next)
{
	size_t nodes = lock->core.rules->node_count;
	size_t size = lock->token_size > next->token_size ? lock->token_size : next->token_size;
	SWAP(struct rl_lock, core);
	SWAP(const struct rl_rules *, core.rules); /* lent by the handle, these four */
	SWAP(struct rl_ballot *, core.votes);
	SWAP(struct redlock_finding *, core.findings);
	SWAP(struct rl_ballot *, core.caller_votes);
	swap_bytes(lock->votes, next->votes, nodes * sizeof lock->votes[0]);
	swap_bytes(rl_handle_token_bytes(lock), rl_handle_token_bytes(next), size);
	SWAP(uint16_t, token_size);
	SWAP(struct rl_heir *, heir);
	lock->told = next->told = 0; /* what next's caller may know is the token of an attempt */
	rl_registry_exchange(handles, lock, next);
}
