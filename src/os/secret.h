/* SPDX-License-Identifier: MIT */
/* Texts that must not be found in a core dump: each has pages of its own, which the kernel leaves out
 * (MADV_DONTDUMP) and which are wiped whole, whatever has become of the text in them. */
#ifndef RL_OS_SECRET_H
#define RL_OS_SECRET_H

#include <stddef.h>

/* Copies `size` bytes and appends a NUL. NULL: out of memory. */
char *rl_secret_copy(const char *bytes, size_t size);

/* Wipes and frees. NULL is allowed. */
void rl_secret_free(char *secret);

#endif
