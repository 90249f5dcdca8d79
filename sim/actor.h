/* SPDX-License-Identifier: MIT */
/*
 * A client application: one process at a time, with an event loop around the library's public calls, and a
 * few lock handles. The application never blocks. Its process may pause, die, or close the client and start
 * anew.
 */
#ifndef SIM_ACTOR_H
#define SIM_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock/redlock.h>

#include "check.h"
#include "drift.h"
#include "handle.h"
#include "memory.h"
#include "os.h"
#include "prng.h"

struct world;

#define SIM_MAX_HANDLES 3

/* How the application's loop knows when to call redlock_process(). */
enum loop_style {
	LOOP_DESCRIPTOR, /* the descriptor becomes readable; timers are inside */
	LOOP_TIMEOUT,    /* a timer of its own from redlock_timeout_ns(), not the one inside the descriptor */
	LOOP_STYLES
};

/* The nodes of a process while a node set joins: the old set, both sets, or the new one. */
enum sim_step { STEP_OLD, STEP_BOTH, STEP_NEW };

struct actor {
	uint32_t index;
	uint32_t life;   /* counts the processes of this actor, from 1 */
	uint32_t values; /* how often its own ones had to be new ones: actor_spoil() */
	bool alive;
	bool dying;    /* memory is being freed after a crash: no byte gets out */
	bool plain;    /* its user may not touch the keys of queues */
	bool lends;    /* its URLs have no user and password: they can change */
	bool refused;  /* its own credentials are */
	bool adopted;  /* has used a token of another client: what may be on any node, it owes to every node */
	bool retiring; /* begins nothing new, then closes its client */
	bool paused;
	bool run_planned;
	bool stopped; /* its machine is: what it relies on is known when that goes on */
	enum loop_style style;
	uint64_t
	    stumble_ns; /* pauses for so long in its next turn, between redlock_process() and redlock_next() */
	uint64_t resume_ns;  /* while paused: when it goes on */
	uint64_t resumed_ns; /* when it last went on */
	uint64_t retire_by_ns;
	struct drift clock;
	uint64_t frozen_ns;  /* when its clock last began to stand still */
	int64_t ahead_ns;    /* of its wall clock, compared with the other one */
	uint64_t leapt_ns;   /* by so much it was set forward, in all */
	uint64_t stopped_ns; /* for so long its machine was stopped, in all */
	struct prng random;
	struct memory memory;
	redlock_client *client;
	uint32_t list; /* bits of the world's nodes that the client has */
	unsigned node_count;
	unsigned quorum;
	enum sim_step step;            /* while a node set joins */
	unsigned order[SIM_MAX_NODES]; /* the client's node i is the world's node order[i] */
	struct fake_process os;
	uint64_t timeout_ns; /* own clock; LOOP_TIMEOUT */
	uint64_t timer_ns;   /* world time at which the loop looks at its timer next */
	struct handle handles[SIM_MAX_HANDLES];
};

/* Puts the actor into the world: its clock, its habits. Its process starts a little later. */
void actor_init(struct world *w, uint32_t actor);

/* Something may have become ready: run the loop soon if so. */
void actor_poke(struct world *w, uint32_t actor);

/* The application has called the library and must call redlock_process() soon. */
void actor_must_run(struct world *w, uint32_t actor);

/* Between the two, the seam serves this actor's process. Leaving checks what the calls have changed. */
void actor_enter(struct world *w, uint32_t actor);
void actor_leave(struct world *w);

/* The process stops for a while (at once, or between a grant and seeing it), dies (with its machine: nobody
 * tells its peers), or settles and closes its client, politely or at once. */
void actor_pause(struct world *w, uint32_t actor, uint64_t duration_ns);
void actor_stumble(struct world *w, uint32_t actor, uint64_t duration_ns);
void actor_crash(struct world *w, uint32_t actor, bool machine);
void actor_retire(struct world *w, uint32_t actor);
void actor_close(struct world *w, uint32_t actor);

/* Gives the actor other credentials: those of the nodes, or such as they refuse. */
void actor_log_in(struct world *w, uint32_t actor, bool refused);

/* The process's clock: another rate, a jump forward; or it stands still, and the process with it. */
void actor_set_rate(struct world *w, uint32_t actor, int32_t rate_ppm);
void actor_jump(struct world *w, uint32_t actor, uint64_t step_ns);
void actor_freeze(struct world *w, uint32_t actor, uint64_t for_ns);

/* Stops the process for long; its wall clock is set right before it goes on. */
void actor_stop(struct world *w, uint32_t actor, uint64_t for_ns);

/* Sets the process's wall clock, and only that. */
void actor_set_wall(struct world *w, uint32_t actor, int64_t step_ns);

/* Gives up what the handles have, checks the nodes that are owed nothing, and returns whether all are. */
bool actor_wind_down(struct world *w, uint32_t actor);

/* Whether the library says that it owes something to a node of the world: releases, or keys that may linger.
 */
bool actor_owes(struct world *w, uint32_t actor, uint32_t node);

/* The first node of the world that is owed a release; SIM_MAX_NODES: none. */
uint32_t actor_debt(struct world *w, uint32_t actor);

/* The process begins to acquire: it has not settled any more. */
void actor_unsettle(struct world *w, uint32_t actor);

/* The process ends: if a release of one of its own values is on its way, or sent because it `closes`, then
 * these values must not be used again. SETs that are on their way do no harm. */
void actor_spoil(struct world *w, uint32_t actor, bool closes);

/* Own time. */
uint64_t actor_now(const struct world *w, const struct actor *a);

/* For the poller: plans to look at the timer. */
void actor_plan_timer(struct world *w, uint32_t actor);

/* The beginning of the process's random bytes. */
void actor_seed(const struct world *w, const struct actor *a, struct prng *ret);

#endif
