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

/*
 * Several names at once: one handle that holds all of them or none, with one token, one TTL and one validity.
 *
 *     const char *const accounts[] = {"alice", "bob"};
 *     redlock_lock_new_many(client, accounts, 2, NULL, &lock);
 *
 * On each node one script takes all names or none, so that two such handles never wait for each other,
 * whatever the order of their names. Each name is a lock like any other: a client that holds one of them with
 * redlock_lock_new(), or with SET in any language, excludes this handle, and the other way round. An extend
 * counts on a node that has all names with the token, and creates no key; a release deletes each key that is
 * there.
 *
 * With wait_ms, the handle joins the queue of the name that is busy, holds none of the names while it waits,
 * and is woken at its turn: it acquires the lock if all other names are free then; otherwise it joins the
 * queue of one that is not. Clients that use only one of the names do not starve it. But if each of the names
 * is always handed over from one client to the next, a plain lock that stands for all of them is the better
 * choice. A release wakes the next waiter of each name.
 *
 * A list of one name makes the lock that redlock_lock_new() makes, with all its options and calls: a program
 * whose list has one name today needs no other call. The rest of this comment is about two names or more.
 *
 * Needs the right to run scripts. 1 to REDLOCK_MAX_NAMES names, no two alike, REDLOCK_MAX_NAME bytes with
 * their prefixes together. `options` as those of redlock_lock_new(), without `token`, `compat`, `slots` and
 * `mode`. With `fence` all names get the same number. redlock_query() and redlock_probe() are for one name,
 * and return STATE: ask with a handle of that name. Errors: INVAL, NOMEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_new_many(redlock_client *client, const char *const *names,
                                                         size_t count,
                                                         const struct redlock_lock_options *options,
                                                         redlock_lock **ret_lock);

/* A name of any bytes. The struct is an element of an array: it never grows. */
struct redlock_name {
	const void *bytes;
	size_t len;
};
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_new_many_bytes(redlock_client *client,
                                                               const struct redlock_name *names, size_t count,
                                                               const struct redlock_lock_options *options,
                                                               redlock_lock **ret_lock);

/* Which of several names was busy when a node last refused this acquire or extend: its index, from 0. Nodes
 * may name different ones; this is the one that the last of them named. Any thread. Errors: INVAL, STATE (no
 * node named one), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_obstacle(const redlock_lock *lock, unsigned *ret_index);

/*
 * Slots: up to k holders of one name at a time, each of which has a slot of its own, numbered from 0 on.
 *
 *     options.slots = 3;
 *     redlock_lock_new(client, "licences", &options, &lock);
 *     if (redlock_acquire(lock) == 0 && redlock_lock_slot(lock, &slot) == 0)
 *         ... licence number `slot` is ours ...
 *
 * Each slot is an exclusive lock of its own, on a quorum of nodes. Slot 0 is NAME itself: a client that holds
 * NAME with redlock_lock_new() without slots, or with SET in any language, occupies slot 0. An acquire takes
 * the first free slot, in about one round trip; the votes of a quorum must be for the same slot. It is BUSY
 * if a quorum of nodes has no free slot. With wait_ms, handles that wait for a slot and handles that wait for
 * NAME share one queue. If a slot other than slot 0 is free, the first handle that waits for a slot acquires
 * it. Each release wakes one waiter.
 *
 * All clients of the name must give the same number of slots. While one of them is held, another number is
 * refused (REDLOCK_VOTE_SLOTS, and NOQUORUM at once); when all are free, the next acquire sets it. Nodes keep
 * the number for a day after it was set.
 *
 * With `token`, a handle is for the holder of that value: redlock_release() releases each slot that has it,
 * and wakes a waiter; redlock_extend() and redlock_query() ask the slot of the option `slot`;
 * redlock_acquire() is STATE, as the slot that the value had before would not be known.
 *
 * Needs the right to run scripts. Excludes REDLOCK_SHARED, `fence` and `compat` (INVAL).
 */

