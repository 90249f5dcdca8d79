/* SPDX-License-Identifier: MIT */
/* Tells a forked child from its parent without a system call per question. */
#ifndef RL_OS_FORKMARK_H
#define RL_OS_FORKMARK_H

#include <stdbool.h>

struct rl_forkmark {
	volatile unsigned char *page; /* wiped by the kernel in a child: madvise(2), MADV_WIPEONFORK */
	long pid;                     /* used where the kernel cannot wipe */
};

/* Returns 0 or -errno. */
int rl_forkmark_set(struct rl_forkmark *mark);
bool rl_forkmark_is_child(const struct rl_forkmark *mark);
void rl_forkmark_clear(struct rl_forkmark *mark);

#endif
