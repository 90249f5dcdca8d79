/* SPDX-License-Identifier: MIT */
/*
 * Two programs, one command. `redlock` is linked statically where that can be done: its processes start a
 * seventh faster. What glibc has only in shared libraries, the resolver for host names and what OpenSSL
 * needs, it leaves to the same program with shared libraries, which it becomes before it has done anything.
 */
#ifndef REDLOCK_TOOL_HANDOVER_H
#define REDLOCK_TOOL_HANDOVER_H

#include "options.h"

#ifdef REDLOCK_HANDOVER /* the places of the other program */

/* Keeps a copy of argv: passwords in it are going to be blanked. */
void handover_remember(int argc, char **argv);

/* Becomes the other program at once if what is at this path, a configuration, can be read only once. Returns
 * an exit code. */
int handover_unread(const char *path);

/* Becomes the other program if a node needs it, and forgets argv otherwise. Returns an exit code. */
int handover(const struct settings *settings);

/* No node is going to be talked to. */
void handover_forget(void);

#else

static inline void handover_remember(int argc, char **argv)
{
	(void)argc;
	(void)argv;
}

static inline int handover_unread(const char *path)
{
	(void)path;
	return 0;
}

static inline void handover_forget(void)
{
}

static inline int handover(const struct settings *settings)
{
	(void)settings;
	return 0;
}

#endif

#endif
