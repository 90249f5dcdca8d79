/* SPDX-License-Identifier: MIT */
/* Messages for people, and bytes made safe to show. */
#include "message.h"

#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 1, 0))) static void message(const char *format, va_list arguments)
{
	char line[8192];

	/* One write per message: lines of several processes on one terminal do not mix. */
	vsnprintf(line, sizeof(line), format, arguments);
	fprintf(stderr, "redlock: %s\n", line);
}

void complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message(format, arguments);
	va_end(arguments);
}

void say(const struct settings *settings, const char *format, ...)
{
	va_list arguments;

	if (settings->quiet)
		return;
	va_start(arguments, format);
	message(format, arguments);
	va_end(arguments);
}

bool message_is_taken(void)
{
	struct pollfd errors = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&errors, 1, 0) == 1 && (errors.revents & POLLOUT) != 0;
}

void say_now(const struct settings *settings, const char *format, ...)
{
	va_list arguments;

	if (settings->quiet || !message_is_taken())
		return;
	va_start(arguments, format);
	message(format, arguments);
	va_end(arguments);
}

size_t utf8_length(const unsigned char *text, size_t available)
{
	/* lead byte range, length, smallest code point (longer forms of smaller ones are invalid) */
	static const struct {
		unsigned char low, high;
		size_t length;
		uint32_t least;
	} forms[] = {{0x00, 0x7f, 1, 0}, {0xc2, 0xdf, 2, 0x80}, {0xe0, 0xef, 3, 0x800}, {0xf0, 0xf4, 4, 0x10000}};

	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		uint32_t point;

		if (available < forms[f].length || text[0] < forms[f].low || text[0] > forms[f].high)
			continue;
		point = forms[f].length == 1 ? text[0] : text[0] & (0xffu >> (forms[f].length + 1));
		for (size_t i = 1; i < forms[f].length; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			point = point << 6 | (text[i] & 0x3f);
		}
		if (point < forms[f].least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
			return 0;
		return forms[f].length;
	}
	return 0;
}

/* C0, DEL and, in UTF-8, C1 control characters. */
static int is_control(const unsigned char *text, size_t length)
{
	return (length == 1 && (text[0] < 0x20 || text[0] == 0x7f)) ||
	       (length == 2 && text[0] == 0xc2 && text[1] < 0xa0);
}

const char *printable(const void *bytes, size_t length, char *buffer, size_t size)
{
	const unsigned char *text = bytes;
	size_t out = 0, in = 0;

	while (in < length) {
		size_t step = utf8_length(text + in, length - in);

		if (out + 5 + sizeof("...") > size) {
			memcpy(buffer + out, "...", sizeof("..."));
			return buffer;
		}
		if (step == 0 || is_control(text + in, step)) {
			out += (size_t)snprintf(buffer + out, size - out, "\\x%02x", text[in]);
			in++;
		} else {
			if (text[in] == '\\')
				buffer[out++] = '\\';
			memcpy(buffer + out, text + in, step);
			out += step;
			in += step;
		}
	}
	buffer[out] = '\0';
	return buffer;
}
