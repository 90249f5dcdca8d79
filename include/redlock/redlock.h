/* SPDX-License-Identifier: MIT */
/*
 * libredlock: distributed locks over independent Redis or Valkey servers.
 *
 *     if (redlock_open_configured(NULL, why, sizeof why, &client) < 0)
 *         return 1;                                         nodes and times are those of the redlock command
 *     if (redlock_lock_new(client, "nightly", NULL, &lock) == 0 && redlock_acquire(lock) == 0) {
 *         ...                                               the work, until redlock_remaining_ms() is 0
 *         redlock_release(lock);                            the handle can be acquired again
 *     }
 *     redlock_lock_free(lock);                              NULL is allowed
 *     redlock_drain(client, 1000);                          waits for releases that have no answer yet
 *     redlock_close(client);
 *
 * A program that names the nodes itself opens its client with options:
 *
 *     static const char *const urls[] = {"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"};
 *     struct redlock_options options;
 *     redlock_options_init(&options);                       defaults
 *     options.urls = urls;
 *     options.url_count = 3;
 *     if (redlock_open(&options, &client) < 0)              connects in the background
 *         return 1;
 *
 * A lock is a lease. It is valid by the clock, never by a flag: redlock_remaining_ms() compares the deadline
 * with the clock at every call. Work that must not run late has to check it, and a resource that must be safe
 * from a late worker has to check fencing tokens. redlock(3) has the promises and their limits.
 *
 * This header has the calls that every program needs. Its end includes the parts by theme:
 *
 *     results.h   errors, and votes of nodes
 *     options.h   limits, and the options of clients and locks
 *     tokens.h    tokens, values of the caller's own, fencing tokens
 *     kinds.h     shared locks, several names, slots, locks of the SETNX protocol
 *     loop.h      locks inside an event loop, notices of danger and loss
 *     inspect.h   what is known of a lock: votes, keys, the holder and the queue, times in force
 *     nodes.h     status and credentials of nodes
 *     sets.h      several node sets, over which names are spread
 *     stats.h     counters and histograms, for metrics
 *
 * Three more are not included, since no lock needs them: url.h takes the URLs of nodes apart, and ask.h sends
 * commands to the servers. They stay public because the redlock command is written on the public API alone.
 * loaded.h is for bindings: it compares the loaded library with these headers.
 *
 * The rules for errors, threads, signals and fork are at the end of this header.
 */
#ifndef REDLOCK_H
#define REDLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "results.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REDLOCK_VERSION_MAJOR 0
#define REDLOCK_VERSION_MINOR 1
#define REDLOCK_VERSION_PATCH 0
#define REDLOCK_VERSION "0.1.0"

/* The version of the library that is loaded, "MAJOR.MINOR.PATCH". */
REDLOCK_API const char *redlock_version(void);

typedef struct redlock_client redlock_client;
typedef struct redlock_lock redlock_lock;

/* ---- Client ---- */

/*
 * Opens a client: checks the options, and starts connecting to all nodes. It does not wait for connections,
 * nor for names, which it looks up in the background (see "Threads" below). A name that does not resolve is
 * not an error: the votes of that node are missing (REDLOCK_VOTE_NAME), and the client looks the name up
 * again. It also looks it up for each new connection, and when the node says that it is read-only: a node is
 * what its name points to.
 *
 * If two names lead to one server, that server has one vote in each operation. The other name votes
 * REDLOCK_VOTE_DUPLICATE, until it leads to another server. If a server does not report its identity (INFO
 * forbidden; `run_id` of the node's status is ""), the client may find out late, when the server has a token
 * that it refused under the other name, or not at all: then both vote.
 *
 * Errors: INVAL (also `lock_options` that redlock_lock_new() would refuse), URL, DUPLICATE (the same host or
 * address twice: two databases of one server are one server), TLS (a certificate or key that cannot be read,
 * no OpenSSL), NOMEM, SYSTEM.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_open(const struct redlock_options *options,
                                                redlock_client **ret_client);

/*
 * Stops the keeper, releases the locks that the client's handles hold, closes the connections, and frees the
 * client. Never blocks, and tells no result: call redlock_release() on each lock first, which returns whether
 * it was released; or call redlock_release_all() and redlock_drain(), which waits for the releases. A server
 * that finds its client gone drops the requests that it has not read yet, and the key of a release that is
 * lost in this way stays until its TTL. Lock handles that were not freed stay allocated; any call on them but
 * redlock_lock_free() is REDLOCK_E_STATE. No other thread may be inside a call of this client.
 */
REDLOCK_API void redlock_close(redlock_client *client);

/*
 * Cancels what the client's handles do, and releases what they hold, as redlock_lock_free() of each would:
 * the step before redlock_drain() and redlock_close() for a program that has no list of its handles. No event
 * of them follows. Any later call on one of these handles but redlock_lock_free() is REDLOCK_E_STATE. Never
 * blocks. NULL is allowed. No other thread may be inside a call of one of the handles.
 */
REDLOCK_API void redlock_release_all(redlock_client *client);

