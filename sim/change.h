/* SPDX-License-Identifier: MIT */
/*
 * The records of a guarded set, and the operator who changes its members, one at a time, as `redlock init`
 * does (tools/redlock/init/stages.c): the new list at each member beside the former one, the roll-out to the
 * clients, the former list refused, the longest TTL waited for. A change goes on while nodes fail. The
 * operator reads and writes a record in one moment: ops/operator/write_record.lua refuses late writes.
 */
#ifndef SIM_CHANGE_H
#define SIM_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"

struct world;
struct key;

enum { CHANGE_STEPS = 48 };

struct change {
	uint32_t lists[CHANGE_STEPS + 1]; /* by step: bits of the world's nodes */
	unsigned newest, settled;         /* steps, from 1 on */
	enum { CHANGE_READY, CHANGE_SPREADS, CHANGE_ROLLS_OUT, CHANGE_TELLS, CHANGE_ALONE } stage;
	bool stops;                      /* no other change begins */
	uint64_t until_ns;               /* ROLLS_OUT ends; READY: the next one begins */
	uint64_t alone_ns;               /* all members refuse the former list since then; 0: not yet */
	uint64_t lost_ns[SIM_MAX_NODES]; /* the node lost its data; 0: never */
	uint64_t floor; /* for the node that joins: the highest fencing number when the step began; 0: too few
	                 * knew it, or the node has it */
};

/* Before the nodes start: the first list. The operator begins to work. */
void change_begin(struct world *w);
void change_operate(struct world *w);

/* Writes the record of a member that starts for the first time. */
void change_found(struct world *w, uint32_t node);

/* The list that a client which starts now is given, as bits of nodes; and that of the newest step. */
uint32_t change_list(struct world *w);
uint32_t change_newest(const struct world *w);

/* Returns the step of the configuration with this id; 0: no configuration has it. */
unsigned change_step(const char *id, size_t size);

/* Whether the set can do without the data of this node: all other members are admitted. */
bool change_spares(const struct world *w, uint32_t node);

/* The faults are over: lets the change end, and ends the clients that have a former list. */
void change_end(struct world *w);

#endif
