/* SPDX-License-Identifier: MIT */
/* Where the files of the local cluster are, and who may touch them: the user alone, one process at a time. */
#ifndef REDLOCK_TOOL_CLUSTER_DIR_H
#define REDLOCK_TOOL_CLUSTER_DIR_H

#include <limits.h> /* PATH_MAX */

#include "options.h"

struct cluster_dir {
	char base[PATH_MAX]; /* $XDG_RUNTIME_DIR/redlock, or /tmp/redlock-UID */
	char path[PATH_MAX]; /* base/cluster: node-1, node-2, ... and the file `nodes` with their number */
	unsigned nodes;      /* 0: there is no cluster */
	/* Everything is done below these, so that no name is looked up twice. -1: is not there, or not open. */
	int parent_fd, base_fd, path_fd;
	int lock_fd; /* base/cluster.lock; -1: not locked */
};

/* All return an exit code; unless it is EXIT_OK, what is wrong was said on stderr. */

/* Finds the directory and reads the number of nodes; makes nothing. A directory that is not the user's alone
 * is an error: its owner decides which servers `-r local` talks to. To be closed in any case. */
int cluster_dir_find(struct cluster_dir *dir);

/* As cluster_dir_find(), but makes the directory if it is missing, and locks it against other starts and
 * stops. */
int cluster_dir_lock(struct cluster_dir *dir);

/* Makes the cluster's directory and writes the number of nodes. Needs the lock. */
int cluster_dir_create(struct cluster_dir *dir, unsigned nodes);

/* Removes everything but the directories of nodes, which must be gone. Needs the lock. */
void cluster_dir_remove(struct cluster_dir *dir);

/* Ends the lock too. */
void cluster_dir_close(struct cluster_dir *dir);

/* Whether the nodes are a guarded set, as `redlock init` has noted it for all who say `local`. */
bool cluster_dir_is_guarded(void);

/* Notes that. Returns an exit code; unless it is EXIT_OK, what is wrong was said. */
int cluster_dir_guard(bool guarded);

/* Appends the URL of every node of the local cluster. */
int cluster_dir_urls(struct text_list *ret);

#endif
