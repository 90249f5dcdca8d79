/* SPDX-License-Identifier: MIT */
#include "words.h"

#include "fuzz.h"

/* "<mark><digits>\r\n" at `*at`. False: not all of it is there. */
static bool number(const char *bytes, size_t size, size_t *at, char mark, size_t *ret)
{
	size_t i = *at;
	size_t value = 0;
	if (i >= size)
		return false;
	must(bytes[i] == mark);
	size_t first = ++i;
	for (; i < size && bytes[i] != '\r'; i++) {
		must(bytes[i] >= '0' && bytes[i] <= '9' && i - first < 10);
		value = value * 10 + (size_t)(bytes[i] - '0');
	}
	if (i + 1 >= size)
		return false;
	must(i > first && bytes[i + 1] == '\n');
	*at = i + 2;
	*ret = value;
	return true;
}

size_t words_parse(const char *bytes, size_t size, struct words *ret)
{
	size_t at = 0;
	size_t count;
	*ret = (struct words){0};
	if (!number(bytes, size, &at, '*', &count))
		return 0;
	must(count >= 1 && count <= WORDS_MAX);
	for (size_t i = 0; i < count; i++) {
		size_t length;
		if (!number(bytes, size, &at, '$', &length) || size - at < length + 2)
			return 0;
		ret->at[i] = (struct rl_slice){bytes + at, length};
		must(memcmp(bytes + at + length, "\r\n", 2) == 0);
		at += length + 2;
	}
	ret->count = (unsigned)count;
	ret->complete = true;
	return at;
}

bool words_is(const struct words *words, unsigned i, const char *text)
{
	return i < words->count && words->at[i].size == strlen(text) &&
	       memcmp(words->at[i].bytes, text, strlen(text)) == 0;
}
