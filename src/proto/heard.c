/* SPDX-License-Identifier: MIT */
#include "proto/heard.h"

#include <stdio.h>

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
		              cut_number(&text, INT32_MAX, &waiting) && cut(&text, &ret->offer) && text.size > 0;
		ret->name = text;
	}
	ret->number = (uint32_t)number;
	ret->waiting = (uint32_t)waiting;
	bool read = alone || ret->handed;
	ret->wanted = ret->handed && number == UINT32_MAX;
	ret->handed &= !ret->wanted;
	return read;
}

/* ---- what becomes of keys ---- */

static size_t begin_channel(char text[RL_HEARD_CHANNEL], unsigned database)
{
	return (size_t)snprintf(text, RL_HEARD_CHANNEL, "__keyspace@%u__:", database);
}

struct rl_slice rl_heard_channel(char text[RL_HEARD_CHANNEL], unsigned database, struct rl_slice name)
{
	size_t size = begin_channel(text, database);
	if (name.size > RL_HEARD_CHANNEL - size)
		return (struct rl_slice){"", 0};
	memcpy(text + size, name.bytes, name.size);
	return (struct rl_slice){text, size + name.size};
}

bool rl_heard_event(struct rl_slice channel, struct rl_slice event, unsigned database, struct rl_heard *ret)
{
	static const char *const ends[] = {"del", "expired", "evicted", "rename_from", "move_from"};
	char begin[RL_HEARD_CHANNEL];
	size_t size = begin_channel(begin, database);
	if (channel.size < size || memcmp(channel.bytes, begin, size) != 0)
		return false;
	*ret = (struct rl_heard){.name = {channel.bytes + size, channel.size - size}};
	for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
		ret->gone |= rl_slice_same(event, rl_slice_of(ends[i]));
	return true;
}
