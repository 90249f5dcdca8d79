/* SPDX-License-Identifier: MIT */
/*
 * Several node sets: which of them has a name, and the nodes of two sets together while one of them joins.
 * The client opens one part for each set by this, redlock_nodes_of() chooses one set. Pure but for memory.
 */
#ifndef RL_SPREAD_H
#define RL_SPREAD_H

#include <redlock/redlock.h>

#include "core/slice.h"

/* A reason that is compared by its address: NOMEM. Others are INVAL. */
extern const char rl_spread_no_memory[];

struct rl_spread_sets {
	unsigned count;
	unsigned joining; /* its index; `count`: none */
	struct redlock_node_set list[REDLOCK_MAX_SETS];
};

/* The nodes of a name: those of set `set`, and those of the set that joins with them. */
struct rl_spread_choice {
	unsigned set;
	bool joins;
};

/* Copies the sets of the options, but not the texts. Returns what is wrong with them, or NULL. */
const char *rl_spread_take(const struct redlock_options *options, struct rl_spread_sets *ret);

/* The weight of a set for a name, of which `key` is the hash tag. The set with the largest weight has the
 * name. */
uint64_t rl_spread_weight(const char *set, struct rl_slice key);

/* The set that has all these names, none of which is empty; `prefix` comes before each. Returns why there is
 * no such set, or NULL. */
const char *rl_spread_choose(const struct rl_spread_sets *sets, struct rl_slice prefix,
                             const struct redlock_name *names, size_t count, struct rl_spread_choice *ret);

/* The URLs of the chosen nodes, for which `urls` has room for REDLOCK_MAX_NODES, and their quorum. Returns
 * what is wrong with the sets, or NULL. */
const char *rl_spread_nodes(const struct rl_spread_sets *sets, struct rl_spread_choice choice,
                            const char **urls, struct redlock_node_set *ret);

#endif
