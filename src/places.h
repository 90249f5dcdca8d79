/* SPDX-License-Identifier: MIT */
/*
 * Places in the queues of nodes, as servers know them: "<client>.<number>", 16 hex digits that are drawn once
 * for each client, and a number that stands for one acquire call of one handle. Messages for the client come
 * on the channel "redlock:wake:<client>", and say the number.
 *
 * The handles of one client that want one name stand in a line, and only the first one has a place at the
 * nodes. They pass the lock on among themselves: "lock cohorting", Dice, Marathe, Shavit, 2012.
 */
#ifndef RL_PLACES_H
#define RL_PLACES_H

#include "core/slice.h"
#include "handle.h"
#include "net/listener.h"
#include "nodes.h"
#include "os/random.h"
#include "registry.h"

#define RL_PLACES_TEXT 32 /* bytes of a place, and its NUL */

struct rl_places {
	char channel[RL_LISTENER_CHANNEL]; /* "": nobody has waited yet */
	redlock_lock *first; /* of the handles that wait, or hold what they waited for, in their order */
	redlock_lock *last;
	redlock_lock *next; /* has become the first that waits for its name, and is to be told; NULL: nobody */
	struct rl_nodes *nodes;        /* where messages are heard */
	struct rl_random_pool *random; /* the digits come from here */
};

/* All else is zero. */
void rl_places_init(struct rl_places *places, struct rl_nodes *nodes, struct rl_random_pool *random);

/* The client may keep the lock of this handle when it is released: listens where waiters ask for it. An
 * acquire calls this before it signs its token. */
void rl_places_invite(struct rl_places *places, const redlock_lock *lock, uint64_t now_ns);

/* Whether a waiter that asks for the lock would be heard. */
bool rl_places_can_be_asked(const struct rl_places *places, const redlock_lock *lock);

/* The handle has to wait, and may: listens to its gate, and when its turn is near, to all nodes. The first in
 * line hears of the end of the key, too, when it has waited for a while. */
void rl_places_wait(struct rl_places *places, redlock_lock *lock, uint64_t now_ns);

/* A handle of several names waits for another one than `before`: it gets no more messages about that one's
 * key. */
void rl_places_change(struct rl_places *places, redlock_lock *lock, uint8_t before, uint64_t now_ns);

/* Whether a handle has its place beside others of this client, instead of waiting for them. */
bool rl_places_are_apart(const redlock_lock *lock);

/* These nodes, a bit for each, are not heard any more. */
void rl_places_deafen(redlock_lock *lock, uint32_t nodes);

/* A handle that waits for the same name as an earlier handle of this client has no place of its own: it waits
 * for that one; returns until when, because that one may pass the lock on. 0: the handle is the first. */
uint64_t rl_places_behind_until(const struct rl_places *places, const redlock_lock *lock, uint64_t now_ns);

/* The first one that waits for the name of `lock`. NULL: none does. */
redlock_lock *rl_places_first_waiter(const struct rl_places *places, const redlock_lock *lock);

/* A waiter has got the lock: it gets no more messages about waiting, and the next waiter of the line gets
 * them. */
void rl_places_held(struct rl_places *places, redlock_lock *lock, uint64_t now_ns);

/* The handle has joined or left the line: it waits, or holds the lock after its wait, or neither. */
void rl_places_line_up(struct rl_places *places, redlock_lock *lock, bool waits, uint64_t now_ns);

/* The first for its name of those that wait, how many stand between the two, and how many wait for it in all.
 * NULL: none waits. */
const redlock_lock *rl_places_first(const struct rl_places *places, const redlock_lock *lock,
                                    unsigned *ret_before, unsigned *ret_count);

/* The nodes that would be heard by this handle, a bit for each. */
uint32_t rl_places_heard(const struct rl_places *places, const redlock_lock *lock);

/* The place of a call. "": it has none. */
struct rl_slice rl_places_name(const struct rl_places *places, const redlock_lock *lock, unsigned call,
                               char text[RL_PLACES_TEXT]);

/* A token begins with the digits of its client, which recognises it by them, once the client has a channel.
 * `sticky`: and two digits say that the client may keep the lock after its release, so that waiters ask for
 * it (ops/lib/kept.lua). `digits`: those of a fresh token. */
void rl_places_mark(const struct rl_places *places, char *digits, bool sticky);
bool rl_places_marks(const struct rl_places *places, const char *digits);

/* The handle that waits for this name first in line at this node, and follows its key. NULL: none. */
redlock_lock *rl_places_waits_for(const struct rl_places *places, struct rl_slice name, unsigned node);

/* The handle that has this number, and of which call. NULL: no handle any more. */
redlock_lock *rl_places_find(const struct rl_registry *handles, uint32_t number, uint16_t *ret_call);

/* ---- passing on ---- */

/* The handle that gets the lock when this one releases it (core/hold.h). NULL: the servers have it back. */
redlock_lock *rl_places_heir(const struct rl_places *places, const redlock_lock *lock, uint64_t now_ns);

/* Exchanges all that belongs to the claim of the one and to the attempt of the other: the core's state, votes
 * and token, and the slot, by which late answers and messages find them. The callers' settings and operations
 * stay. */
void rl_places_exchange(struct rl_registry *handles, redlock_lock *lock, redlock_lock *next);

#endif
