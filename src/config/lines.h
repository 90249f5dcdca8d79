/* SPDX-License-Identifier: MIT */
/* The lines of configuration files: what each sets, for which cluster, and where it stands. */
#ifndef RL_CONFIG_LINES_H
#define RL_CONFIG_LINES_H

#include "config/words.h"

struct rl_line {
	const struct rl_word *word;
	char *value;   /* may have a password in it */
	char *where;   /* "/etc/redlock/redlock.conf:3" */
	char *cluster; /* of section [cluster NAME]; "": of all */
	bool is_users; /* of the user's file, not of the system's */
};

struct rl_lines {
	struct rl_line *list;
	size_t count;
	char **clusters;
	size_t cluster_count;
	char warning[512]; /* a line per file that has a password and can be read by others */
	char error[512];   /* what is wrong, with file and line */
};

/* Adds the lines of a file. A file that does not exist has none, unless it `must_exist`. Returns 0, or
 * CONFIG, INTERRUPTED, NOMEM or SYSTEM with `error`. */
int rl_lines_read(struct rl_lines *lines, const char *path, bool is_users, bool must_exist, int stop_fd);

/* Wipes and frees. */
void rl_lines_free(struct rl_lines *lines);

#endif
