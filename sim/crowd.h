/* SPDX-License-Identifier: MIT */
/*
 * A crowd: the faults are over, all clients want one lock, a few times each, and one kind of fault comes back
 * for a while, or none. Who is served when, and how long is the lock free although somebody waits?
 */
#ifndef SIM_CROWD_H
#define SIM_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"

struct world;
struct call;
struct key;

#define SIM_CROWD_HANDLES 3

struct waiter {
	unsigned turns;     /* that it still wants */
	bool shares;        /* with others that do */
	uint64_t next_ns;   /* when it does something next */
	uint64_t began_ns;  /* its acquire */
	bool stands;        /* the gate said so the last time; not once it has let it in */
	uint64_t placed_ns; /* since when it stands in a queue; 0: it does not, as far as anybody told it */
	/* How often each of the others began later, had no place, and had the lock before it. */
	uint8_t passed_by[SIM_MAX_ACTORS * SIM_CROWD_HANDLES];
};

struct crowd {
	bool on;
	bool orderly;     /* nothing fails, and messages come in less time than who is woken has */
	uint64_t free_ns; /* since when has nobody had the lock, although somebody waited who can have it? */
	bool differs;     /* and that not all of them met in time */
	bool several;     /* two of them want another name as well, each in an order of its own */
	unsigned handles; /* of each client */
	unsigned most_hold_us;
	struct waiter waiters[SIM_MAX_ACTORS][SIM_CROWD_HANDLES];
};

/* Faults that may occur, and how much longer the lock may be free then: X(fault, permille, gap_ms, more_ms).
 * The first one stands for no fault. Waiters that poll find out within 1.5 s that a process died without a
 * word; likewise a message that was lost, or went into a connection that has fallen silent; a node that was
 * cut off is asked again as late. */
#define SIM_TROUBLE_MAP(X)                                                                                   \
	X(COUNT, 0, 0, 0)                                                                                        \
	X(MESSAGE_LOST, 500, 0, 1600)                                                                            \
	X(MESSAGE_LATE, 500, 0, 1600)                                                                            \
	X(MESSAGE_TWICE, 500, 0, 0)                                                                              \
	X(WAITER_CRASH, 0, 60, 0)                                                                                \
	X(WAITER_LOSS, 0, 60, 1600)                                                                              \
	X(WOKEN_CRASH, 200, 0, 1600)                                                                             \
	X(GATE_HANG, 0, 200, 0)                                                                                  \
	X(GATE_SPLIT, 0, 200, 1600)                                                                              \
	X(EARS_RESET, 0, 60, 0)                                                                                  \
	X(EARS_SILENT, 0, 200, 1600)

#define SIM_TROUBLE_ONE(fault, permille, gap_ms, more_ms) +1
enum { SIM_TROUBLES = 0 SIM_TROUBLE_MAP(SIM_TROUBLE_ONE) };
#undef SIM_TROUBLE_ONE

/* The name of a row of the faults, or, for the number after the last row, of waiters that do not meet. */
const char *crowd_name(unsigned row);

/* Any of them but the first; the one with this fault, if it is not COVER_COUNT. */
unsigned crowd_trouble(struct world *w, unsigned fault);

/* Whether all may use what needs scripts: shared locks, and those of the old SETNX protocol. */
bool crowd_may_share(const struct world *w);

/* Plays one: with any of the troubles, or without. */
void crowd_play(struct world *w, unsigned trouble);

/* A server has answered an ENTER, or handed a key over; a handle has been granted the lock. */
void crowd_entered(struct world *w, const struct call *c, struct bytes answer);
void crowd_handed(struct world *w, const struct key *key);
void crowd_granted(struct world *w, uint32_t actor, uint32_t slot);

#endif
