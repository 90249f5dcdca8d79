/* SPDX-License-Identifier: MIT */
#include "side_key.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void side_key(const char *name, const char *what, char *buffer, size_t size)
{
	const char *open = strchr(name, '{'), *close = open != NULL ? strchr(open, '}') : NULL;
	const bool tagged = close != NULL && close > open + 1;
	snprintf(buffer, size, "%s%s%s:redlock:%s", tagged ? "" : "{", name, tagged ? "" : "}", what);
}
