/* SPDX-License-Identifier: MIT */
/*
 * The inside of a client and of a lock handle, shared by the files of this folder.
 *
 *   client.c   opens and closes       turn.c      one turn of the loop: receive, decide, run timers, send
 *   handle.c   lock handles           operate.c   effects of the core: tokens, requests, answers, notices
 *   waiters.c  threads that sleep     schedule.c  which handle's deadline comes first
 *   blocking.c blocking calls         inspect.c   what is known of nodes and votes
 *   events.c   the event-loop calls   options.c   sized options, checked and copied
 *   keeper.c   the thread             credentials.c  user and password, also new ones
 *
 * Everything here is under the client's mutex, but for what is said otherwise.
 */
#ifndef RL_CLIENT_H
#define RL_CLIENT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include <redlock/redlock.h>

#include "core/lock.h"
#include "net/node.h"
#include "os/forkmark.h"
#include "os/poller.h"
#include "os/random.h"
#include "os/thread.h"
#include "schedule.h"

struct redlock_lock {
	redlock_client *client; /* NULL: the client was closed */
	redlock_lock *previous; /* all handles of the client */
	redlock_lock *next;
	uint32_t slot; /* answers name the slot and its generation, never the handle */
	struct rl_lock core;
	struct rl_timer timer;

	void *user;
	struct rl_slice name; /* with the prefix: name_bytes */
	char token[REDLOCK_MAX_TOKEN];
	size_t token_size;

	bool queued;      /* in the client's queue of events */
	unsigned pending; /* RL_OBSERVE_ bits: one event of each kind may wait to be pulled */
	redlock_lock *previous_queued;
	redlock_lock *next_queued;
	enum redlock_operation done_operation;
	int done_result;

	atomic_bool
	    waited; /* a blocking call waits for the result; the one field that it writes without the mutex */
	bool done;
	bool asleep; /* it waits for `wake`: nobody has posted it, or is about to */
	bool served; /* woken with its result: nothing is left to be done for it under the mutex */
	sem_t wake;
	redlock_lock *previous_waiter;
	redlock_lock *next_waiter;
	redlock_lock *next_wake;

	char name_bytes[];
};

/* A thread that waits in redlock_drain() for the turns of another one. */
struct rl_drainer {
	struct rl_drainer *next;
	sem_t wake;
};

/* A slot outlives the handle in it: its generation tells late answers from those of the next handle. */
struct rl_slot {
	redlock_lock *lock;
	uint32_t generation;
	uint32_t next_free;
};

struct redlock_client {
	pthread_mutex_t mutex;
	struct rl_forkmark forkmark;
	struct rl_poller poller;
	struct rl_tls_context *tls; /* NULL: no node is in TLS */
	unsigned node_count;
	unsigned quorum;
	struct rl_node *nodes;
	bool new_credentials;             /* there may be nodes that are to log in again */
	uint8_t order[REDLOCK_MAX_NODES]; /* their numbers in an order that other clients have too */

	uint32_t node_timeout_ms; /* 0: by the TTL */
	uint32_t drift_ppm;
	uint32_t drift_ms;
	char *prefix;
	size_t prefix_size;
	char owner[REDLOCK_MAX_OWNER + 2]; /* "|label" or "" */
	void (*trace)(void *trace_user, const char *line);
	void *trace_user;

	uint64_t now_ns;              /* of this turn */
	uint64_t looked_ns;           /* when the sockets were last looked at */
	uint64_t entropy;             /* state of the generator for retry delays; tokens do not come from it */
	struct rl_random_pool random; /* tokens do from here */
	struct rl_wire wire;
	uint32_t refused_seq; /* requests that a node did not take: votes that are still to be counted */
	uint32_t refused_nodes;
	enum redlock_vote_code refused_votes[REDLOCK_MAX_NODES];

	redlock_lock *locks;
	struct rl_slot *slots;
	uint32_t slot_count;
	uint32_t free_slot; /* UINT32_MAX: none */
	struct rl_schedule schedule;
	redlock_lock *queue_head;
	redlock_lock *queue_tail;
	int notice_fd; /* -1: nobody asked */

	bool led;                   /* a thread waits in the poller for all */
	const redlock_lock *leader; /* whose result that thread waits for; NULL: none in particular */
	redlock_lock *waiters;      /* the longest first */
	redlock_lock *last_waiter;
	redlock_lock *to_wake; /* by whoever leaves the mutex */
	redlock_lock **to_wake_end;
	unsigned drainers;
	uint64_t drain_until_ns;
	struct rl_drainer *asleep_drainers;
	bool interruptible; /* blocking calls end when a signal handler has run in their thread */

