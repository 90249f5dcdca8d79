/* SPDX-License-Identifier: MIT */
/*
 * Keys of a second client beside those of the holder. A client that acquires leaves its key on a node for the
 * moment until it knows that it was refused. A key that stays belongs to a client that was killed, or to one
 * that holds the lock too, by another list of nodes. One look at the nodes does not tell these apart; two do.
 */
#ifndef REDLOCK_TOOL_RIVAL_H
#define REDLOCK_TOOL_RIVAL_H

#include "standing.h"

/* Pause between two looks, besides one node timeout: an attempt that is refused does not last longer. */
static inline uint64_t rival_pause_ns(uint64_t node_timeout_ms)
{
	return (1000 + node_timeout_ms) * 1000000;
}

/* A key may have been set anew between two looks, by a client that tries again. Three looks in a row at a
 * moment when it has its key are no chance. */
#define RIVAL_LOOKS 3

struct rivals {
	uint64_t nodes;                    /* that have a key of another client than the holder: a bit for each */
	bool is_held;                      /* there is a holder; else all keys are of others, on too few nodes */
	uint64_t at_ns;                    /* of the last look */
	uint64_t value[REDLOCK_MAX_NODES]; /* a hash of the key's value */
	int64_t pttl_ms[REDLOCK_MAX_NODES];
	unsigned looks;
	uint64_t stood;   /* nodes whose key has stood since the first look, or was seen in all RIVAL_LOOKS */
	uint64_t renewed; /* nodes where its life was lengthened between two looks */
};

/* One look: fills in what may be keys of a rival. Returns whether there are any. */
bool rivals_note(struct rivals *rivals, const struct standing *standing, uint64_t now_ns);

/* Compares with a later look, and keeps what both have. Returns whether anything is left. */
bool rivals_compare(struct rivals *rivals, const struct rivals *later);

/* The nodes that a rival keeps its key on. Of keys on too few nodes, without a holder, these are those that
 * somebody renews: others are the leftovers of a client that died. */
uint64_t rivals_on(const struct rivals *rivals);

/* Whether a further look could tell more. */
bool rivals_want_look(const struct rivals *rivals);

/* "node 3", "nodes 3, 5". Returns `buffer`. */
const char *rivals_nodes_text(uint64_t nodes, char *buffer, size_t size);

#endif
