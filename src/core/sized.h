/* SPDX-License-Identifier: MIT */
/* Structs of the public header that begin with their size and grow at their end. The caller may have been
 * built against an older header, then its struct is shorter, or against a newer one. */
#ifndef RL_CORE_SIZED_H
#define RL_CORE_SIZED_H

#include <stddef.h>
#include <string.h>

#include <redlock/redlock.h>

enum { RL_SIZED_MOST = 65536 }; /* a larger size was never set: the struct holds what was on the stack */

/* Whether the caller has set the size of its struct. 0 or INVAL, also for NULL. */
static inline int rl_sized_check(const void *sized)
{
	size_t size = 0;
	if (sized != NULL)
		memcpy(&size, sized, sizeof size);
	return size >= sizeof size && size <= RL_SIZED_MOST ? 0 : REDLOCK_E_INVAL;
}

/* Fills the caller's struct of `size` bytes with the part of `from` that fits, and the rest with zeros.
 * Writes nothing if the struct is NULL or too small to have a size. */
static inline void rl_sized_fill(void *to, size_t size, const void *from, size_t from_size)
{
	if (to == NULL || size < sizeof size)
		return;
	memset(to, 0, size);
	memcpy(to, from, size < from_size ? size : from_size);
	memcpy(to, &size, sizeof size);
}

/* Copies the caller's options over `to`, which holds the defaults. The caller's struct may be shorter (older
 * header: the rest keeps its default) or longer (newer header: the options that this library does not know
 * must be zero). 0 or INVAL. */
static inline int rl_sized_copy(void *to, size_t to_size, const void *from)
{
	size_t size;
	if (rl_sized_check(from) < 0)
		return REDLOCK_E_INVAL;
	memcpy(&size, from, sizeof size);
	for (size_t i = to_size; i < size; i++)
		if (((const unsigned char *)from)[i] != 0)
			return REDLOCK_E_INVAL;
	memcpy(to, from, size < to_size ? size : to_size);
	memcpy(to, &to_size, sizeof to_size);
	return 0;
}

/* As rl_sized_fill(), for a result whose size the caller has set. 0 or INVAL. */
static inline int rl_sized_return(void *to, const void *from, size_t from_size)
{
	size_t size;
	if (rl_sized_check(to) < 0)
		return REDLOCK_E_INVAL;
	memcpy(&size, to, sizeof size);
	rl_sized_fill(to, size, from, from_size);
	return 0;
}

#endif
