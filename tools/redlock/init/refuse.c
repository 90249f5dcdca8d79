/* SPDX-License-Identifier: MIT */
/* What is said of a node with which init cannot go on. */
#include <stdarg.h>
#include <stdio.h>

#include "../exit_codes.h"
#include "../message.h"
#include "init.h"

int init_refuse(const struct init *in, unsigned node, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	complain("node %u %s: %s", node + 1, init_address(in, node), text);
	return EXIT_CONFIG;
}

unsigned init_complain_silent(const struct init *in, const bool *of, const char *why)
{
	unsigned count = 0;
	for (unsigned i = 0; i < in->nodes; i++)
		if (of[i] && in->record[i].state == GUARD_SILENT_) {
			(void)init_refuse(in, i, "no answer (%s)%s", in->record[i].why, why);
			count++;
		}
	return count;
}
