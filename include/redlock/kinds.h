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
 * With wait_ms, it tries again after a random delay of retry_min_ms to retry_max_ms. It takes no place among
 * those who wait in order of arrival, and keeps nothing while it waits: they may overtake it, so that for
 * names that somebody always waits for, a plain lock that stands for all of them is the better choice. Its
 * release wakes the next one of each name.
 *
 * Needs the right to scripts. 1 to REDLOCK_MAX_NAMES names, no two alike, REDLOCK_MAX_NAME bytes with their
 * prefixes together. `options` as those of redlock_lock_new(), without `token` and `fence`. redlock_query()
 * and redlock_probe() are of one name: STATE; ask with a handle of that one. Errors: INVAL, NOMEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_new_many(redlock_client *client,
                                                         const struct redlock_name *names, size_t count,
                                                         const struct redlock_lock_options *options,
                                                         redlock_lock **ret_lock);

/* Which of several names was in the way when a node last said no in this acquire or extend: its index, from
 * 0. Nodes may say different ones; this is what the last of them said. Any thread. Errors: INVAL, STATE (none
 * said so), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_obstacle(const redlock_lock *lock, unsigned *ret_index);

#ifdef __cplusplus
}
#endif

#endif
