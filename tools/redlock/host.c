/* SPDX-License-Identifier: MIT */
#include "host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *host_name(char *buffer, size_t size)
{
	if (gethostname(buffer, size) < 0)
		snprintf(buffer, size, "unknown");
	buffer[size - 1] = '\0';
	for (char *c = buffer; *c; c++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@/+-", *c) == NULL)
			*c = '-';
	return buffer;
}