/*
 * Waits until no release is owed to any node, at most `timeout_ms`. A release is owed if a SET was sent
 * and its key may still exist: after a failed attempt, for a freed handle, or after a broken connection.
 * First gives back the sticky locks that the client keeps after their release (kinds.h).
 * `timeout_ms` 0: does not wait. Returns the number of releases that are still owed, 0 when all are
 * settled, or a negative error (INTERRUPTED, FORKED, SYSTEM). Keys of owed releases may stay until their TTL.
 */
REDLOCK_API int redlock_drain(redlock_client *client, uint64_t timeout_ms);

/* ---- Lock ---- */

/*
 * Makes a handle for the resource `name`, a text that ends with a NUL: 1 to REDLOCK_MAX_NAME bytes with the
 * prefix. Refused are names that, prefix included, end in :redlock:queue, :redlock:offers, :redlock:fence,
 * :redlock:setnx, :redlock:last, :redlock:slots, or :redlock:slot: and a number, and the name redlock:set:
 * they are the keys that redlock keeps beside a lock's own.
 *
 * Nothing is sent. `options` may be NULL: those of the client. Name and options are copied. One handle is one
 * claimant: two handles of one name exclude each other. Errors: INVAL (redlock_client_last_error() has the
 * reason), NOMEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_new(redlock_client *client, const char *name,
                                                    const struct redlock_lock_options *options,
                                                    redlock_lock **ret_lock);

/* As redlock_lock_new(), for a name of any bytes, NULs among them. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_new_bytes(redlock_client *client, const void *name,
                                                          size_t name_len,
                                                          const struct redlock_lock_options *options,
                                                          redlock_lock **ret_lock);

/*
 * Writes one sentence that says why the last redlock_lock_new(), _new_bytes(), _new_many() or
 * _new_many_bytes() of this client that failed did so, "" if none has:
 *
 *     renew + node timeout + drift must be less than ttl (ttl 9000 ms, node timeout 200 ms, drift
 *     92 ms, renew 8900 ms)            (in one line)
 *
 * If several threads make handles of one client, the sentence may be that of another thread. Writes at most
 * `size` bytes with the NUL, and returns the length of the whole sentence, as snprintf(3) does; `text` may be
 * NULL if `size` is 0. Any thread. Errors: INVAL, FORKED.
 */
REDLOCK_API int redlock_client_last_error(redlock_client *client, char *text, size_t size);

/* Frees the handle. A lock that is held, or being acquired, is released without waiting. */
REDLOCK_API void redlock_lock_free(redlock_lock *lock);

/*
 * Acquires the lock: SET name token NX PX ttl on all nodes at once, granted if a quorum agrees and the
 * validity ttl - elapsed - drift is left. Before this returns or retries, it releases the votes of a failed
 * attempt. Source: redis.io, "Distributed Locks with Redis". Blocks up to wait_ms.
 *
 * The holder may hand the lock over to a waiter. Then "elapsed" counts from the waiter's last request before
 * that, so that up to three eighths of the TTL may be gone, and the lock is extended at once in the
 * background, unless max_extends is set. Another handle of this client may also pass the lock on, with the
 * remaining validity: within 5 ms, and an eighth of the TTL, after the nodes have granted it.
 *
 * With wait_ms 0: one node timeout for the attempt, and one more at most to ask which client holds the lock.
 * BUSY means that a quorum of nodes has the same foreign key. If not, the votes are split among contenders:
 * these agree on one of them, which acquires the lock, and retry for up to five node timeouts. Then BUSY
 * means that the votes stayed split, maybe because of keys of a client that died. redlock_lock_finding()
 * shows which of the two it was. The caller's own value is tried once, and the nodes are not asked for a
 * holder.
 *
 * Errors: BUSY (also at once, if another handle of this client claims the same own value), NOQUORUM,
 * DUPLICATE (all servers of the list together are no quorum), CANCELLED, INTERRUPTED, STATE (held, or lost
 * and not released yet), UNRENEWED (renew_ms is set, no keeper runs, and the program has never called
 * redlock_process()), SYSTEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_acquire(redlock_lock *lock);

/*
 * Extends the lock by compare-and-PEXPIRE on all nodes; it never shortens and never re-creates a key.
 * `ttl_ms` 0: as acquired; else node timeout + drift < ttl as in redlock_lock_new(). The new deadline is the
 * later of the old one and start + ttl - drift.
 * Errors: NOQUORUM (not confirmed; the old validity still counts), LOST (the validity has ended, or a quorum
 * no longer has the lock; until a release), GONE (own token, never acquired here: no quorum has it), LIMIT,
 * CANCELLED and INTERRUPTED (not confirmed), STATE (not held), INVAL, SYSTEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_extend(redlock_lock *lock, uint64_t ttl_ms);

/*
 * Releases by compare-and-delete on all nodes. Blocks until a quorum has answered, one node timeout at
 * most. Whatever the function returns, the handle does not hold the lock afterwards. 0 means that the keys
 * were there and are gone. It is no proof that the validity had not ended before.
 *
 * If another handle of this client waits for the lock, with the same TTL and renew_ms, the lock may be passed
 * on to it at once: then nothing is sent, the function returns 0, and this handle has no token any more. This
 * applies only to plain exclusive locks, and not if redlock_lock_token() has returned the token
 * (redlock(3), "Time and validity").
 *
 * Errors: GONE (already expired or taken over), NOQUORUM (too few nodes answered to know that: keys may stay
 * until their TTL), STATE (nothing to release), SYSTEM, FORKED.
 */
