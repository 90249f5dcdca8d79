/* SPDX-License-Identifier: MIT */
/*
 * What a caller may ask without asking any server: what the nodes voted, what they have, who is waited for,
 * the number of a lock, what the clock did, and which rights a user needs. A part of redlock.h, which
 * includes it and says what handles, errors, sizes, points in time and "any thread" are.
 */
#ifndef REDLOCK_INSPECT_H
#define REDLOCK_INSPECT_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

/* What node `index` voted in the last operation of this handle, background renewals included. PENDING where
 * the result did not need it: it is filled in when it comes. Any thread. Errors: INVAL, STATE, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_vote(const redlock_lock *lock, unsigned index,
                                                     struct redlock_vote *ret_vote);

/*
 * Fencing tokens. A holder that is late, because it was paused or its messages were, can do harm behind the
 * end of its validity, and no lock can keep it from that: the resource can. With `fence` each acquisition,
 * but of a shared lock only its upgrade, has a number, redlock_lock_fence(), that is higher than those of all
 * acquisitions of this name before it, whatever nodes crash (docs/decisions/fencing.md says what they must
 * keep). It stays while the lock is extended. It costs a second round trip only where the nodes' counters
 * differ. A lock that would have none is not granted: nodes that cannot count say UNCOUNTED or UNGUARDED.
 *
 * What the resource must do, in one atomic step with each access:
 *
 *   - keep the highest number that it has seen, and refuse a lower one;
 *   - the first access of a holder presents its number, also if it only reads: else a late write of the
 * holder before it is accepted behind that read.
 *
 *     UPDATE job SET fence = 34, state = 'done' WHERE id = 7 AND fence <= 34;    0 rows: we are late
 *
 * Numbers are below 2^53. They have gaps. Another name has other numbers. A handle of several names has one,
 * which is higher than those of all acquisitions of each of its names before it, and lower than those behind.
 *
 * The token of the current acquisition, or of the last one; 0: it has none, or is still being acquired. Of a
 * shared lock: of its upgrade, while it is exclusive. Any thread.
 */
REDLOCK_API uint64_t redlock_lock_fence(const redlock_lock *lock);

/* What one node has under the name. */
struct redlock_finding {
	int known;          /* 0: the node did not answer the last query; see its vote */
	char type[16];      /* "none", "string", "hash", ... as TYPE says: a server may say any bytes */
	int64_t pttl_ms;    /* remaining life; -1: no expiry, blocks for ever; -2: no key */
	uint64_t value_len; /* whole length of a string value */
	char value[1024];   /* its first bytes, any bytes; for a hash: its first "field=value" */
	size_t value_kept;  /* bytes in `value` */
};

/* What node `index` answered to the last redlock_query() of this handle; after an acquire that returned BUSY,
 * what it had of others when it was last asked during the acquire (a quorum with the same value: the holder;
 * else the votes were split). `known` is 0 where it was not asked, as when wait_ms is not 0, or did not
 * answer. Errors: INVAL, STATE (never asked), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_finding(const redlock_lock *lock, unsigned index,
                                                        struct redlock_finding *ret_finding);

/*
 * Who is waited for, as the node where the waiters meet has told with its last refusal. What became of it
 * since `told_ns` is not known: a waiter asks the seldomer the longer nothing changes. Where waiters have no
 * queue (a user without the right to scripts, PUBLISH or SUBSCRIBE; servers that have none), refusals tell
 * nothing: `node` stays -1, and redlock_query() of another handle finds the holder.
 */
struct redlock_wait {
	size_t size;    /* the caller's: sizeof(struct redlock_wait) */
	int node;       /* who told it, from 0; -1: nobody, and nothing of the rest is known */
	unsigned place; /* in order of arrival, 1: the next one; 0: unknown. Handles of this client that wait for
	                   the same lock stand behind the first of them, which has the place; those of
	                   shared locks and of several names have one each */
	unsigned waiting;  /* how many wait, this one included; 0: unknown */
	uint64_t told_ns;  /* when */
	uint64_t since_ns; /* the key was seen with this value from then on, so that its holder has had it for
	                      told_ns - since_ns at least, if a value is used once; 0: there was no key */
	uint64_t until_ns; /* when the key ends unless it is extended; REDLOCK_NEVER_NS: never; 0: no key */
	size_t holder_len; /* bytes in `holder`; 0: there was no key, or it is no string */
	char holder[1024]; /* the value of the key, its first bytes, any bytes. It is the token of the holder, "|"
	                      and its owner label, if it has one; or for a moment that of a client that tries */
	uint64_t
	    quarantine_ns; /* not others are waited for, but nodes that may have forgotten locks and vote again
	                      from then on, or as soon as the client has repaired them; 0: they are not */
};

/*
 * What is known of the lock that this handle waits for: during redlock_acquire(), in another thread, or in an
 * event loop between redlock_start_acquire() and its end. Nothing is sent or waited for, so that it can be
 * asked at each turn of a loop, or once a second to keep a line of text up to date:
 *
 *     struct redlock_wait w = {.size = sizeof w};
 *     if (redlock_lock_waiting(lock, &w) == 0 && w.place > 0)
 *         printf("place %u of %u\n", w.place, w.waiting);
 *
 * Any thread. Errors: INVAL, STATE (no acquire of it waits for others: none is under way, its first attempt
 * is not refused yet, wait_ms is 0, or it waits for a quorum of nodes to be reached that are not in
 * quarantine), FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_waiting(const redlock_lock *lock,
                                                        struct redlock_wait *ret_wait);

/* How much more time may have passed since the client was opened than CLOCK_BOOTTIME shows: so much, in all,
 * was the wall clock set forward, as it is after a virtual machine was paused. What is held then ends so much
 * sooner; REDLOCK_EVENT_DANGER and _LOST come as always. Any thread. */
REDLOCK_API uint64_t redlock_leapt_ms(redlock_client *client);

/*
 * The rights that a user of the servers needs, as ACL SETUSER takes them ("+set +get ..."): first what locks
 * need, then those of the commands that open a connection, without which less is known and the nodes vote all
 * the same, then those that only looking at a key needs. `scripts` 0: for a user that may not run scripts.
 * Writes at most `size` bytes with the NUL, and returns how long the whole text is, as snprintf(3) does.
 * Error: INVAL.
 */
REDLOCK_API int redlock_acl_rights(int scripts, char *ret_text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
