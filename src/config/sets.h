/* SPDX-License-Identifier: MIT */
/* The node sets that `quorums` and `joining` of a configuration name, from the sections with their nodes. */
#ifndef RL_CONFIG_SETS_H
#define RL_CONFIG_SETS_H

#include <redlock/redlock.h>

struct rl_sets {
	struct {
		char *name;
		char *urls;        /* a comma list; it may have passwords in it */
		const char *where; /* the first line with a node, of the configuration */
		unsigned quorum;   /* 0: a majority */
		int joining;
	} list[REDLOCK_MAX_SETS];
	size_t count; /* 0: the configuration has none */
	char error[512];
};

/* Returns 0, or CONFIG or NOMEM with `error`. The sets live as long as the configuration, and rl_sets_free()
 * wipes and frees them, also after an error. */
int rl_sets_read(const redlock_config *config, struct rl_sets *ret);
void rl_sets_free(struct rl_sets *sets);

#endif
