/* SPDX-License-Identifier: MIT */
/* A line that is written anew. */
#include "live.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "printable.h"
#include "secret.h"
#include "streams.h"

enum { LINE_MAX_BYTES = 2048, USUAL_WIDTH = 80 };

/* There is one terminal, and the writer of a message has to know. */
static bool shown;

bool live_works(const struct settings *settings)
{
	const char *term = getenv("TERM");
	return !settings->quiet && isatty(STDERR_FILENO) && term != NULL && *term && strcmp(term, "dumb") != 0;
}

/* A terminal that is not this session's has no background. */
static bool is_ours(void)
{
	pid_t group = tcgetpgrp(STDERR_FILENO);
	return (group < 0 || group == getpgrp()) && streams_take_errors();
}

static size_t width(void)
{
	struct winsize size;
	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL_WIDTH;
}

/* The bytes of a text that fit. How wide a character is the terminal decides: two columns at most. */
static size_t fitting(const char *text, size_t columns)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t length = strlen(text);
	size_t used = 0, at = 0;
	uint32_t point;
	while (at < length) {
		size_t step = utf8_decode(bytes + at, length - at, &point);
		used += step == 1 ? 1 : 2;
		if (step == 0 || used > columns)
			break;
		at += step;
	}
	return at;
}

void live_show(const char *text)
{
	char line[LINE_MAX_BYTES], safe[2 * LINE_MAX_BYTES];
	if (!is_ours())
		return;
	snprintf(line, sizeof line, "%s", text);
	secret_blank_words(line);
	harmless(line, safe, sizeof safe);
	/* The last column stays free: some terminals go to the next line after it. */
	char whole[2 * LINE_MAX_BYTES + 8];
	snprintf(whole, sizeof whole, "\r%.*s\033[K", (int)fitting(safe, width() - 1), safe);
	(void)streams_put_errors(whole, 0);
	shown = true;
}

void live_erase(void)
{
	if (shown && is_ours())
		(void)streams_put_errors("\r\033[K", 0);
	shown = false;
}
