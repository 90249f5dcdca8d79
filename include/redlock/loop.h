/* SPDX-License-Identifier: MIT */
/*
 * Locks inside an event loop, and notices of danger and loss. A part of redlock.h, which includes it.
 *
 * Start any number of operations with redlock_start_*(), then call redlock_process(), which sends them. Watch
 * redlock_fd() for reading; when it is readable call redlock_process() again and get results with
 * redlock_next() until it returns 0. There are no callbacks: a notice of loss comes to the thread that calls
 * redlock_next(), when it calls. No call of this group blocks. The descriptor includes the timers;
 * redlock_timeout_ns() is for loops with timers of their own.
 */
#ifndef REDLOCK_LOOP_H
#define REDLOCK_LOOP_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

enum redlock_operation {
	REDLOCK_OP_NONE = 0,
	REDLOCK_OP_ACQUIRE = 1,
	REDLOCK_OP_EXTEND = 2,
	REDLOCK_OP_RELEASE = 3,
	REDLOCK_OP_QUERY = 4,
	REDLOCK_OP_PROBE = 5,
	REDLOCK_OP_UPGRADE = 6,
	REDLOCK_OP_DOWNGRADE = 7
};

enum redlock_event_kind {
	REDLOCK_EVENT_DONE = 1,   /* an operation that was started with redlock_start_*() has ended */
	REDLOCK_EVENT_DANGER = 2, /* validity ends in danger_ms and was not extended */
	REDLOCK_EVENT_LOST = 3    /* the lock is lost; not sent after a release */
};

struct redlock_event {
	size_t size; /* the caller's: sizeof(struct redlock_event) */
	redlock_lock *lock;
	enum redlock_event_kind kind;
	enum redlock_operation operation; /* DONE: which */
	int result;                       /* DONE: 0 or the error that the blocking call would return */
	void *user;                       /* that of the handle's options. Where another thread may have freed
	                                     the handle meanwhile, `lock` must not be used, but this can be */
};

/* As the blocking calls, but these only start the operation: the result comes from redlock_next(). Nothing is
 * sent before the next redlock_process(). One operation runs on a handle at a time, and the program must get
 * its event before it starts the next one. Errors at once: STATE, INVAL, LOST, LIMIT, NOMEM, FORKED; then no
 * event follows. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_acquire(redlock_lock *lock);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_extend(redlock_lock *lock, uint64_t ttl_ms);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_release(redlock_lock *lock);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_query(redlock_lock *lock);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_probe(redlock_lock *lock);

/* As those, by the number of the operation. `ms`: how long an acquire waits, or the TTL of an extend; other
 * operations ignore it. Errors at once: also INVAL, for an unknown number. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start(redlock_lock *lock, enum redlock_operation operation,
                                                 uint64_t ms);

/* A descriptor that is readable when redlock_process() has work to do; it includes the timers. Never read
 * or close it. It stays the same for the life of the client: take it out of the loop before redlock_close(),
 * which closes it. While another thread is in a blocking call or a keeper runs, that thread does the work:
 * then watch redlock_notice_fd() instead. Events that wait for redlock_next() do not make it readable:
 * redlock_timeout_ns() is 0 then. Any thread. Errors: INVAL, FORKED. */
REDLOCK_API int redlock_fd(const redlock_client *client);

/* The latest time for the next redlock_process() (CLOCK_BOOTTIME ns): 0 if there is something to send or an
 * event to get now, REDLOCK_NEVER_NS if only the descriptor matters. */
REDLOCK_API uint64_t redlock_timeout_ns(redlock_client *client);

/* Receives, decides, runs timers and sends. Never blocks. Errors: FORKED, SYSTEM. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_process(redlock_client *client);

/* Gets one event. Returns 1 and writes it, or 0 if there is none. Events of freed handles are dropped. An
 * acquire or extend that succeeded, but whose validity has ended when the program gets its event, has the
 * result LOST: after an acquire the lock has been released, no LOST event follows, and the handle can be
 * acquired again; after an extend the LOST event follows.
 * Errors: INVAL (`size` is not set; the event stays), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_next(redlock_client *client, struct redlock_event *ret_event);

/*
 * One turn of an event loop in one call, for languages in which a call of C is expensive: redlock_process(),
 * then redlock_next() until there is no event, or `most` of them are written. `ret_events` is an array, whose
 * elements all have the `size` that the caller has set in the first one. Returns the number of events; if it
 * is `most`, there may be more. redlock_notice_fd() does not become readable for events that this call
 * returns. Never blocks. Errors: INVAL, FORKED, SYSTEM.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_turn(redlock_client *client, unsigned most,
                                                struct redlock_event *ret_events);

/* A descriptor that is readable while redlock_next() has an event: for programs that use the blocking calls
 * and a keeper, and poll for DANGER and LOST; and for event loops in which another thread, or a garbage
 * collector, calls redlock_cancel() or redlock_lock_free(). Never read or close it; redlock_close() closes
 * it. Errors: SYSTEM, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_notice_fd(redlock_client *client);

#ifdef __cplusplus
}
#endif

#endif
