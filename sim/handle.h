/* SPDX-License-Identifier: MIT */
/* An application's use of one lock handle: acquire, work, extend, release, give up, at random times. */
#ifndef SIM_HANDLE_H
#define SIM_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock/redlock.h>

#include "proto/ops.h"

struct world;

struct handle {
	redlock_lock *lock; /* NULL: none */
	unsigned resource;
	bool both;     /* and the other one of two, at once */
	unsigned slot; /* of several: which one is held */
	bool alone;    /* a shared lock: it was upgraded */
	uint64_t turn; /* counts the plans: an older plan that fires is stale */
	struct redlock_lock_options options;
	char own_token[64]; /* options.token points here, or is NULL */
	bool adopted;       /* the token comes from a lock that was left: no acquire */
	bool healing;       /* made after the faults */

	/* The operation that runs. */
	enum redlock_operation running;
	uint64_t operation;  /* counts them */
	uint64_t started_ns; /* own clock */
	uint64_t stopped_ns; /* of the actor, then */
	bool cancelled;
	int results[RL_OP_COUNT]; /* the last one of each operation */

	/* The claim. */
	bool held;            /* the application relies on the lock while until_ns has not come */
	bool owned;           /* granted and not released since: release before the next acquire */
	bool lost;            /* LOST was reported */
	bool passed;          /* another handle of the client had the claim */
	bool over;            /* the claim has ended: its token must not come back */
	uint64_t deadline_ns; /* own clock, as redlock_deadline_ns() told it last; 0: none */
	uint64_t until_ns;    /* the same in world time */
	uint64_t leapt_ns;    /* of the actor, when that was told */
	uint64_t untold_ns;   /* for so long its machine was stopped, and the core does not know of it yet */
	uint64_t first_ns;    /* world time at which the claim began */
	uint64_t claimed_ns;  /* world time at which this deadline was claimed */
	uint64_t validity_ns; /* how much was left then */
	uint64_t claim;       /* counts deadlines, and ends of claims */
	uint64_t began_ns;    /* own clock: when the round that was granted began, by its deadline */
	uint32_t raised;      /* how often the deadline rose since */
	bool danger_seen;
	size_t token_size;
	char token[REDLOCK_MAX_TOKEN + 1];
};

/* Whether it is one of the old SETNX protocol: the name has a time, and the token stands beside it. */
static inline bool handle_is_by_time(const struct handle *h)
{
	return h->options.compat == REDLOCK_COMPAT_SETNX;
}

/* Whether it is for this resource, too. */
static inline bool handle_wants(const struct handle *h, unsigned resource)
{
	return h->both || h->resource == resource;
}

/* Whether both may be held at one time. */
static inline bool handle_shares(const struct handle *a, const struct handle *b)
{
	return a->options.mode == REDLOCK_SHARED && b->options.mode == REDLOCK_SHARED && !a->alone && !b->alone;
}

/* Whether both cannot hold at one time: slots of one name are held by as many. */
static inline bool handle_conflicts(const struct handle *a, const struct handle *b)
{
	return (handle_wants(a, b->resource) || handle_wants(b, a->resource)) && a->slot == b->slot;
}

/* Plans the next decision of a handle: what to do is drawn when its time comes. */
void handle_plan(struct world *w, uint32_t actor, uint32_t slot, uint64_t after_ns);

/* An event of the library has been pulled. */
void handle_event(struct world *w, uint32_t actor, const struct redlock_event *event);

/* A deadline was claimed: the loss must be reported in time, if it comes to that. */
void handle_expect_notice(struct world *w, uint32_t actor, uint32_t slot);

/* Gives up what there is, without beginning anything new. True when nothing is left to wait for. */
bool handle_wind_down(struct world *w, uint32_t actor, uint32_t slot);

/* For the end of a seed, on the first handle of a client that has none. The result will be in `results`. */
void handle_final_acquire(struct world *w, uint32_t actor, unsigned resource, uint64_t wait_ms, bool renewed);

/* A lock that is wanted on any of the handles, which keeps what it knows. */
struct handle_wish {
	unsigned resource;
	bool both, shares; /* all names, or one with others */
	uint64_t wait_ms;
};
void handle_crowd_acquire(struct world *w, uint32_t actor, uint32_t slot, struct handle_wish wish);

/* Asks for something that a healthy lock in the background must survive: a short extend, a query. */
void handle_final_disturb(struct world *w, uint32_t actor);

/* Asks for what the state of its handle does not allow: it must be refused, and change nothing. */
void handle_final_misuse(struct world *w, uint32_t actor);

/* The library's handle is gone. */
void handle_drop(struct handle *h);

#endif
