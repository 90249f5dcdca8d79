/* SPDX-License-Identifier: MIT */
/*
 * The inside of a client, made of objects that do not know it, and the files that drive them. Arrows point
 * down:
 *
 *   client.c       opens and closes
 *   handle.c       lock handles               blocking.c     blocking calls
 *   keeper.c       the thread                 nonblocking.c  the calls for event loops
 *   inspect.c      getters                    credentials.c  user and password, also new ones
 *   seen.c         what is known of a wait    asker.c        plain questions, beside all of this
 *   wait.c         who leads, who sleeps
 *   turn.c         one turn of the loop: receive, decide, run timers, send
 *   operate.c      effects of the core: tokens, requests, answers, notices
 *   loop.c         mutex, poller, waiters     registry.c     handles, their rules and events
 *   leap.c         time that the clock does not show
 *   nodes.c        the nodes and the quorum   schedule.c     which deadline comes first
 *   places.c       places in their queues     guard.c       nodes that are to be admitted
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
	uint64_t entropy; /* state of the generator for retry delays; tokens do not come from it */

	uint32_t node_timeout_ms; /* 0: by the TTL */
	uint32_t drift_ppm;
	uint32_t drift_ms;
	char *prefix;
	size_t prefix_size;
	char owner[REDLOCK_MAX_OWNER + 2]; /* "|label" or "" */
	size_t owner_size;
	void (*trace)(void *trace_user, const char *line);
	void *trace_user;
};

/* ---- operate.c ---- */

enum { RL_OPERATE_TOKEN_BYTES = 20, RL_OPERATE_TOKEN_DIGITS = 2 * RL_OPERATE_TOKEN_BYTES };

/* Feeds one event to the core of `lock` and does what it decides. Returns what rl_lock_step() returns. */
int rl_operate(redlock_client *c, redlock_lock *lock, struct rl_event *event);

/* Tells all handles of the time that has passed and that the clock does not show. */
void rl_operate_leap(redlock_client *c);

/* The same, if there is any: before an operation begins or a timer is looked at. */
static inline void rl_client_catch_up(redlock_client *c)
{
	if (c->loop.leap_ns > 0)
		rl_operate_leap(c);
}

/* Counts the answer of a node. */
void rl_operate_answer(redlock_client *c, struct rl_node *node, const struct rl_answer *answer);

/* A server has said that it is the turn of a place, or that it has handed its key over to it. */
void rl_operate_hear(redlock_client *c, const struct rl_heard *heard, unsigned node);

/* These nodes, a bit for each, are not heard any more. */
void rl_operate_deafen(redlock_client *c, uint32_t nodes);

/* Makes room for what the nodes have under the name, once. False: out of memory. */
bool rl_operate_make_findings(redlock_lock *lock);

/* ---- turn.c ---- */

/* Sends what the last operations queued, and arms the timer. */
void rl_turn_settle(redlock_client *c);

/* The same, unless another thread is expected: then that one sends for both. */
void rl_turn_settle_or_defer(redlock_client *c);

/* When the next turn is due; UINT64_MAX: when a socket is ready. */
uint64_t rl_turn_deadline(const redlock_client *c);

/* Looks at the sockets without waiting, unless a leader does that anyway, and takes a turn. -errno if the
 * poller fails. */
int rl_turn_poll(redlock_client *c);

/* Waits in the poller without the mutex, on behalf of all threads, then takes a turn. 1: a signal came
 * meanwhile, and the calls of this client want to know. -errno if the poller fails. */
int rl_turn_lead(redlock_client *c);

/* ---- wait.c ---- */

/* Waits for the result of `lock`, whose waiter this thread is, leading or sleeping. Leaves the mutex. */
void rl_wait_for_result(redlock_client *c, redlock_lock *lock, struct rl_waiter *waiter);

/* Hands the lead to a thread that waits. */
void rl_wait_pass_lead(redlock_client *c);

/* Waits for a turn that another thread takes. As rl_turn_lead(). */
int rl_wait_for_turn(redlock_client *c);

/* ---- credentials.c ---- */

/* Gives the endpoint what its URL does not say. False: out of memory. */
bool rl_credentials_lend(struct rl_endpoint *endpoint, const char *user, const char *password);

/* ---- keeper.c ---- */

void rl_keeper_end(redlock_client *c);

/* ---- how a call begins ---- */

/* Whether it may enter the loop: 0, INVAL, or FORKED in a child process, where the mutex is not touched. */
static inline int rl_client_check(const redlock_client *c)
{
	if (c == NULL)
		return REDLOCK_E_INVAL;
	return rl_forkmark_is_child(&c->forkmark) ? REDLOCK_E_FORKED : 0;
}

/* The same for a call on a handle; STATE: its client was closed. */
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

#endif