/* Which slot is held, from 0 to slots - 1. Any thread. Errors: INVAL, STATE (no slot is held, or the lock has
 * no slots), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_slot(const redlock_lock *lock, unsigned *ret_slot);

/*
 * Sticky locks (`sticky_ms`): a lock that is released may stay with the client for so long after its grant.
 * Then the release and the next acquire of the name, by any handle of this client with the same TTL and
 * renew_ms, send nothing and return 0. For the nodes the lock is held meanwhile, with the same token and the
 * same deadline.
 *
 * The nodes get it back as soon as a waiter of another client asks for it; after 200 ms without use, an
 * eighth of the TTL at most; and when this client can no longer be asked. After a waiter has asked for it,
 * the client does not keep that name for 30 s. An acquire of a kept lock leaves at least five eighths of the
 * TTL, or min_validity_ms.
 *
 * Needs a running keeper or the caller's event loop: otherwise nothing is kept. Locks with `token`, `fence`,
 * `slots`, `compat`, REDLOCK_SHARED or several names ignore the option, and a lock whose token
 * redlock_lock_token() has returned is not kept.
 *
 * The price: while a lock is kept, an acquire with wait_ms 0 elsewhere is BUSY although redlock_release()
 * returned 0. And a process that is killed while it keeps a lock blocks other clients until the TTL ends: use
 * a short TTL.
 *
 * Clients that can only poll practically never get a name that a client with this option reuses without a
 * pause: wait_ms 0, `compat`, users without scripts, the SET NX of other languages. Use the option for names
 * whose clients all use this library and wait.
 *
 * After `redlock break`, or a DEL or FLUSHALL of the keys, the keeping client may begin new sections beside
 * another holder until its validity ends or a renewal finds out. A held lock has the same window, but for one
 * section.
 *
 * A client without a keeper hears waiters only while its event loop is driven: one that stops doing so with a
 * kept lock makes them wait for the TTL. Freeing a handle gives its kept lock back, and redlock_drain() gives
 * back all of them: call it before a process ends without redlock_close().
 */

/*
 * Shared locks (`mode` REDLOCK_SHARED): any number of handles holds the lock at once, or one handle holds it
 * exclusively. Each holder has its own handle, token, TTL, renewal and loss. On each node the key is a sorted
 * set of the tokens of all holders. So the SET NX of any other client is refused, and a string under this key
 * refuses shared locks.
 *
 * Handles that wait for a shared lock share one queue with those that wait for an exclusive lock, in order of
 * arrival. A handle that waits for an exclusive lock keeps out all shared locks that come later; waiters for
 * a shared lock that are next to each other in the queue enter together. So neither starves the other. A
 * first attempt asks all nodes, and does not overtake a waiter that the node with the queue knows of.
 *
 * Needs the right to run scripts. With `token`: acquire, extend and release with the value of one holder, but
 * no upgrade: an extend with it is GONE while its holder is exclusive. Excludes `slots`, `compat` and several
 * names: INVAL.
 *
 * In a guarded node set, nodes that may have forgotten locks have no vote, as for any lock. Shared holders
 * have no fencing token. With `fence` an upgrade has one: redlock_lock_fence() is 0 before it, and again
 * after the downgrade.
 *
 * redlock_query() finds a key of type "zset" where the lock is shared: `value` has the tokens, the last to
 * end first, separated by spaces, and `value_len` is their number.
 */

