/* SPDX-License-Identifier: MIT */
/* Messages for people. */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "live.h"
#include "printable.h"
#include "secret.h"
#include "streams.h"

enum { LINE_MAX_BYTES = 8192 };

static bool never_wait;
static const char *program = "redlock";

/* The last gate: whatever a line is made of, no byte of it moves a cursor or begins another line. One write
 * per message: lines of several processes on one terminal do not mix. */
static void put(FILE *out, const char *begin, char *line)
{
	secret_blank_words(line); /* whatever was quoted: a URL in the wrong place, say */
	char shown[2 * LINE_MAX_BYTES];
	fprintf(out, "%s%s\n", begin, harmless(line, shown, sizeof shown));
}

/* Whether a line says by itself who speaks: "redlock run: ...". */
static bool has_title(const char *line)
{
	static const char *const titles[] = {"redlock ", "redlock: ", "rflock: "};
	for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
		if (strncmp(line, titles[i], strlen(titles[i])) == 0)
			return true;
	return false;
}

__attribute__((format(printf, 1, 0))) static void message(const char *format, va_list arguments)
{
	char line[LINE_MAX_BYTES];
	if (never_wait && !streams_take_errors())
		return;
	vsnprintf(line, sizeof line, format, arguments);
	live_erase();
	char begin[16] = "";
	if (!has_title(line))
		snprintf(begin, sizeof begin, "%s: ", program);
	put(stderr, begin, line);
}

void complain(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message(format, arguments);
	va_end(arguments);
}

void messages_are_of(const char *name)
{
	program = name;
}

void messages_never_wait(void)
{
	never_wait = true;
}

void say(const struct settings *settings, const char *format, ...)
{
	if (settings->quiet)
		return;
	va_list arguments;
	va_start(arguments, format);
	message(format, arguments);
	va_end(arguments);
}

void put_line(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	char line[LINE_MAX_BYTES];
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	put(stdout, "", line);
}

void say_now(const struct settings *settings, const char *format, ...)
{
	if (settings->quiet || !streams_take_errors())
		return;
	va_list arguments;
	va_start(arguments, format);
	message(format, arguments);
	va_end(arguments);
}
