/* SPDX-License-Identifier: MIT */
/* The name of this host, of the characters that an owner label may have. */
#ifndef REDLOCK_TOOL_HOST_H
#define REDLOCK_TOOL_HOST_H

#include <stddef.h>

/* Writes it to `buffer`, cut if it does not fit; other characters become '-'. Returns `buffer`. */
const char *host_name(char *buffer, size_t size);

#endif
