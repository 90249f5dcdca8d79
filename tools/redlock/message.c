/* SPDX-License-Identifier: MIT */
/* Messages for people. */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "json.h"
#include "live.h"
#include "printable.h"
#include "secret.h"
#include "streams.h"
#include "syslog_line.h"
#include "troubleshooting.h"

enum { LINE_MAX_BYTES = 8192, PATIENCE_MS = 1000 };

static bool never_wait, as_json, to_syslog;
static unsigned dropped; /* messages since the last one that stderr took */
static const char *program = "redlock";

/* The last gate: whatever a line is made of, no byte of it moves a cursor or begins another line. */
static const char *gate(char *line, char *shown, size_t size)
{
	secret_blank_words(line); /* whatever was quoted: a URL in the wrong place, say */
	return harmless(line, shown, size);
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

/* One write for each message: lines of several processes on one terminal do not mix. A reader that has
 * stopped costs one wait; the messages after it are dropped at once until the reader takes one again. */
static void put(const char *line)
{
	if (!streams_put_errors(line, never_wait || dropped > 0 ? 0 : PATIENCE_MS))
		dropped++;
}

static void put_json(const struct message_row *row, const char *text)
{
	char *line = NULL;
	size_t size;
	struct json json;
	FILE *out = open_memstream(&line, &size);
	if (out == NULL)
		return;
	json_init(&json, out);
	json_open(&json, NULL, '{');
	json_text(&json, "message", row->id);
	json_text(&json, "text", text);
	if (row->step != NULL && *row->step)
		json_text(&json, "next", row->step);
	json_close(&json, '}');
	json_end(&json);
	if (fclose(out) == 0)
		put(line);
	free(line);
}

static void put_text(const char *text)
{
	char line[2 * LINE_MAX_BYTES + 128];
	bool titled = has_title(text);
	snprintf(line, sizeof line, "%s%s%s\n", titled ? "" : program, titled ? "" : ": ", text);
	put(line);
}

static void show(enum message_id id, const char *text)
{
	live_erase();
	if (as_json)
		put_json(message_row(id), text);
	else
		put_text(text);
}

/* The reader goes on after a while: tells how much is missing. */
static void tell_dropped(enum message_id id, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell_dropped(enum message_id id, const char *format, ...)
{
	char line[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	dropped = 0;
	show(id, line);
}

__attribute__((format(printf, 3, 0))) static void message(bool is_shown, enum message_id id,
                                                          const char *format, va_list arguments)
{
	char line[LINE_MAX_BYTES], shown[2 * LINE_MAX_BYTES];
	if (is_shown && (never_wait || dropped > 0) && !streams_take_errors()) {
		dropped++;
		is_shown = false;
	}
	if (!is_shown && !to_syslog)
		return;
	if (is_shown && dropped > 0)
		tell_dropped(MSG(DROPPED), dropped, dropped == 1 ? "" : "s");
	const struct message_row *row = message_row(id);
	vsnprintf(line, sizeof line, format, arguments);
	const char *text = gate(line, shown, sizeof shown);
	if (to_syslog)
		syslog_line(row->step == NULL ? LOG_INFO : LOG_WARNING, program, row->id, text);
	if (is_shown)
		show(id, text);
}

void complain(enum message_id id, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message(true, id, format, arguments);
	va_end(arguments);
}

void messages_follow(const struct settings *settings)
{
	as_json = settings->json;
	to_syslog = settings->syslog;
}

void messages_are_of(const char *name)
{
	program = name;
}

void messages_never_wait(void)
{
	never_wait = true;
}

void say(const struct settings *settings, enum message_id id, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message(!settings->quiet, id, format, arguments);
	va_end(arguments);
}

void say_now(const struct settings *settings, enum message_id id, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	bool takes = settings->quiet || streams_take_errors();
	dropped += !takes;
	message(!settings->quiet && takes, id, format, arguments);
	va_end(arguments);
}

void put_usage(const char *text)
{
	put(text);
}

void put_line(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	char line[LINE_MAX_BYTES], shown[2 * LINE_MAX_BYTES];
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	printf("%s\n", gate(line, shown, sizeof shown));
}
