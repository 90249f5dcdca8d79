/* SPDX-License-Identifier: MIT */
/*
 * Results: the errors that calls return, and the votes of the nodes. A part of redlock.h, which includes it.
 */
#ifndef REDLOCK_RESULTS_H
#define REDLOCK_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define REDLOCK_API __attribute__((visibility("default")))
#define REDLOCK_MUST_CHECK __attribute__((warn_unused_result))
#else
#define REDLOCK_API
#define REDLOCK_MUST_CHECK
#endif

/* ---- Errors ---------------------------------------------------------------------------------------- */

/* X(name, value, sentence). REDLOCK_OK is success. */
#define REDLOCK_ERROR_MAP(X)                                                                                 \
	X(BUSY, -1, "somebody else holds the lock, or the votes were split or came too late")                    \
	X(NOQUORUM, -2, "fewer than a quorum of the nodes gave a definite answer")                               \
	X(LOST, -3, "the lock was lost: its validity has ended, or a quorum of nodes no longer has it")          \
	X(GONE, -4, "the lock was already gone: a quorum of nodes does not have it under this token")            \
	X(CANCELLED, -5, "the operation was cancelled")                                                          \
	X(INVAL, -6, "an argument is out of its range")                                                          \
	X(URL, -7, "a node URL cannot be used")                                                                  \
	X(DUPLICATE, -8, "two of the nodes are the same server")                                                 \
	X(STATE, -9, "the lock handle is not in a state that allows this call")                                  \
	X(LIMIT, -10, "the cap on extending this lock is reached")                                               \
	X(NOMEM, -11, "out of memory")                                                                           \
	X(SYSTEM, -12, "the operating system refused a descriptor, a timer, a thread or random bytes")           \
	X(FORKED, -13, "the client belongs to the parent process: open a new one after fork")                    \
	X(TLS, -14, "TLS cannot be used: OpenSSL, a certificate or a key is missing or wrong")                   \
	X(INTERRUPTED, -15, "a signal came while the call waited")                                               \
	X(CONFIG, -16, "the configuration cannot be used: a file, a line of it, or a variable")                  \
	X(UNRENEWED, -17, "renew_ms is set but nothing would renew the lock: start the keeper, or an event loop")

enum redlock_error {
#define REDLOCK_ERROR_ENUM(name, value, text) REDLOCK_E_##name = (value),
	REDLOCK_ERROR_MAP(REDLOCK_ERROR_ENUM)
#undef REDLOCK_ERROR_ENUM
	    REDLOCK_OK = 0
};

/* The sentence for an error code, "success" for 0; and its name without the prefix ("BUSY"), "OK" for 0.
 * Unknown codes have a sentence and a name, too. Never NULL. */
REDLOCK_API const char *redlock_strerror(int error);
REDLOCK_API const char *redlock_error_name(int error);

/* ---- Votes: the answers of nodes --------------------------------------------------------------------- */

/*
 * X(name, value, kind, sentence). Kinds: PENDING, YES and NO are definite or may still become so; MISSING is
 * a vote that failed and may work later; FATAL is a vote that needs an operator. No value ever changes. New
 * ones follow the last, and REDLOCK_VOTE_COUNT grows: a program treats a code that it does not know by
 * its redlock_vote_kind(). A sentence is right after "node 1:" and after "nodes 1, 2:". Section VOTES of
 * redlock_query(3) says what each vote means, and what an operator should do.
 */
