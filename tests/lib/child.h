/* SPDX-License-Identifier: MIT */
/* Child processes that never outlive the test, however it ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Says what went wrong in a helper and ends the process. Not for conditions under test. */
void child_die(const char *what) __attribute__((noreturn));

/* Listens on a free port of 127.0.0.1, with these flags of socket(2). */
int child_listen(int flags, int *ret_port);

/* fork(2) whose child gets SIGKILL when the calling thread's process ends. Returns as fork does. */
pid_t child_fork(void);

/* In a child: closes every descriptor above 2 but those listed, and points 0 to 2 at /dev/null. */
void child_detach(const int *keep, size_t keep_count);

/* Waits for the end of a child and returns its exit code, or 128 + the signal that ended it. */
int child_join(pid_t pid);

/* SIGKILLs a child and waits for it. 0 and below are ignored. */
void child_kill(pid_t pid);

/* Stops and continues a child that does not end by itself, and waits until it is so. */
void child_pause(pid_t pid);
void child_resume(pid_t pid);

/* Runs a program and returns its exit code; what it prints on stdout and stderr goes to `output`, cut at
 * `size` - 1 bytes, with trailing newlines removed. */
int child_run(const char *const *argv, char *output, size_t size);

/* Removes a directory and all in it. */
void child_remove_tree(const char *path);

/* Starts a process that removes `path` when this process and its forks have ended or closed the descriptor
 * that is returned. */
int child_janitor(const char *path);
