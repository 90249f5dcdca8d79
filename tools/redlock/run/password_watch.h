/* SPDX-License-Identifier: MIT */
/* A password file that changes while a command runs: the nodes are told. Looked at when the supervisor is
 * awake anyway, which it is at each renewal. */
#ifndef REDLOCK_TOOL_RUN_PASSWORD_WATCH_H
#define REDLOCK_TOOL_RUN_PASSWORD_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <redlock/redlock.h>

#include "../options.h"

/* The properties by which two versions of a file differ. */
struct password_version {
	unsigned long long device, inode, size;
	struct timespec written, changed;
};

struct password_watch {
	const struct settings *settings;
	const char *path; /* NULL: there is none to look at */
	struct password_version used;
	struct password_version seen;
	uint64_t seen_ns; /* since when */
	uint64_t looked_ns;
	uint64_t told_ns; /* when the nodes were told; 0: their answers were looked at */
};

/* To be called before the file is read for the first time. */
void password_watch_begin(struct password_watch *watch, const struct settings *settings);

/* Looks, unless it did so a moment ago. A file that is missing, unusable or still being written changes
 * nothing. */
void password_watch_look(struct password_watch *watch, redlock_client *client);

#endif
