/* SPDX-License-Identifier: MIT */
/*
 * The status file of `redlock elect`: lines of NAME=VALUE, replaced in one step. It says until when it may be
 * believed, on both clocks, so that a reader needs neither a server nor a living elector.
 */
#ifndef REDLOCK_TOOL_RUN_STATUS_FILE_H
#define REDLOCK_TOOL_RUN_STATUS_FILE_H

#include <limits.h>
#include <stdbool.h>

#include "news.h"

struct elect_status {
	const char *name;
	enum news_state state;
	char leader[NEWS_LEADER_MAX]; /* "": not known */
	uint64_t since_ms;            /* this host has known of that leader; wall clock */
	uint64_t fence;               /* 0: not known */
	long pid;                     /* of its writer; read only */
	uint64_t valid_ns;            /* until then, CLOCK_BOOTTIME; the wall clock's time follows from it */
};

/* The default path for a name, below $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR, or /run. False: it is too long. */
bool status_file_path(const char *name, char path[PATH_MAX]);

/* False, with errno. */
bool status_file_write(const char *path, const struct elect_status *status);

/* Another elector that writes this file now, and lives. 0: none is seen. */
long status_file_rival(const char *path);

/* Reads what may be believed now. False: there is no such file, it is of another kind, or too old. */
bool status_file_read(const char *path, struct elect_status *ret);

#endif
