/* SPDX-License-Identifier: MIT */
/*
 * The library's allocated memory, by client process. Its calls of malloc(3), rl_resp_open() and
 * rl_resp_close() are led through memory.c by the linker (--wrap, see CMakeLists.txt), so that the library's
 * objects stay as they are shipped.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The memory of one client process. */
struct memory {
	uint32_t blocks;
	size_t bytes;
	size_t most_bytes;
};

#endif