REDLOCK_API int redlock_release(redlock_lock *lock);

/* Ends a waiting or running acquire, extend, upgrade, downgrade, query or probe of this handle with
 * CANCELLED, and releases the votes of an acquire. A call that begins later is not cancelled: a thread that
 * is about to acquire needs a flag of the program's as well. Any thread. 0, also if nothing ran. Errors:
 * FORKED, STATE. */
REDLOCK_API int redlock_cancel(redlock_lock *lock);

/* Changes `wait_ms` of the handle, for the acquires that begin later: a program that tries, waits, and waits
 * until a deadline needs one handle only. A `noquorum_wait_ms` that is as long as the old wait changes with
 * it. Errors: STATE (an acquire of this handle runs), INVAL, NOMEM, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_set_wait(redlock_lock *lock, uint64_t wait_ms);

/* How long the lock may be relied on, by the clock; 0: under a millisecond, not held, or lost. Any thread. */
REDLOCK_API uint64_t redlock_remaining_ms(const redlock_lock *lock);

/* ---- Keeper ---- */

/*
 * Starts the keeper, a thread that drives the client while no call does, so that locks with renew_ms are
 * renewed and DANGER and LOST are noticed in time. It blocks all signals.
 * Errors: STATE (already running), SYSTEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_keeper_start(redlock_client *client);

/* Stops the thread and waits for its end. Returns 0, also if none runs. */
REDLOCK_API int redlock_keeper_stop(redlock_client *client);

/*
 * The rules for all calls
 *
 * Errors are negative, 0 is success. Out-parameters are last and are written only on success. The library
 * prints nothing, changes no signal handler, and never exits or aborts the process because of what a server
 * says. If a client, a handle or a pointer for a result is NULL, a function returns REDLOCK_E_INVAL, or 0,
 * REDLOCK_NEVER_NS or NULL if it cannot return an error. Functions that free, or fill in defaults, accept
 * NULL. The values of all enums never change, so that programs that were built earlier keep working.
 *
 * Structs that begin with their size may grow at their end. The caller sets `size` to the sizeof that it was
 * built with, by an init function, or by hand where a result is written. The library never reads or writes
 * beyond it. A size below that of `size` itself, or over 64 KiB, was not set: REDLOCK_E_INVAL.
 *
 * Time. Durations are milliseconds (`_ms`). Points in time are nanoseconds of CLOCK_BOOTTIME (`_ns`), which
 * continues during suspend; REDLOCK_NEVER_NS is a point that never comes.
 *
 * Threads. One client may be used by many threads: every call locks it. Concurrent blocking calls share the
 * same connections. One lock handle belongs to one thread at a time, except for the calls that say "any
 * thread", which may be made while the handle exists. The library starts two kinds of threads, with all
 * signals blocked: the keeper, if the caller starts it; and a thread around getaddrinfo(3) while it looks up
 * the name of a node, but not for nodes that are addresses or paths. Nothing waits for the latter, not even
 * redlock_close(): it ends when getaddrinfo(3) returns, and frees its own memory.
 *
 * No call is a cancellation point: after pthread_cancel(3) a thread finishes the call that it is in.
 * redlock_cancel() ends a call that waits.
 *
 * Signals. A blocking call continues after a signal handler has run in its thread. If the client was opened
 * with `interruptible`, as it should be under an interpreter that runs its own handlers later (Python), a
 * signal ends redlock_acquire(), _extend(), _upgrade(), _downgrade(), _query(), _probe() and _drain() with
 * REDLOCK_E_INTERRUPTED while they wait, as redlock_cancel() would. This also applies to handlers with
 * SA_RESTART, and when a stopped process continues. redlock_release() continues, for a node timeout at most.
 * From its first instruction to its last, such a call blocks all signals but faults and those that the
 * process ignores, and lets them in while it waits: one that comes in between ends the next wait. A handler
 * that runs before the call, or in another thread, ends nothing: a program that must not miss a signal blocks
 * it before it looks, and uses the calls of loop.h and ppoll(2).
 *
 * Fork. After fork(2) the child sends nothing: every call on a client or handle that returns an error fails
 * with REDLOCK_E_FORKED, and the others return what they return for NULL, but for redlock_lock_user(). The
 * child may call redlock_lock_free() and redlock_close() to free memory and descriptors; the parent keeps its
 * locks. If another thread was inside a call of this client when the child was made, they free nothing.
 */

#ifdef __cplusplus
}
#endif

#include "config.h"
#include "inspect.h"
#include "kinds.h"
#include "loop.h"
#include "nodes.h"
#include "sets.h"
#include "stats.h"
#include "tokens.h"

#endif
