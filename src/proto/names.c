/* SPDX-License-Identifier: MIT */
#include "proto/names.h"

#include <string.h>

#include "proto/command.h"

enum { HEAD = 24, TAIL = 2 };

bool rl_names_add(struct rl_buffer *list, struct rl_slice prefix, struct rl_slice name)
{
	if (!rl_buffer_reserve(list, HEAD + prefix.size + name.size + TAIL))
		return false;
	char *at = list->bytes + list->size;
	*at++ = '$';
	at += rl_command_digits(at, prefix.size + name.size);
	memcpy(at, "\r\n", 2);
	if (prefix.size > 0)
		memcpy(at + 2, prefix.bytes, prefix.size);
	memcpy(at + 2 + prefix.size, name.bytes, name.size);
	memcpy(at + 2 + prefix.size + name.size, "\r\n", TAIL);
	list->size = (size_t)(at + 2 + prefix.size + name.size + TAIL - list->bytes);
	return true;
}

bool rl_names_next(struct rl_slice *list, struct rl_slice *ret)
{
	const char *at = list->bytes;
	size_t size = 0;
	if (list->size == 0)
		return false;
	for (at++; *at != '\r'; at++)
		size = size * 10 + (size_t)(*at - '0');
	*ret = (struct rl_slice){at + 2, size};
	const char *behind = at + 2 + size + TAIL;
	*list = (struct rl_slice){behind, list->size - (size_t)(behind - list->bytes)};
	return true;
}
