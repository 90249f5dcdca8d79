/* SPDX-License-Identifier: MIT */
/*
 * The inside of a client: its parts, which do not know it, and the files that drive them. A file calls or
 * includes only files below it; files on one line do not know each other. Layers below (core, net, os) are
 * left out.
 *
 *   parts.c        opens and closes, one node set or several
 *   client.c       opens and closes a client of one set
 *   life.c         makes and frees handles    keeper.c       the thread
 *   blocking.c     blocking calls             nonblocking.c  the calls for event loops
 *   inspect.c      getters                    credentials.c  user and password, also new ones
 *   explain.c      why a call failed          ask.c          plain questions, beside all of this: asker.c
 *   busy.c         the same: who has the lock
 *   sentence.c     text of these              tally.c        votes, counted and grouped, for these
 *   call.c         calls: begin an operation, or pass a lock on
 *   turn.c         one turn of the loop: receive, decide, run timers, send
 *   hear.c         what servers say unasked
 *   operate.c      effects of the core: tokens, requests, answers, notices
 *
 *   client.h       the client, and how a call begins
 *
 *   kept.c         locks that are kept        admit.c        nodes that are to be admitted
 *   places.c       waiters of this client
 *   seen.c         the holder, and the heir   stats.c        counters
 *   registry.c     handles, their rules and events
 *   handle.c       one lock handle
 *   loop.c         mutex, poller, waiters     nodes.c        the nodes and the quorum
 *                  and the time               schedule.c     which deadline comes first
 *   options.c      options, and what follows from them
 *   spread.c       which of several node sets has a name
 *   refusal.c      what options must hold
 *
 * Everything here is under the mutex of the loop, but for what is said otherwise.
 */
#ifndef RL_CLIENT_H
#define RL_CLIENT_H

#include <redlock/redlock.h>

#include "admit.h"
#include "handle.h"
#include "kept.h"
#include "loop.h"
#include "nodes.h"
#include "os/forkmark.h"
#include "os/random.h"
#include "os/thread.h"
#include "places.h"
#include "registry.h"
#include "spread.h"

/* The parts of a client with several node sets: a client for each set, and while a set joins, one more for
 * each of the other sets, with the nodes of both. The client itself has no nodes; its poller has the
 * descriptors of the parts. Handles belong to a part, so that all calls on handles go there directly. */
struct rl_client_parts {
	struct rl_spread_sets sets; /* names and `joining` alone */
	redlock_client *list[2 * REDLOCK_MAX_SETS];
	unsigned count;
	unsigned alone[REDLOCK_MAX_SETS]; /* by set: the part with its nodes */
	unsigned joint[REDLOCK_MAX_SETS]; /* the part that has those of the joining set, too */
	int notice_fd;                    /* readable while a part has events; -1: nobody asked */
	atomic_uint next;                 /* the part whose events are pulled first */
};

struct redlock_client {
	struct rl_client_parts *parts; /* NULL: one node set */
	bool is_part;                  /* of a client with several */
	struct rl_forkmark forkmark;
	struct rl_loop loop;
	struct rl_nodes nodes;
	struct rl_registry handles;
	struct rl_random_pool random; /* tokens come from here */
	struct rl_places places;
	struct rl_kept kept;
	struct rl_admit guard;
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

/* The parts of a client with several node sets, by number; `c` itself is the only part of any other client.
 */
static inline unsigned rl_client_count(const redlock_client *c)
{
	return c->parts != NULL ? c->parts->count : 1;
}

static inline redlock_client *rl_client_part(const redlock_client *c, unsigned index)
{
	return c->parts != NULL ? c->parts->list[index] : (redlock_client *)c;
}

/* The part that has node `index` of the client, which becomes the index in it. NULL: there is no such node.
 */
static inline redlock_client *rl_client_with_node(const redlock_client *c, unsigned *index)
{
	for (unsigned i = 0; i < rl_client_count(c); i++) {
		redlock_client *part = rl_client_part(c, i);
		if (*index < part->nodes.count)
			return part;
		*index -= part->nodes.count;
	}
	return NULL;
}

/* Both at once, for calls that need no time. 0: entered; rl_loop_leave() comes at the end. */
static inline int rl_client_enter(redlock_client *c)
{
	int error = rl_client_check(c);
	if (error == 0)
		rl_loop_enter(&c->loop);
	return error;
}

/* As rl_client_enter(), for calls about one node: enters its part of the client, in which it is node
 * `ret_index`. INVAL: there is no such node. */
static inline int rl_client_enter_node(redlock_client *c, unsigned index, redlock_client **ret_part,
                                       unsigned *ret_index)
{
	int error = rl_client_check(c);
	if (error < 0)
		return error;
	*ret_index = index;
	*ret_part = rl_client_with_node(c, ret_index);
	if (*ret_part == NULL)
		return REDLOCK_E_INVAL;
	rl_loop_enter(&(*ret_part)->loop);
	return 0;
}

/* As rl_client_enter(), for calls that need the nodes of one set; INVAL: the client has several. */
static inline int rl_client_enter_one(redlock_client *c)
{
	return c != NULL && c->parts != NULL ? REDLOCK_E_INVAL : rl_client_enter(c);
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
		rl_handle_note(lock, REDLOCK_E_NOMEM, RL_CAUSE_CALL);
	rl_loop_leave(&lock->client->loop);
	return ready ? 0 : REDLOCK_E_NOMEM;
}

#endif
