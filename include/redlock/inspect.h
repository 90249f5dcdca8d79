/* SPDX-License-Identifier: MIT */
/*
 * The terms of a lock, the votes and keys of the nodes, the holder and the queue during a wait. A part of
 * redlock.h, which includes it.
 */
#ifndef REDLOCK_INSPECT_H
#define REDLOCK_INSPECT_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

/* The terms of a lock: the options in force, with the defaults filled in, and the times that follow. */
struct redlock_terms {
	size_t size; /* the caller's: sizeof(struct redlock_terms) */
	uint64_t ttl_ms;
	uint64_t node_timeout_ms;  /* at this TTL; rounded down to whole milliseconds */
	uint64_t drift_ms;         /* of this TTL; rounded up */
	uint64_t validity_ms;      /* ttl - drift: the validity of a lock that takes no time to acquire */
	uint64_t noquorum_wait_ms; /* REDLOCK_FOREVER: no limit */
	uint64_t renew_ms;         /* 0: never */
	uint64_t danger_ms;        /* 0: no notice */
};

/*
 * The terms that a lock would have: with options of a client that is not open yet, or in an open client. NULL
 * options are the defaults; in an open client, its lock_options. Nothing is sent. The functions do not check
 * whether these times leave room for an answer, node timeout + drift < ttl; redlock_lock_new() does. Any
 * thread. Errors: INVAL (a TTL out of its range, an option that this library does not know); the second also
 * FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_terms(const struct redlock_options *options,
                                                 const struct redlock_lock_options *lock_options,
                                                 struct redlock_terms *ret_terms);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_client_terms(redlock_client *client,
                                                        const struct redlock_lock_options *options,
                                                        struct redlock_terms *ret_terms);

/* The terms of a handle. Any thread. Errors: INVAL, STATE, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_terms(const redlock_lock *lock,
                                                      struct redlock_terms *ret_terms);

/* `user` of the options. Any thread. */
REDLOCK_API void *redlock_lock_user(const redlock_lock *lock);

/* The point in time at which the validity ends: CLOCK_BOOTTIME in nanoseconds, 0 if not held. Any thread. It
 * moves to an earlier time if the wall clock is set forward while the lock is held: see redlock_leapt_ms().
 */
REDLOCK_API uint64_t redlock_deadline_ns(const redlock_lock *lock);

/*
 * Asks all nodes what they have under this name; redlock_lock_finding() returns the answers. Returns 0 if a
 * quorum has the key with this handle's token (with the caller's own token: as soon as that is known), GONE
 * if not, NOQUORUM if too few nodes answered. Errors: also CANCELLED, INTERRUPTED, NOMEM, STATE, SYSTEM,
 * FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_query(redlock_lock *lock);

/*
 * Asks all nodes whether they would grant this lock now, without acquiring it or leaving a key: each is
 * sent SET ... XX, which writes only to existing keys, for a key that does not exist (the name, followed by
 * 40 random digits). So it finds a replica, a server that is full or refuses writes, and a user without the
 * right to SET or to such names. It does not check whether the name itself is free. For health checks.
 * Returns 0 if a quorum would, NOQUORUM if not; each node's reason is its vote. Waits for all nodes, one
 * node timeout at most. Errors: also CANCELLED, INTERRUPTED, STATE (held, or has its own token), NOMEM,
 * SYSTEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_probe(redlock_lock *lock);

/* The vote of node `index` in the last operation of this handle, background renewals included; but if the
 * last operation that the program called has failed, in that one, until the next call. PENDING if the result
 * did not need it; the vote is filled in when it arrives. Any thread. Errors: INVAL, STATE, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_vote(const redlock_lock *lock, unsigned index,
                                                     struct redlock_vote *ret_vote);

/* A node's answer about the name. */
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
 * because wait_ms is not 0, or did not answer. Any thread. Errors: INVAL, STATE (never asked), FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_finding(const redlock_lock *lock, unsigned index,
                                                        struct redlock_finding *ret_finding);

/*
 * Writes one sentence that says why the last operation of this handle failed, for a log or a person. That is
 * the last acquire, extend, upgrade, downgrade, release, query, probe or refused redlock_lock_set_wait();
 * calls that only read, redlock_cancel() and a redlock_lock_set_wait() that succeeds leave the sentence as it
 * is. A loss, a danger or the end of the validity since then has a sentence, too.
 *
 *     busy: held by web-1:1234 on 3 of 5 nodes       (those that were read: there may be more)
 *     busy: held by web-1:1234, as node 2 reported last                       (after a wait)
 *     no quorum: 2 of 5 nodes voted yes, 3 are needed; node 1 redis://10.0.0.1:6379: not reachable:
 *     Connection refused; nodes 2, 4: no answer in time            (all in one line)
 *     no quorum in time: 3 of 5 nodes voted yes, 3 are needed      (these votes came after the call)
 *     busy: shared by web-1:1234 and 2 more on 3 of 5 nodes
 *     busy: none of the 3 slots is free on 3 of 5 nodes            (holders are not asked for)
 *     busy: somebody else holds alice; 3 of 5 nodes voted no       (of several names; after a wait with its
 *                                                                   holder)
 *     busy: 3 of 5 nodes voted yes, but less than min_validity_ms (900 ms) of the validity was left
 *     busy: others share the lock, on 2 of 3 nodes                            (after an upgrade)
 *     the lock was lost: its validity has ended; the last renewal: 1 of 3 nodes voted yes, 2 are needed;
 *     nodes 2, 3: no answer in time                                (in one line; also before the call that
 *                                                                   returns LOST)
 *     the validity ends soon; the last renewal: ...                (after DANGER)
 *     the lock handle is not in a state that allows this call: the lock is not held
 *
 * "success" if nothing of this has failed. A holder is named by its owner label; tokens and values are never
 * shown, since a client that knows them can release the lock. Bytes other than printable ASCII are written as
 * \xNN. The sentence is made of the votes and findings as they are now: later answers change it. In an event
 * loop a call ends with its event. The sentence is for people and may change; programs use
 * the error code.
 *
 * Writes at most `size` bytes with the NUL, and returns the length of the whole sentence, as snprintf(3)
 * does. `text` may be NULL if `size` is 0. Sends nothing. Any thread. Errors: INVAL, STATE (the client was
 * closed), FORKED.
 */
REDLOCK_API int redlock_last_error(const redlock_lock *lock, char *text, size_t size);

/*
 * The holder and the queue that a handle waits for, as the node with the queue reported in its last refusal.
 * Changes since `told_ns` are not known: the longer nothing changes, the less often a waiter asks. If waiters
 * have no queue (a user without the right to scripts, PUBLISH or SUBSCRIBE; servers that have none), refusals
 * report nothing: `node` stays -1, and redlock_query() of another handle finds the holder.
 */
struct redlock_wait {
	size_t size;      /* the caller's: sizeof(struct redlock_wait) */
	int node;         /* the node that reported this, from 0; -1: none, and nothing of the rest is known */
	unsigned place;   /* in the order of the queue, 1: the next one; 0: unknown. Of the handles of this client
	                     that wait for the same lock, the first has the place and the others queue after it;
	                     handles of shared locks and of several names have a place each */
	unsigned waiting; /* the number of waiters, this one included; 0: unknown */
	uint64_t told_ns; /* when the node reported this */
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

#ifdef __cplusplus
}
#endif

#endif