/*
 * Turns a shared lock that the handle holds into an exclusive one, if no other holder exists, and returns 0.
 * Otherwise it returns BUSY at once, and the lock is held and shared as before. The same applies to NOQUORUM.
 * If two holders try at the same time, one may succeed or both may be BUSY; neither waits for the other. LOST
 * means that the validity has ended, or that a quorum of nodes no longer has the handle's token. The call
 * also extends the lock, with the caps and errors of an extend: LIMIT, LOST, STATE (not held; not shared; or
 * with the caller's own token), CANCELLED and INTERRUPTED (not confirmed: the lock counts as shared), SYSTEM,
 * FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_upgrade(redlock_lock *lock);

/*
 * Turns the lock into a shared one again, without a moment in which it is not held. Waiters for a shared lock
 * acquire it. The lock counts as shared as soon as the function is called. Returns 0 if a quorum has
 * confirmed it; on NOQUORUM other clients may find it exclusive until its next renewal. For a lock that is
 * shared already, the call is an extend. Errors as above, without BUSY and LIMIT.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_downgrade(redlock_lock *lock);

/* Begin an upgrade or downgrade without waiting for it, for event loops, as redlock_start_extend() does. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_upgrade(redlock_lock *lock);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_downgrade(redlock_lock *lock);

/*
 * The old SETNX protocol: the value of the key is a Unix time in seconds at which the lock ends. The key has
 * no expiry. A client that finds a past time takes the lock over with GETSET (redis.io, SETNX, "Handling
 * deadlocks").
 *
 * Any other lock of this library is safe from a client of that protocol that parses values as strictly as
 * int() of Python: it cannot read them at all. A client that reads only the leading digits of a value may
 * take it for a past time, and steal the lock.
 *
 * REDLOCK_COMPAT_SETNX_SAFE: the token is a number in the far future, however a client reads it, so that
 * these clients see a held lock. 66 bits of it are random, and no `owner` label follows it. Excludes `token`
 * and `fence`. The lock is never handed over directly, so that waiters need one more round trip.
 *
 * REDLOCK_COMPAT_SETNX: the lock follows the old protocol. Those clients respect it, and take it over when it
 * ends. This library respects their locks, and takes over those that have ended and have no expiry. Other
 * clients see a time; the token is in a second key, and release, extend and query (also with `token`) use
 * that key. The time is that of the server. The key has an expiry, so that a dead holder does not block other
 * clients for ever. Needs scripts; excludes `fence`, and REDLOCK_GUARD_REQUIRE of the
 * client (INVAL). A guarded node set refuses it (UNCHECKED). Waiters acquire the
 * lock by chance, not in order. It is as weak as the protocol:
 *   - A client whose clock is ahead of that of a server takes the lock over before it ends. The holder
 *     notices at the next extend, which returns LOST.
 *   - A client that counts in milliseconds takes any time in seconds for long past.
 *   - A client that has lost the race for an ended lock leaves its own time in the key. Within a second, if
 *     that time is not later than ours, the library recognises it, and the first renewal (half a second after
 *     the grant) overwrites it. Otherwise the lock is LOST, and an earlier time may let a third client in.
 *   - A client that deletes the key without looking at its time deletes the lock of any other client.
 */

/* X(one, other, why): what excludes each other, so that redlock_lock_new() and _new_many() refuse both
 * together: `mode` SHARED, `slots`, `fence`, `token`, `compat` (any; SETNX; SETNX_SAFE), several NAMES, and
 * REDLOCK_GUARD_REQUIRE of the client. */
#define REDLOCK_CONFLICT_MAP(X)                                                                              \
	X(SHARED, SLOTS, "each slot is exclusive")                                                               \
	X(SHARED, NAMES, "several names are exclusive")                                                          \
	X(SHARED, COMPAT, "clients of the old protocol share nothing")                                           \
	X(SLOTS, FENCE, "each slot would have numbers of its own")                                               \
	X(SLOTS, NAMES, "a lock has either slots or several names")                                              \
	X(SLOTS, COMPAT, "clients of the old protocol know no slots")                                            \
	X(TOKEN, NAMES, "several names have a fresh token")                                                      \
	X(FENCE, TOKEN, "the same value twice would have two numbers")                                           \
	X(COMPAT, FENCE, "a time is no fencing token")                                                           \
	X(COMPAT, NAMES, "clients of the old protocol know one name at a time")                                  \
	X(SETNX, GUARD, "clients of the old protocol know no guard")                                             \
	X(SETNX_SAFE, TOKEN, "its token is a number that redlock makes")

#ifdef __cplusplus
}
#endif

#endif
