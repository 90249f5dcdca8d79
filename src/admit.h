/* SPDX-License-Identifier: MIT */
/*
 * Admits nodes of a guarded set whose quarantine is over. By then all locks that such a node forgot have
 * expired, but not the fencing counters: a client first reads these from the other nodes. It must read them
 * after the end of the quarantine; ADMIT quotes the quarantine's id to prove that. Every client does this
 * while its own attempts and renewals run.
 */
#ifndef RL_ADMIT_H
#define RL_ADMIT_H

#include "nodes.h"

struct rl_admit {
	bool reading;  /* a repair of `node` is under way: the other nodes' records are being read */
	unsigned node; /* the node that is repaired */
	char quarantine[RL_SET_ID + 1];
	uint32_t to_ask;   /* bit per node whose record must still be asked for */
	uint32_t asked;    /* bit per node whose record was asked for and has not come */
	uint32_t read;     /* bit per node whose record has been read */
	uint64_t until_ns; /* nodes that have not answered by then are passed over */
	uint64_t again_ns; /* the earliest start of the next repair: a failed one is not repeated at once */
};

/* Takes the next step of a repair, compares clocks and renews permits. Call it after the answers of a turn.
 */
void rl_admit_turn(struct rl_admit *guard, struct rl_nodes *nodes, uint64_t now_ns);

/* Returns when rl_admit_turn() must be called even if no answer comes. */
uint64_t rl_admit_deadline(const struct rl_admit *guard, const struct rl_nodes *nodes);

#endif
