/* SPDX-License-Identifier: MIT */
/* The seam: nothing forks in here. */
#include "os/forkmark.h"

#include <stddef.h>

int rl_forkmark_set(struct rl_forkmark *mark)
{
	*mark = (struct rl_forkmark){0};
	return 0;
}

bool rl_forkmark_is_child(const struct rl_forkmark *mark)
{
	(void)mark;
	return false;
}

void rl_forkmark_clear(struct rl_forkmark *mark)
{
	mark->page = NULL;
}
