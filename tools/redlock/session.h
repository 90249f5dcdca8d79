/* SPDX-License-Identifier: MIT */
/* A client for the length of one command: opened from the settings, one operation at a time, ended by
 * signals. */
#ifndef REDLOCK_TOOL_SESSION_H
#define REDLOCK_TOOL_SESSION_H

#include <stdint.h>

#include <redlock/redlock.h>

#include "guard_memory.h"
#include "options.h"

struct wait_view;

struct session {
	const struct settings *settings;
	redlock_client *client;
	uint64_t begin_ns;
	uint64_t node_timeout_ms;
	char *members;                     /* the list of nodes, for what is remembered of it; NULL: nothing is */
	bool remembered;                   /* as a guarded set, */
	char guarded_set[GUARD_MEMORY_ID]; /* with this id, */
	uint64_t guarded_ttl_ms;           /* and this maximum TTL; 0: not known */
	int memory_error;       /* errno of a memory that could not be written; 0: it was, or need not be */
	bool has_user;          /* a URL names one */
	char user[64];          /* at all nodes, as ACL SETUSER takes it; USER: they differ */
	bool has_password;      /* one was given, in whatever way */
	bool value_returns;     /* the token is the caller's own value, which may be used again */
	uint32_t told;          /* nodes that may have been sent a release of it, after session_drain() */
	uint32_t told_late;     /* of these, those that could not be reached at first */
	uint32_t keyless;       /* nodes with another service: session_warn_lingering() passes over them */
	struct wait_view *view; /* of an acquire by session_run(), begun by the caller; NULL: none */
};

/* Opens the client. Returns an exit code; unless it is EXIT_OK, what is wrong was said on stderr. */
int session_open(struct session *session, const struct settings *settings);

/* Whether one of the nodes is a cluster. */
bool session_has_cluster(const struct session *session);

/* The guard of commands that take locks with these settings: REDLOCK_GUARD_. */
uint64_t session_guard(const struct settings *settings);

/* The settings of a lock. */
void session_lock_options(const struct settings *settings, struct redlock_lock_options *options);

/* The times in force that follow from these settings. Needs no session. */
void session_terms(const struct settings *settings, struct redlock_terms *ret);

/* Makes a lock handle, or says what is wrong. Returns an exit code. */
int session_lock_with(struct session *session, const char *name, const struct redlock_lock_options *options,
                      redlock_lock **ret_lock);

/* Which name is waited for, or was refused: of several, the one that a node has named last. */
const char *session_busy_name(const struct settings *settings, const redlock_lock *lock, const char *name);

/* As session_lock_with(), for the name and those of --also, if there are some. */
int session_lock_all(struct session *session, const char *name, const struct redlock_lock_options *options,
                     redlock_lock **ret_lock);

/* As session_lock_all(), with the options of the settings. `token` NULL: random tokens. */
int session_lock(struct session *session, const char *name, const char *token, redlock_lock **ret_lock);

/* As session_lock(), for the holder of a slot; without --slots `slot` is 0. */
int session_lock_slot(struct session *session, const char *name, const char *token, unsigned slot,
                      redlock_lock **ret_lock);

/* Runs an operation to its end and returns its result (0 or a REDLOCK_E_ code). A signal cancels it; then the
 * result is CANCELLED and signals_caught() is the signal. */
int session_run(struct session *session, redlock_lock *lock, enum redlock_operation operation);

/* Waits after a result, in session_wait.c: */

/* Gives the nodes whose votes it did not need a little more time, so that they are told too. */
void session_await_votes(struct session *session, const redlock_lock *lock, enum redlock_operation operation,
                         int result);

/* Gives releases that are still owed a few round trips of the last operation; one node timeout with -v, and
 * without a lock; as long as it takes, up to 10 s, where one that was sent would do harm later. True: none is
 * owed. */
bool session_drain(struct session *session, const redlock_lock *lock);

/* Names the nodes that may keep a key, after session_drain(): if they keep others out, if a late release
 * would do harm, or with -v. */
void session_warn_lingering(const struct session *session, const char *name);

/* The TTL of the handle: of the settings, or the maximum of a guarded set where nobody asked for a TTL. Tells
 * of that with -v. */
uint64_t session_ttl_ms(const struct session *session, const redlock_lock *lock);

/* Remembers whether the client has seen that its nodes are a guarded set, or that they were taken back. */
void session_remember(struct session *session);

void session_close(struct session *session);

#endif
