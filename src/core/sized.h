/* SPDX-License-Identifier: MIT */
/* Structs of the public header that begin with their size and grow at their end. The caller may have been
 * built against an older header, then its struct is shorter, or against a newer one. */
#ifndef RL_CORE_SIZED_H
#define RL_CORE_SIZED_H

#include <stddef.h>
#include <string.h>

#include <redlock/redlock.h>

/* Fills the caller's struct of `size` bytes: with what it knows of `from`, and zeros behind that. NULL, or a
 * size that holds no size: nothing is written. */
static inline void rl_sized_fill(void *to, size_t size, const void *from, size_t from_size)
{
	if (to == NULL || size < sizeof size)
		return;
	memset(to, 0, size);
	memcpy(to, from, size < from_size ? size : from_size);
	memcpy(to, &size, sizeof size);
}

/* The same for a result: the caller has set the size. 0 or INVAL. */
static inline int rl_sized_return(void *to, const void *from, size_t from_size)
{
	size_t size;
	memcpy(&size, to, sizeof size);
	rl_sized_fill(to, size, from, from_size);
	return size < sizeof size ? REDLOCK_E_INVAL : 0;
}

#endif
