/* SPDX-License-Identifier: MIT */
/* Reads a small file whole: configuration and passwords. Never waits for ever, also if the file is a pipe. */
#ifndef RL_OS_FILE_H
#define RL_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct rl_file {
	char *bytes; /* with a NUL after them */
	size_t size;
	bool is_exposed; /* users who are not its owner may read it, or write to it */
};

/* Reads `max` bytes at most. A pipe or a terminal is waited for until `stop_fd` is readable; -1: for 10 s.
 * Returns 0 (then the caller calls rl_file_free()), or an errno: EFBIG, ECANCELED (stopped), ETIMEDOUT,
 * EISDIR and those of open(2) and read(2). */
int rl_file_read(const char *path, size_t max, int stop_fd, struct rl_file *ret);

/* Wipes and frees. */
void rl_file_free(struct rl_file *file);

#endif
