/* SPDX-License-Identifier: MIT */
/*
 * Clients of the old SETNX protocol, to the letter of redis.io's page (SETNX, "Handling deadlocks"): SETNX,
 * GET, GETSET, DEL, on one node, or on each of several for a majority. They are no processes of this library.
 * The page's assumptions hold: their clocks and those of the nodes differ by less than a second, including
 * the time of a command, their timeouts are alike, and a client that has lost a GETSET has seen the old time
 * less than half a second before.
 */
#ifndef SIM_OLD_H
#define SIM_OLD_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"

#define SIM_OLD_CLIENTS 3

/* So much their clocks and the node's may differ, each from each. */
#define OLD_CLOCKS_MS 900

/* So much longer than their timeout what they leave may keep others out, in seconds: it is written a second
 * later, and past a second later. */
#define OLD_SLACK_S 4

struct old {
	unsigned resource;
	uint64_t turn;     /* counts attempts, and ends of them */
	uint64_t began_ns; /* the attempt */
	unsigned asked;    /* nodes that have not answered yet */
	bool holds;
	uint64_t until_ns; /* it relies on the lock */
	struct {
		int64_t ahead_ms; /* its clock, of the node's */
		int64_t wrote;    /* 0: nothing */
		bool won;
	} at[SIM_MAX_NODES];
};

/* Puts them into the world, if the seed has any; some of those before them died. */
void old_begin(struct world *w);

/* They are gone: an operator deletes what they have left. */
void old_clear(struct world *w);

/* A handle is relied on: none of them may rely on its lock. */
void old_check_overlap(struct world *w, const struct actor *a, const struct handle *h);

#endif
