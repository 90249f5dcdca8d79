/* SPDX-License-Identifier: MIT */
#include "os/random.h"

#include <errno.h>
#include <sys/random.h>

int rl_random_bytes(void *buffer, size_t size)
{
	unsigned char *at = buffer;
	while (size > 0) {
		ssize_t got = getrandom(at, size, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		at += got;
		size -= (size_t)got;
	}
	return 0;
}