#define REDLOCK_VOTE_MAP(X)                                                                                  \
	X(PENDING, 0, PENDING, "no answer yet")                                                                  \
	X(YES, 1, YES, "yes")                                                                                    \
	X(NO, 2, NO, "no: the key is missing or is somebody else's")                                             \
	X(TIMEOUT, 3, MISSING, "no answer in time")                                                              \
	X(UNSENT, 4, MISSING, "not connected in time, nothing was sent")                                         \
	X(DOWN, 5, MISSING, "not reachable")                                                                     \
	X(CLOSED, 6, MISSING, "connection lost before the answer")                                               \
	X(BACKLOG, 7, MISSING, "not answering, queue is full")                                                   \
	X(LOADING, 8, MISSING, "loading its data set")                                                           \
	X(BLOCKED, 9, MISSING, "busy with a script or a failover")                                               \
	X(OOM, 10, MISSING, "out of memory (maxmemory reached)")                                                 \
	X(MISCONF, 11, MISSING, "cannot persist, refuses writes")                                                \
	X(REPLICAS, 12, MISSING, "too few replicas, refuses writes")                                             \
	X(SERVER, 13, MISSING, "answered with an error")                                                         \
	X(GARBAGE, 14, MISSING, "answered with something that is not the Redis protocol")                        \
	X(READONLY, 15, FATAL, "read-only replica")                                                              \
	X(CLUSTER, 16, FATAL, "cluster node, not an independent master")                                         \
	X(AUTH, 17, FATAL, "refused the user or password")                                                       \
	X(NOPERM, 18, FATAL, "the user may not run the command")                                                 \
	X(COMMAND, 19, FATAL, "unknown command")                                                                 \
	X(DATABASE, 20, FATAL, "no such database")                                                               \
	X(NAME, 21, MISSING, "host name cannot be resolved")                                                     \
	X(DUPLICATE, 22, FATAL, "same server as another node")                                                   \
	X(TLS, 23, FATAL, "no secure connection")                                                                \
	X(STALE, 24, MISSING, "an older request with the same value of the caller may still arrive there")       \
	X(QUARANTINE, 25, MISSING, "may have forgotten locks: no vote until they have expired")                  \
	X(FOREIGN, 26, FATAL, "not a node of this node set as we know it")                                       \
	X(UNGUARDED, 27, FATAL, "in no guarded node set")                                                        \
	X(LONG_TTL, 28, FATAL, "the TTL is longer than the node set permits")                                    \
	X(UNCOUNTED, 29, MISSING,                                                                                \
	  "no fencing numbers: wait for other nodes, or, if most lost their data, redlock init --new-epoch")     \
	X(CLOCK, 30, MISSING, "clock went wrong: no vote until what was held there has expired")                 \
	X(SLOTS, 31, FATAL, "another number of slots for this name")                                             \
	X(SERVICE, 32, FATAL, "another kind of service")                                                         \
	X(UNCHECKED, 33, FATAL, "in a guarded node set, whose record this kind of lock does not check")          \
	X(MASTER, 34, MISSING, "not found through its Sentinels")                                                \
	X(SHARD, 35, MISSING, "no server of the cluster serves the name's slot at present")                      \
	X(UNREPLICATED, 36, MISSING, "too few replicas have acknowledged it in time")

enum redlock_vote_code {
#define REDLOCK_VOTE_ENUM(name, value, kind, text) REDLOCK_VOTE_##name = (value),
	REDLOCK_VOTE_MAP(REDLOCK_VOTE_ENUM)
#undef REDLOCK_VOTE_ENUM
	    REDLOCK_VOTE_COUNT
};

enum redlock_vote_kind {
	REDLOCK_KIND_PENDING = 0,
	REDLOCK_KIND_YES = 1,
	REDLOCK_KIND_NO = 2,
	REDLOCK_KIND_MISSING = 3,
	REDLOCK_KIND_FATAL = 4
};

struct redlock_vote {
	size_t size; /* the caller's: sizeof(struct redlock_vote) */
	enum redlock_vote_code code;
	uint64_t rtt_ns; /* from the start of the operation to the answer; 0 while PENDING */
};

/* The kind, the name ("TIMEOUT") and the sentence of a vote code. Names and sentences are never NULL. */
REDLOCK_API enum redlock_vote_kind redlock_vote_kind(enum redlock_vote_code code);
REDLOCK_API const char *redlock_vote_name(enum redlock_vote_code code);
REDLOCK_API const char *redlock_vote_text(enum redlock_vote_code code);

#ifdef __cplusplus
}
#endif

#endif
