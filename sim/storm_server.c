/* SPDX-License-Identifier: MIT */
/* The nodes of the storm: each answers at once, as a healthy server would. "busy" is somebody else's lock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storm.h"

enum { MAX_WORDS = 16 };

struct command {
	unsigned count;
	const char *word[MAX_WORDS];
	size_t size[MAX_WORDS];
};

/* The number of a line "*3" or "$11" at `at`; moves `at` behind it. False: not all there. */
static bool read_number(const char **at, const char *end, size_t *ret)
{
	const char *stop = memchr(*at, '\n', (size_t)(end - *at));
	if (stop == NULL)
		return false;
	*ret = strtoul(*at + 1, NULL, 10);
	*at = stop + 1;
	return true;
}

/* The size of the first command; 0: not all there. */
static size_t read_command(const struct buffer *in, struct command *ret)
{
	const char *begin = buffer_front(in), *at = begin, *end = begin + in->length;
	size_t number;
	if (in->length == 0 || !read_number(&at, end, &number) || number > MAX_WORDS)
		return 0;
	ret->count = (unsigned)number;
	for (unsigned i = 0; i < ret->count; i++) {
		if (at == end || !read_number(&at, end, &number) || (size_t)(end - at) < number + 2)
			return 0;
		ret->word[i] = at;
		ret->size[i] = number;
		at += number + 2;
	}
	return (size_t)(at - begin);
}

static bool is_word(const struct command *c, unsigned i, const char *text)
{
	return i < c->count && c->size[i] == strlen(text) && memcmp(c->word[i], text, strlen(text)) == 0;
}

static const char *reply_of(const struct command *c, unsigned node, char *buffer, size_t size)
{
	if (is_word(c, 0, "SET"))
		return is_word(c, 1, "busy") ? "$-1\r\n" : "+OK\r\n";
	if (is_word(c, 0, "EVAL") || is_word(c, 0, "EVALSHA") || is_word(c, 0, "CLIENT"))
		return ":1\r\n";
	if (!is_word(c, 0, "INFO"))
		return "-ERR unknown command\r\n";
	snprintf(buffer, size, "$49\r\nrun_id:%040u\r\n\r\n", node);
	return buffer;
}

void storm_answer(struct storm_fd *fd)
{
	struct command command;
	size_t size;
	while ((size = read_command(&fd->up, &command)) > 0) {
		char text[96];
		const char *reply = reply_of(&command, fd->node, text, sizeof text);
		buffer_append(&fd->down, reply, strlen(reply));
		buffer_drop(&fd->up, size);
	}
}
