/* SPDX-License-Identifier: MIT */
/* Directories that no other user of this machine can read, write, move or replace. */
#ifndef REDLOCK_TOOL_SAFE_DIR_H
#define REDLOCK_TOOL_SAFE_DIR_H

#include <limits.h> /* PATH_MAX */
#include <stdbool.h>
#include <stdio.h>

/* Opens `path` and writes its real name, without links, to `ret_real`. It and all directories above it belong
 * to this user or to the system, and others can write to them only under the sticky bit, so the name cannot
 * come to mean something else. With `own` the directory itself must be this user's, and writable by nobody
 * else. -1 with an errno after it has said what is wrong: EPERM for what is not safe. */
int safe_dir_open(const char *path, bool own, char ret_real[PATH_MAX]);

/* Opens `name` in the directory `at`; `path` is how it is called in messages. It is this user's and closed to
 * others, and no link. -1: ENOENT when it is not there, nothing was said. Otherwise -1 with any other errno,
 * after it has said what is wrong. */
int safe_dir_private(int at, const char *name, const char *path);

/* A file below the directory `at`, with the flags of open(2); no link. A new one is this user's alone. */
FILE *safe_file(int at, const char *name, int flags);

#endif
