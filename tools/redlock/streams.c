/* SPDX-License-Identifier: MIT */
/* Letting go of the standard streams. */
#include "streams.h"

#include <fcntl.h>
#include <unistd.h>

void streams_drop(int last)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= last && null >= 0; fd++)
		(void)dup2(null, fd);
	if (null > last)
		close(null);
}
