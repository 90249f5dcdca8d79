/* SPDX-License-Identifier: MIT */
/*
 * The inside of a client: its parts, which do not know it, and the files that drive them. A file calls or
 * includes only files below it; files on one line do not know each other. Layers below (core, net, os) are
 * left out.
 *
 *   client.c       opens and closes
 *   life.c         makes and frees handles    keeper.c       the thread
 *   blocking.c     blocking calls             nonblocking.c  the calls for event loops
 *   inspect.c      getters                    credentials.c  user and password, also new ones
 *   wait.c         who leads, who sleeps      asker.c        plain questions, beside all of this
 *   turn.c         one turn of the loop: receive, decide, run timers, send
 *   operate.c      effects of the core: tokens, requests, answers, notices
 *
 *   client.h       the client, and how a call begins
 *
 *   places.c       waiters of this client     guard.c        nodes that are to be admitted
 *   seen.c         the holder, and the heir   stats.c        counters
 *   registry.c     handles, their rules and events
 *   handle.c       one lock handle
 *   loop.c         mutex, poller, waiters     nodes.c        the nodes and the quorum
 *   leap.c         unshown time               schedule.c     which deadline comes first
 *   options.c      options, and what follows from them
 *   refusal.c      what options must hold
 *
 * Everything here is under the mutex of the loop, but for what is said otherwise.
 */
#ifndef RL_CLIENT_H
#define RL_CLIENT_H

#include <redlock/redlock.h>

#include "guard.h"
#include "handle.h"
#include "loop.h"
#include "nodes.h"
#include "os/forkmark.h"
#include "os/random.h"
#include "os/thread.h"
#include "places.h"
#include "registry.h"

struct redlock_client {
	struct rl_forkmark forkmark;
	struct rl_loop loop;
	struct rl_nodes nodes;
	struct rl_registry handles;
	struct rl_random_pool random; /* tokens come from here */
	struct rl_places places;
	struct rl_guard guard;
	struct redlock_stats stats; /* but for `size` and what stats.c works out when it is asked */
	uint64_t entropy;           /* state of the generator for retry delays; tokens do not come from it */

	struct redlock_lock_options lock_options; /* of handles that are made without any */
	uint32_t node_timeout_ms;                 /* 0: by the TTL */
	uint32_t drift_ppm;
	uint32_t drift_ms;
	char *prefix;
	size_t prefix_size;
	char owner[REDLOCK_MAX_OWNER + 2]; /* "|label" or "" */
	size_t owner_size;
	void (*trace)(void *trace_user, const char *line);
	void *trace_user;
	char refusal[256]; /* why the last handle that was refused was; "": none was */
};

/* ---- how a call begins ---- */

/* Whether it may enter the loop: 0, INVAL, or FORKED in a child process, where the mutex is not touched. */
static inline int rl_client_check(const redlock_client *c)
{
	if (c == NULL)
		return REDLOCK_E_INVAL;
	return rl_forkmark_is_child(&c->forkmark) ? REDLOCK_E_FORKED : 0;
}

/* As rl_client_check(), for a call on a handle; STATE: its client was closed. */
static inline int rl_client_check_lock(const redlock_lock *lock)
{
	if (lock == NULL)
		return REDLOCK_E_INVAL;
	return lock->client != NULL ? rl_client_check(lock->client) : REDLOCK_E_STATE;
}

/* Both at once, for calls that need no time. 0: entered; rl_loop_leave() comes at the end. */
static inline int rl_client_enter(redlock_client *c)
{
	int error = rl_client_check(c);
	if (error == 0)
		rl_loop_enter(&c->loop);
	return error;
}

static inline int rl_client_enter_lock(const redlock_lock *lock)
{
	int error = rl_client_check_lock(lock);
	if (error == 0)
		rl_loop_enter(&lock->client->loop);
	return error;
}

/* A query, which is made room for. 0: it may begin, and is not entered. Else as above, or NOMEM. */
static inline int rl_client_prepare_query(redlock_lock *lock)
{
	int error = rl_client_enter_lock(lock);
	if (error < 0)
		return error;
	bool ready = rl_handle_make_findings(lock);
	if (!ready)
		rl_handle_note(lock, REDLOCK_E_NOMEM, true);
	rl_loop_leave(&lock->client->loop);
	return ready ? 0 : REDLOCK_E_NOMEM;
}

#endif