	atomic_uint coming; /* threads on their way into the mutex, or woken with a result and not out yet */
	atomic_bool left;   /* there may be bytes that are left for one of them to send */
	uint64_t left_since_ns;

	bool keeper_runs;
	bool keeper_stops;
	pthread_t keeper;
	pthread_cond_t keeper_wake;
};

/* ---- handle.c ---- */

/* The handle in a slot, NULL if the answer comes too late for it. */
redlock_lock *rl_client_find(redlock_client *c, struct rl_tag tag);

/* Makes room for what nodes have under the name, once. False: out of memory. */
bool rl_handle_make_findings(redlock_lock *lock);

/* The same for a query. 0, NOMEM, or what rl_enter_lock() says. Not under the mutex. */
int rl_handle_prepare_query(redlock_lock *lock);

/* Takes the handle out of the client, giving back what is half acquired, and what is held if `release`. In a
 * child process nothing is sent. The memory stays. */
void rl_handle_detach(redlock_lock *lock, bool release);

/* ---- operate.c ---- */

/* Puts the nodes into the order that all clients share. */
void rl_order_nodes(redlock_client *c);

/* Feeds one event to the core of `lock` and does what it decides. Returns what rl_lock_step() returns. */
int rl_operate(redlock_client *c, redlock_lock *lock, struct rl_event *event);

/* Counts the answer of a node. */
void rl_take_answer(redlock_client *c, struct rl_node *node, const struct rl_answer *answer);

/* Pulls the next event. False: none. */
bool rl_next_event(redlock_client *c, struct redlock_event *ret_event);

/* Forgets the events of `lock`. */
void rl_drop_events(redlock_client *c, redlock_lock *lock);

/* ---- turn.c ---- */

/* Sends what the last operations queued, and arms the timer. */
void rl_settle(redlock_client *c);

/* The same, unless another thread is about to come, which does it for both. */
void rl_settle_together(redlock_client *c);

/* When the next turn is due; UINT64_MAX: when a socket is ready. */
uint64_t rl_next_deadline(const redlock_client *c);

/* Looks at the sockets without waiting, unless a leader does that anyway, and takes a turn. -errno if the
 * poller fails. */
int rl_poll_once(redlock_client *c);

/* Waits in the poller without the mutex, on behalf of all threads, then takes a turn. 1: a signal came
 * meanwhile, and the calls of this client want to know. -errno if the poller fails. */
int rl_lead(redlock_client *c);

/* ---- waiters.c ---- */

/* Waits for the result of `lock`, leading or sleeping. Leaves the mutex. */
void rl_wait_done(redlock_client *c, redlock_lock *lock);

/* Tells the thread that waits for `lock` that its result is there. */
void rl_wake_done(redlock_client *c, redlock_lock *lock);

/* Hands the lead to a thread that waits. */
void rl_pass_lead(redlock_client *c);

/* Waits for one of the client's conditions. */
void rl_wait(redlock_client *c, pthread_cond_t *condition);

/* Waits for a turn that another thread takes. As rl_lead(). */
int rl_wait_turn(redlock_client *c);

/* A turn has ended, or the lead is free. */
void rl_wake_drainers(redlock_client *c);

/* ---- credentials.c ---- */

/* Gives the endpoint what its URL does not say. False: out of memory. */
bool rl_credentials_lend(struct rl_endpoint *endpoint, const char *user, const char *password);

/* New credentials: lets the next node log in with them, unless one does. */
void rl_credentials_go_on(redlock_client *c);

/* No node logs in any more, and what waits for that may be sent, unless the AUTH has left. */
void rl_credentials_end(redlock_client *c);

/* ---- keeper.c ---- */

void rl_keeper_end(redlock_client *c);

/* ---- entering ---- */

/* Locks the client of a call. FORKED in a child process: then the mutex is not touched. */
static inline int rl_enter(redlock_client *c)
{
	if (c == NULL)
		return REDLOCK_E_INVAL;
	if (rl_forkmark_is_child(&c->forkmark))
		return REDLOCK_E_FORKED;
	pthread_mutex_lock(&c->mutex);
	return 0;
}

/* The same for a call on a handle. */
static inline int rl_enter_lock(const redlock_lock *lock)
{
	if (lock == NULL)
		return REDLOCK_E_INVAL;
	return lock->client != NULL ? rl_enter(lock->client) : REDLOCK_E_STATE;
}

/* Unlocks, then wakes: who is woken finds the mutex free. */
void rl_leave(redlock_client *c);

#endif
