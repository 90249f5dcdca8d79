/* SPDX-License-Identifier: MIT */
/* Values of a row as text. */
#include <stdio.h>

#include "ls.h"

const char *ls_time_text(uint64_t ms, char *buffer, size_t size)
{
	unsigned long long s = ms / 1000;
	if (ms < 100000)
		snprintf(buffer, size, "%.1fs", (double)ms / 1000);
	else if (s < 6000)
		snprintf(buffer, size, "%llum%02llus", s / 60, s % 60);
	else if (s < 360000)
		snprintf(buffer, size, "%lluh%02llum", s / 3600, s / 60 % 60);
	else
		snprintf(buffer, size, "%llud%02lluh", s / 86400, s / 3600 % 24);
	return buffer;
}

const char *ls_odd_text(const struct ls_row *row, char *buffer, size_t size)
{
	size_t used = 0;
	buffer[0] = '\0';
	for (int i = 0; i < LS_ODDS && used < size; i++)
		if (row->odd >> i & 1)
			used +=
			    (size_t)snprintf(buffer + used, size - used, "%s%s", used > 0 ? "," : "", ls_odd_words[i]);
	return buffer;
}
