/* SPDX-License-Identifier: MIT */
/* Texts to values and back. */
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char value_out_of_range[] = "out of range";
const char value_unknown_word[] = "unknown word";

/* Digits at the start of the text. Returns what follows them, or NULL when there are none or too many. */
static const char *digits(const char *text, uint64_t *ret)
{
	uint64_t value = 0;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return NULL;
		value = value * 10 + digit;
	}
	*ret = value;
	return at == text ? NULL : at;
}

const char *value_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t value;
	const char *rest = digits(text, &value);
	if (rest == NULL || *rest)
		return "not a number";
	if (value < min || value > max)
		return value_out_of_range;
	*ret = value;
	return NULL;
}

const char *value_word(const char *text, const char *words, uint64_t *ret)
{
	size_t size = strlen(text);
	for (uint64_t number = 0; *words != '\0'; number++) {
		size_t length = strcspn(words, "|");
		if (length == size && memcmp(words, text, size) == 0) {
			*ret = number;
			return NULL;
		}
		words += length + (words[length] == '|');
	}
	return value_unknown_word;
}

void value_word_at(const char *words, uint64_t number, char *buffer, size_t size)
{
	for (; number > 0; number--)
		words += strcspn(words, "|") + 1;
	snprintf(buffer, size, "%.*s", (int)strcspn(words, "|"), words);
}

const char *value_words_text(const char *words, char *buffer, size_t size)
{
	size_t used = 0;
	buffer[0] = '\0';
	for (const char *before = ""; *words != '\0' && used < size;) {
		size_t length = strcspn(words, "|");
		used += (size_t)snprintf(buffer + used, size - used, "%s%.*s", before, (int)length, words);
		words += length + (words[length] == '|');
		before = strchr(words, '|') != NULL ? ", " : " or ";
	}
	return buffer;
}

const char *value_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *ret_ms)
{
	uint64_t whole = 0, ms = 0;
	const char *rest = text[0] == '.' && text[1] != '\0' ? text : digits(text, &whole);
	bool beyond = false; /* digits after the milliseconds that are not 0 */
	if (rest == NULL || (*rest != '\0' && *rest != '.'))
		return "not a number of seconds, as 5 or 0.25";
	if (*rest == '.') {
		uint64_t unit = 100;
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10) {
			ms += unit * (uint64_t)(*rest - '0');
			beyond = beyond || (unit == 0 && *rest != '0');
		}
		if (*rest != '\0')
			return "not a number of seconds, as 5 or 0.25";
	}
	/* Less than a millisecond counts as 0: a wait of 1 ms would cut the only attempt short. */
	ms += beyond && whole + ms > 0;
	if (whole > (UINT64_MAX - ms) / 1000 || whole * 1000 + ms < min || whole * 1000 + ms > max)
		return value_out_of_range;
	*ret_ms = whole * 1000 + ms;
	return NULL;
}

bool text_list_add(struct text_list *list, const char *text)
{
	char **items = realloc(list->items, (list->count + 1) * sizeof *items);
	if (items == NULL)
		return false;
	list->items = items;
	items[list->count] = strdup(text);
	if (items[list->count] == NULL)
		return false;
	list->count++;
	return true;
}

char *text_list_join(const struct text_list *list, char *buffer, size_t size)
{
	size_t used = 0;
	buffer[0] = '\0';
	for (size_t i = 0; i < list->count && used < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%s%s", i > 0 ? "," : "", list->items[i]);
	return buffer;
}

void text_list_free(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		explicit_bzero(list->items[i], strlen(list->items[i]));
		free(list->items[i]);
	}
	free(list->items);
	list->items = NULL;
	list->count = 0;
}
