/* SPDX-License-Identifier: MIT */
/* Answers by the first two letters of the command. Requests come whole: the library sends all it has. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(struct server *s, const char *text)
{
	size_t size = strlen(text);
	if (s->tail + size > sizeof s->answers)
		abort();
	memcpy(s->answers + s->tail, text, size);
	s->tail += size;
}

static void answer(struct server *s, const char *command)
{
	char info[64];
	if (s->silent)
		return;
	if (strncmp(command, "SET", 3) == 0) {
		say(s, "+OK\r\n");
	} else if (strncmp(command, "EV", 2) == 0 || strncmp(command, "CL", 2) == 0) {
		say(s, ":1\r\n");
	} else if (strncmp(command, "IN", 2) == 0) { /* its identity: no two servers have the same */
		snprintf(info, sizeof info, "$49\r\nrun_id:%040u\r\n\r\n", s->number);
		say(s, info);
	} else if (strncmp(command, "CO", 2) == 0) { /* it has neither of the commands that are asked for */
		say(s, "*2\r\n*-1\r\n*-1\r\n");
	} else {
		abort(); /* a command that the library did not use when this was written */
	}
}

static const char *skip_line(const char *at, const char *end)
{
	const char *line_end = memchr(at, '\n', (size_t)(end - at));
	if (line_end == NULL)
		abort();
	return line_end + 1;
}

void server_take(struct server *s, const char *bytes, size_t size)
{
	const char *end = bytes + size;
	for (const char *at = bytes; at < end;) {
		long words = strtol(at + 1, NULL, 10);
		const char *command = NULL;
		at = skip_line(at, end);
		for (long i = 0; i < words; i++) {
			long word_size = strtol(at + 1, NULL, 10);
			at = skip_line(at, end);
			command = i == 0 ? at : command;
			at += word_size + 2;
		}
		if (command == NULL || at > end)
			abort();
		answer(s, command);
	}
}

size_t server_give(struct server *s, char *bytes, size_t size)
{
	size_t waiting = s->tail - s->head;
	size_t given = waiting < size ? waiting : size;
	memcpy(bytes, s->answers + s->head, given);
	s->head += given;
	if (s->head == s->tail)
		s->head = s->tail = 0;
	return given;
}

bool server_has_answers(const struct server *s)
{
	return s->head < s->tail;
}

void server_reset(struct server *s)
{
	s->head = s->tail = 0;
}
