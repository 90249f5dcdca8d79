/* SPDX-License-Identifier: MIT */
/*
 * Admits nodes of a guarded set whose quarantine is over. All that they have forgotten has expired then,
 * except the fencing counters: these are read from the other nodes first, after the end of the quarantine, as
 * is proved by the id that ADMIT quotes. Any client does it, in the turns that its own attempts and renewals
 * cause.
 */
#ifndef RL_ADMIT_H
#define RL_ADMIT_H

#include "nodes.h"

struct rl_admit {
	bool reading;  /* the others are asked, for: */
	unsigned node; /* this one */
	char quarantine[RL_SET_ID + 1];
	uint32_t to_ask;   /* bit per node whose record is to be read, */
	uint32_t asked;    /* is asked for */
	uint32_t read;     /* has been read */
	uint64_t until_ns; /* nodes that have not answered by then are passed over */
	uint64_t again_ns; /* no repair before; a failed one is not repeated at once */
};

/* Goes on with what there is to do. Answers were taken before. */
void rl_admit_turn(struct rl_admit *guard, struct rl_nodes *nodes, uint64_t now_ns);

/* When rl_admit_turn() is due by time alone. */
uint64_t rl_admit_deadline(const struct rl_admit *guard, const struct rl_nodes *nodes);

#endif
