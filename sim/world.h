/* SPDX-License-Identifier: MIT */
/* One seed's world: virtual time, what is to happen, and everything that lives in it. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "actor.h"
#include "change.h"
#include "check.h"
#include "cover.h"
#include "crowd.h"
#include "heap.h"
#include "link.h"
#include "node.h"
#include "old.h"
#include "plan.h"
#include "prng.h"

struct trace {
	bool on;       /* lines are made, and hashed */
	bool print;    /* and printed */
	uint64_t hash; /* FNV-1a over all bytes */
	uint64_t lines;
};

/* Locks that were left to any process with the token (redlock_lock_leave): others extend or release them. */
#define SIM_ADOPTIONS 4

struct adoption {
	bool open;
	unsigned resource;
	int compat;
	char token[64];
};

/* The faults are over and the applications go on: each resource must be acquired by somebody in time. */
struct heal {
	bool on; /* applications only acquire, and release what they have */
	uint64_t granted_ns[SIM_MAX_RESOURCES];
};

struct world {
	struct plan plan;
	uint64_t now_ns;
	struct heap heap;
	uint64_t events;
	struct prng net;     /* delays, pieces */
	struct prng chaos;   /* faults */
	struct prng work;    /* applications */
	bool calm;           /* the faults are over */
	enum sim_cover only; /* but for these, or for none: COVER_COUNT */
	struct heal heal;
	struct crowd crowd;
	struct change change;
	bool winding_down; /* the applications begin nothing new */
	struct node nodes[SIM_MAX_NODES];
	unsigned useless_nodes; /* that never serve: always less than what a quorum can do without */
	unsigned gone_machines; /* of clients: servers still have their connections */
	struct actor actors[SIM_MAX_ACTORS];
	struct old old[SIM_OLD_CLIENTS];
	bool old_twice[SIM_MAX_RESOURCES][SIM_MAX_NODES]; /* the time there was written over that of another */
	struct links links;
	uint64_t cut_until_ns[SIM_MAX_ACTORS][SIM_MAX_NODES][2]; /* [.][.][enum direction] */
	struct actor *current;                                   /* the process whose library calls run */
	struct check check;
	struct proof *proof; /* NULL: what happens is not compared with the theorem */
	struct proof_several *several;
	struct proof_fence *fence;
	struct proof_guard *guard;
	struct proof_shared *shared;
	struct proof_members *members;
	struct adoption adoptions[SIM_ADOPTIONS];
	struct trace trace;
	struct cover *cover;
};

/* The world that the seam serves. One at a time. */
extern struct world *sim_world;
extern const struct fake_world sim_os;

void world_init(struct world *w, const struct plan *plan, struct cover *cover, bool trace, bool print);
void world_free(struct world *w);

void world_at(struct world *w, uint64_t at_ns, sim_fire fire, uint32_t subject, uint64_t argument);
void world_after(struct world *w, uint64_t after_ns, sim_fire fire, uint32_t subject, uint64_t argument);

/* Lives on until `until_ns`, or until a violation. */
void world_run(struct world *w, uint64_t until_ns);

/* Somebody has acquired the resource. scenario.c */
void heal_granted(struct world *w, unsigned resource);

/* One line of the trace; use TRACE, which costs nothing when there is no trace. */
void world_trace(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define TRACE(w, ...)                                                                                        \
	do {                                                                                                     \
		if ((w)->trace.on)                                                                                   \
			world_trace((w), __VA_ARGS__);                                                                   \
	} while (0)

/* Counts that a kind of fault or act has happened. */
static inline void world_hit(struct world *w, enum sim_cover kind)
{
	w->cover->hits[kind]++;
}

/* Whether a fault of an occasion happens now. Counts it. */
static inline bool world_mishap(struct world *w, enum sim_cover fault)
{
	if ((w->calm && w->only != fault) || w->plan.permille[fault] == 0 ||
	    !prng_chance(&w->net, w->plan.permille[fault]))
		return false;
	world_hit(w, fault);
	return true;
}

#endif
