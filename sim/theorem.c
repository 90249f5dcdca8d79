/* SPDX-License-Identifier: MIT */
#include "theorem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

unsigned theorem_room(bool *is, unsigned size, unsigned *most)
{
	for (unsigned i = 0; i < size; i++)
		if (!is[i]) {
			is[i] = true;
			*most = i >= *most ? i + 1 : *most;
			return i;
		}
	return THEOREM_FULL;
}

unsigned theorem_last(const bool *is, unsigned most)
{
	while (most > 0 && !is[most - 1])
		most--;
	return most;
}

void theorem_refuse(char *why, size_t size, const char *rule)
{
	snprintf(why, size, "%s:", rule);
}

void theorem_tell(char *why, size_t size, const char *term, int64_t value, bool is_time)
{
	size_t used = strlen(why);
	if (is_time)
		snprintf(why + used, size - used, " %s = %.6f ms;", term,
		         (double)value / (double)UNIT / (double)SIM_MS);
	else
		snprintf(why + used, size - used, " %s = %" PRId64 ";", term, value);
}
