/* SPDX-License-Identifier: MIT */
#include "resp.h"

#include <stdio.h>
#include <strings.h>

struct bytes text_bytes(const char *text)
{
	return (struct bytes){text, strlen(text)};
}

bool word_is(struct bytes word, const char *text)
{
	return word.size == strlen(text) && strncasecmp(word.at, text, word.size) == 0;
}

bool resp_is(const struct words *w, unsigned i, const char *text)
{
	return i < w->count && bytes_equal(w->at[i], text_bytes(text));
}

int64_t word_number(struct bytes word)
{
	int64_t number = 0;
	if (word.size == 0 || word.size > 18)
		return -1;
	for (size_t i = 0; i < word.size; i++) {
		if (word.at[i] < '0' || word.at[i] > '9')
			return -1;
		number = number * 10 + (word.at[i] - '0');
	}
	return number;
}

/* Reads a line that begins with `mark` and a number. Its end; 0: not all there; -1 in *ret_number: not RESP.
 */
static size_t read_number(struct bytes in, size_t at, char mark, int64_t *ret_number)
{
	const char *end = at < in.size ? memchr(in.at + at, '\n', in.size - at) : NULL;
	if (end == NULL)
		return 0;
	size_t stop = (size_t)(end - in.at);
	*ret_number = -1;
	if (in.at[at] == mark && stop >= at + 3 && in.at[stop - 1] == '\r')
		*ret_number = word_number((struct bytes){in.at + at + 1, stop - at - 2});
	return stop + 1;
}

size_t resp_command(const void *bytes, size_t size, struct words *ret)
{
	struct bytes in = {bytes, size};
	int64_t number;
	size_t at = read_number(in, 0, '*', &number);
	if (at == 0)
		return 0;
	if (number < 1 || number > RESP_WORDS)
		return RESP_WRONG;
	ret->count = (unsigned)number;
	for (unsigned i = 0; i < ret->count; i++) {
		at = read_number(in, at, '$', &number);
		if (at == 0)
			return 0;
		if (number < 0)
			return RESP_WRONG;
		size_t length = (size_t)number;
		if (in.size - at < length + 2)
			return 0;
		if (memcmp(in.at + at + length, "\r\n", 2) != 0)
			return RESP_WRONG;
		ret->at[i] = (struct bytes){in.at + at, length};
		at += length + 2;
	}
	return at;
}

void resp_write(struct buffer *to, const struct bytes *words, unsigned count)
{
	char head[32];
	buffer_append(to, head, (size_t)snprintf(head, sizeof head, "*%u\r\n", count));
	for (unsigned i = 0; i < count; i++) {
		buffer_append(to, head, (size_t)snprintf(head, sizeof head, "$%zu\r\n", words[i].size));
		buffer_append(to, words[i].at, words[i].size);
		buffer_append(to, "\r\n", 2);
	}
}
