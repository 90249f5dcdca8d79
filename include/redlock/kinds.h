/* SPDX-License-Identifier: MIT */
/*
 * Kinds of locks beside the one of redlock_lock_new(). A part of redlock.h, which includes it and says what
 * handles, errors and "any thread" are.
 */
#ifndef REDLOCK_KINDS_H
#define REDLOCK_KINDS_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

#define REDLOCK_MAX_NAMES 64 /* of one lock */

struct redlock_name {
	const void *bytes;
	size_t len;
};

/*
 * Several names at once: one handle that holds all of them or none, with one token, one TTL and one validity.
 *
 *     const struct redlock_name accounts[] = {{"alice", 5}, {"bob", 3}};
 *     redlock_lock_new_many(client, accounts, 2, NULL, &lock);
 *
 * On each node one script takes all names or none, so that two of these never wait for each other, in
 * whatever order they name what they share. Each name is a lock like any other: who holds one of them by
 * redlock_lock_new(), or by SET in any language, keeps this one out, and the other way round. An extend
 * counts where the node has all names for the token, and creates none; a release deletes each that is there.
 *
 * With wait_ms, it stands in line for the name that is in the way, keeps nothing while it waits, and is woken
 * at its turn: it has the lock if all others are free then, else it stands in line for one that is not. Users
 * of one of its names do not keep it out. But for names that are each always handed from one to the next, a
 * plain lock that stands for all of them is the better choice. Its release wakes the next one of each name.
 *
 * Needs the right to scripts. 1 to REDLOCK_MAX_NAMES names, no two alike, REDLOCK_MAX_NAME bytes with their
 * prefixes together. `options` as those of redlock_lock_new(), without `token`, `compat`, `slots` and `mode`.
 * With `fence` one number is that of each name. redlock_query() and redlock_probe() are of one name: STATE;
 * ask with a handle of that one. Errors: INVAL, NOMEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_new_many(redlock_client *client,
                                                         const struct redlock_name *names, size_t count,
                                                         const struct redlock_lock_options *options,
                                                         redlock_lock **ret_lock);

/* Which of several names was in the way when a node last said no in this acquire or extend: its index, from
 * 0. Nodes may say different ones; this is what the last of them said. Any thread. Errors: INVAL, STATE (none
 * said so), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_obstacle(const redlock_lock *lock, unsigned *ret_index);

/*
 * Slots: up to k holders of one name at a time, each of which has a slot of its own, numbered from 0 on.
 *
 *     options.slots = 3;
 *     redlock_lock_new(client, "licences", 8, &options, &lock);
 *     if (redlock_acquire(lock) == 0 && redlock_lock_slot(lock, &slot) == 0)
 *         ... licence number `slot` is ours ...
 *
 * Each slot is an exclusive lock of its own, over a quorum of nodes: the first one is NAME itself, so that
 * who holds NAME by redlock_lock_new() without slots, or by SET in any language, has one of the places. An
 * acquire takes the first slot that is free, in about one round trip; the votes of a quorum must be for the
 * same one. It is BUSY when a quorum of nodes has none to give. With wait_ms, those who wait for a slot and
 * those who wait for NAME stand in one line; where a slot is free that is not NAME's, the first who waits for
 * a slot gets it. Each release wakes one.
 *
 * All who use the name give the same number of slots. While one of them is held another number is refused
 * (REDLOCK_VOTE_SLOTS, and NOQUORUM at once); when all are free, the next acquire sets it. Nodes keep the
 * number for a day after it was set.
 *
 * Needs the right to scripts. Not shared, nor with `token`, `fence` or `compat`, nor in a client with `guard`
 * (INVAL).
 */
#define REDLOCK_MAX_SLOTS 64

/* Which slot is held, from 0 to slots - 1. Any thread. Errors: INVAL, STATE (none is held, or it has no
 * slots), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_slot(const redlock_lock *lock, unsigned *ret_slot);

/*
 * Shared locks (`mode` REDLOCK_SHARED): any number of them is held at once, or one exclusive lock. Each
 * holder has its own handle, token, TTL, renewal and loss. On each node they stand in one key, a sorted set
 * of tokens; so SET NX of any other client is refused, and a string that somebody else has there refuses
 * them.
 *
 * Who waits, stands in one line with those who wait for an exclusive lock, in order of arrival. Somebody who
 * waits for an exclusive one keeps out all shared ones that come later; those that stand in line together
 * enter together. So neither starves the other. A first attempt asks all nodes, and takes no lock past a
 * waiter that the node where they meet knows of.
 *
 * Needs the right to scripts. With `token`: only its holder's; acquire, extend and release by it, but no
 * upgrade: an extend by it is GONE while its holder is exclusive. Not with `slots` and `compat`, nor for
 * several names: INVAL.
 *
 * In a client with `guard` nodes that may have forgotten have no vote, as for any lock. Those who share have
 * no fencing token. With `fence` an upgrade has one: redlock_lock_fence() is 0 until then, and again behind
 * the downgrade.
 *
 * redlock_query() finds a key of type "zset" where it is shared: `value` has the tokens, the last to end
 * first, with spaces between them, and `value_len` how many there are.
 */

/*
 * Makes a shared lock that is held an exclusive one, if nobody else holds it: 0. Else BUSY, at once, and it
 * is held and shared as before; so is it with NOQUORUM. Of two holders that try at the same time one may get
 * it, none waits for the other, and both may be BUSY. It is an extend, too, with its caps and errors: LIMIT,
 * LOST, STATE (not held; not shared; or with a token of the caller's), CANCELLED and INTERRUPTED (not
 * confirmed: it counts as shared), SYSTEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_upgrade(redlock_lock *lock);

/*
 * Makes it shared again, without a moment in which it is not held; those who wait for a shared one enter.
 * From the call on it counts as shared. 0 when a quorum has confirmed it; with NOQUORUM others may find it
 * exclusive until its next renewal. Of one that is shared already: an extend. Errors as above, without BUSY
 * and LIMIT.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_downgrade(redlock_lock *lock);

/* The same for event loops, as redlock_start_extend(). */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_upgrade(redlock_lock *lock);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_downgrade(redlock_lock *lock);

#ifdef __cplusplus
}
#endif

#endif
