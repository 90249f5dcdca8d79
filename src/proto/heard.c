/* SPDX-License-Identifier: MIT */
#include "proto/heard.h"

/* Digits, and nothing else. */
static bool read_number(struct rl_slice text, uint64_t most, uint64_t *ret)
{
	uint64_t number = 0;
	for (size_t i = 0; i < text.size; i++) {
		if (text.bytes[i] < '0' || text.bytes[i] > '9')
			return false;
		unsigned digit = (unsigned)(text.bytes[i] - '0');
		if (number > (most - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret = number;
	return text.size > 0;
}

/* Up to the next semicolon, which is taken too. False: there is none. */
static bool cut(struct rl_slice *rest, struct rl_slice *ret)
{
	const char *end = rest->size > 0 ? memchr(rest->bytes, ';', rest->size) : NULL;
	if (end == NULL)
		return false;
	*ret = (struct rl_slice){rest->bytes, (size_t)(end - rest->bytes)};
	rest->bytes = end + 1;
	rest->size -= ret->size + 1;
	return true;
}

static bool cut_number(struct rl_slice *rest, uint64_t most, uint64_t *ret)
{
	struct rl_slice digits;
	return cut(rest, &digits) && read_number(digits, most, ret);
}

bool rl_heard_read(struct rl_slice text, struct rl_heard *ret)
{
	uint64_t number = 0, waiting = 0;
	*ret = (struct rl_heard){.handed = false};
	bool alone = read_number(text, UINT32_MAX, &number);
	if (!alone) {
		ret->handed = cut_number(&text, UINT32_MAX, &number) &&
		              cut_number(&text, UINT64_MAX, &ret->offered_ns) && cut(&text, &ret->token) &&
		              cut_number(&text, UINT32_MAX, &waiting) && cut(&text, &ret->offer) && text.size > 0;
		ret->name = text;
	}
	ret->number = (uint32_t)number;
	ret->waiting = (uint32_t)waiting;
	return alone || ret->handed;
}
