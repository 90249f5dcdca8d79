/* SPDX-License-Identifier: MIT */
/*
 * Calls that ask no server: the votes and keys of the nodes, the holder and the queue during a wait, the
 * fencing token of a lock, leaps of the clock, and the rights that a user needs. A part of redlock.h, which
 * includes it and explains handles, errors, sizes, points in time and "any thread".
 */
#ifndef REDLOCK_INSPECT_H
#define REDLOCK_INSPECT_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

/* The vote of node `index` in the last operation of this handle, background renewals included. PENDING if the
 * result did not need it; the vote is filled in when it arrives. Any thread. Errors: INVAL, STATE, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_vote(const redlock_lock *lock, unsigned index,
                                                     struct redlock_vote *ret_vote);

/*
 * Fencing tokens. A holder that is late, because it or its messages were delayed, can do harm after the end
 * of its validity. No lock can prevent that, but the resource can. With `fence` each acquisition (of a shared
 * lock only its upgrade) has a number, redlock_lock_fence(), that is higher than those of all earlier
 * acquisitions of this name, whatever nodes crash (docs/decisions/fencing.md says what they must keep). The
 * number stays the same while the lock is extended. It costs a second round trip only if the nodes' counters
 * differ. A lock that would have no number is not granted: nodes that cannot count vote UNCOUNTED or
 * UNGUARDED.
 *
 * What the resource must do, in one atomic step with each access:
 *
 *   - It keeps the highest number that it has seen, and refuses a lower one.
 *   - The first access of a holder presents its number, even if it only reads. Otherwise a late write of the
 * previous holder would be accepted after that read.
 *
 *     UPDATE job SET fence = 34, state = 'done' WHERE id = 7 AND fence <= 34;    0 rows: we are late
 *
 * Numbers are below 2^53. They have gaps. Each name has numbers of its own. A handle of several names has one
 * number, which is higher than those of all earlier acquisitions of each of its names, and lower than those
 * of all later ones.
 *
 * Returns the token of the current or last acquisition; 0: it has none, or is still being acquired. For a
 * shared lock: the token of its upgrade, while it is exclusive. Any thread.
 */
REDLOCK_API uint64_t redlock_lock_fence(const redlock_lock *lock);

/* What one node has under the name. */
struct redlock_finding {
	size_t size;        /* the caller's: sizeof(struct redlock_finding) */
	int known;          /* 0: the node did not answer the last query; see its vote */
	char type[16];      /* "none", "string", "hash", ... as TYPE says: a server may say any bytes */
	int64_t pttl_ms;    /* remaining life; -1: no expiry, blocks for ever; -2: no key */
	uint64_t value_len; /* whole length of a string value */
	char value[1024];   /* its first bytes, any bytes; for a hash: its first "field=value" */
	size_t value_kept;  /* bytes in `value` */
};

/* The answer of node `index` to the last redlock_query() of this handle. After an acquire that returned BUSY:
 * the foreign key that the node had when it was last asked during the acquire. The same value on a quorum
 * belongs to the holder; otherwise the votes were split. `known` is 0 if the node was not asked, for instance
 * because wait_ms is not 0, or did not answer. Errors: INVAL, STATE (never asked), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_finding(const redlock_lock *lock, unsigned index,
                                                        struct redlock_finding *ret_finding);

/*
 * The holder and the queue that a handle waits for, as the node with the queue reported in its last refusal.
 * What has changed since `told_ns` is not known: the longer nothing changes, the less often a waiter asks. If
 * waiters have no queue (a user without the right to scripts, PUBLISH or SUBSCRIBE; servers that have none),
 * refusals report nothing: `node` stays -1, and redlock_query() of another handle finds the holder.
 */
struct redlock_wait {
	size_t size;    /* the caller's: sizeof(struct redlock_wait) */
	int node;       /* the node that reported this, from 0; -1: none, and nothing of the rest is known */
	unsigned place; /* in order of arrival, 1: the next one; 0: unknown. Handles of this client that wait for
	                   the same lock queue behind the first of them, which has the place; handles of
	                   shared locks and of several names have a place each */
	unsigned waiting;  /* the number of waiters, this one included; 0: unknown */
	uint64_t told_ns;  /* when the node reported this */
	uint64_t since_ns; /* since when the key has had this value: its holder has held the lock for at least
	                      told_ns - since_ns, if a value is used once; 0: there was no key */
	uint64_t until_ns; /* when the key ends unless it is extended; REDLOCK_NEVER_NS: never; 0: no key */
	size_t holder_len; /* bytes in `holder`; 0: there was no key, or it is no string */
	char holder[1024]; /* the first bytes of the value of the key, any bytes: the token of the holder, "|" and
	                      its owner label, if it has one; or, for a moment, of a client that only tries */
	uint64_t quarantine_ns; /* the handle waits not for other clients but for nodes that may have forgotten
	                           locks; they vote again from then on, or as soon as the client has repaired
	                           them; 0: it does not */
};

/*
 * Writes what is known about the lock that this handle waits for: during redlock_acquire(), from another
 * thread, or in an event loop between redlock_start_acquire() and its end. It sends nothing and does not
 * wait, so it can be called at each turn of a loop, or once a second to keep a line of text up to date:
 *
 *     struct redlock_wait w = {.size = sizeof w};
 *     if (redlock_lock_waiting(lock, &w) == 0 && w.place > 0)
 *         printf("place %u of %u\n", w.place, w.waiting);
 *
 * Any thread. Errors: INVAL, STATE (no acquire of this handle waits for other clients: none runs, its first
 * attempt is not refused yet, wait_ms is 0, or it waits until a quorum of nodes can be reached that are not
 * in quarantine), FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_waiting(const redlock_lock *lock,
                                                        struct redlock_wait *ret_wait);

/* How much more time may have passed since the client was opened than CLOCK_BOOTTIME shows: the sum by which
 * the wall clock was set forward, as it is after a virtual machine was paused. Held locks then end that much
 * sooner; REDLOCK_EVENT_DANGER and _LOST come as always. Any thread. */
REDLOCK_API uint64_t redlock_leapt_ms(redlock_client *client);

/* What a client has seen of the guard of its nodes (`guard` of its options). */
enum redlock_guard_state { REDLOCK_SET_UNKNOWN = 0, REDLOCK_SET_PLAIN = 1, REDLOCK_SET_GUARDED = 2 };

struct redlock_guard_status {
	size_t size;      /* the caller's: sizeof(struct redlock_guard_status) */
	int state;        /* REDLOCK_SET_; UNKNOWN: too few nodes have answered, or the guard is OFF */
	char set[17];     /* GUARDED: the id of the set, for `guarded_set` of other clients; else "" */
	unsigned records; /* nodes that have a record of a node set */
	unsigned without; /* nodes that have none, or one that says that the set was taken back */
	unsigned barred;  /* nodes whose record this user may not read */
};

/* Writes what the client has seen so far. Sends nothing and does not wait. Any thread. Errors: INVAL,
 * FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_guard_status(redlock_client *client,
                                                        struct redlock_guard_status *ret_status);

/*
 * The rights that a user of the servers needs, in the form that ACL SETUSER takes ("+set +get ..."): first
 * the rights for locks; then those for the commands that open a connection, without which less is known but
 * nodes still vote; then those for redlock_query() alone. `scripts` 0: for a user that may not run scripts.
 * Writes at most `size` bytes with the NUL, and returns the length of the whole text, as snprintf(3) does.
 * Error: INVAL.
 */
REDLOCK_API int redlock_acl_rights(int scripts, char *ret_text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
