/* SPDX-License-Identifier: MIT */
/*
 * Tokens: what a lock has as its value, how another process takes it over, values of the caller's own, and
 * fencing tokens. A part of redlock.h, which includes it.
 */
#ifndef REDLOCK_TOKENS_H
#define REDLOCK_TOKENS_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

/* Copies the token of the current or last acquisition, followed by a NUL, and writes its length: 0 before the
 * first acquire, and after a release that passed the lock on. REDLOCK_MAX_TOKEN+1 bytes suffice. Another
 * client that knows the token may extend the lock; an extend by this handle never shortens it. Any thread.
 * Errors: INVAL (buffer too small), STATE (the client was closed), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_token(const redlock_lock *lock, void *buffer, size_t size,
                                                      size_t *ret_len);

/* Frees the handle and leaves the key on the servers, for a holder of the token. */
REDLOCK_API void redlock_lock_leave(redlock_lock *lock);

/*
 * Own values. "Unique per claimant" is not enough: a value should be unique per acquisition. A release that
 * is still on its way to a slow node when the value is acquired again would delete the new key, and let
 * another client in. So, for a value that is used again:
 *
 * In one client this is safe. One handle at a time uses the value: acquire is BUSY while another handle with
 * the same name and value has not been released. A failed attempt deletes a key only where the node answered
 * that this attempt set it; other keys stay until their TTL (`lingering`). A node on which an older request
 * with the value may still arrive has no vote (REDLOCK_VOTE_STALE): an older attempt there is not answered
 * yet, or a connection that broke could not be ended with CLIENT KILL. The request is presumed gone a minute
 * after the node answers again.
 *
 * Another client or process may acquire the value once this one has returned 0 from redlock_drain(), with no
 * node `lingering`, or has ended without a release of the value and without a handle that held it.
 *
 * If a process was killed while it released, there is no time after which the value is safe: take a new
 * value.
 *
 * A release of a value releases it for all clients that use the value, also after the validity of the
 * releasing client.
 */

/*
 * Fencing tokens. A holder that is late, because it or its messages were delayed, can do harm after the end
 * of its validity. No lock can prevent that, but the resource can. With `fence` each acquisition (of a shared
 * lock only its upgrade) has a number, redlock_lock_fence(), that is higher than those of all earlier
 * acquisitions of this name, whatever nodes crash (redlock_lock(3) says what they must keep). The
 * number stays the same while the lock is extended. It costs a second round trip only if the nodes' counters
 * differ. A lock that would have no number is not granted: nodes that cannot count vote UNCOUNTED or
 * UNGUARDED.
 *
 * The resource must do this, in one atomic step with each access:
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

#ifdef __cplusplus
}
#endif

#endif
