/* SPDX-License-Identifier: MIT */
/* A reply is read twice: first for its size, then into memory of that size. Both return as rl_tree_read(). */
#include "proto/tree.h"

#include <stdlib.h>

/* ---- one value: its texts stay where they came from, and the values of an array follow it ---- */

static int read_line(struct rl_slice *at, struct rl_slice *ret)
{
	const char *end = at->size > 0 ? memchr(at->bytes, '\r', at->size) : NULL;
	size_t size = end != NULL ? (size_t)(end - at->bytes) : 0;
	if (end == NULL || size + 2 > at->size)
		return 0;
	*ret = (struct rl_slice){at->bytes, size};
	*at = (struct rl_slice){end + 2, at->size - size - 2};
	return end[1] == '\n' ? 1 : -1;
}

static int read_bytes(struct rl_slice *at, size_t size, struct rl_slice *ret)
{
	if (at->size < size + 2)
		return 0;
	*ret = (struct rl_slice){at->bytes, size};
	*at = (struct rl_slice){at->bytes + size + 2, at->size - size - 2};
	return ret->bytes[size] == '\r' && ret->bytes[size + 1] == '\n' ? 1 : -1;
}

static bool read_number(struct rl_slice line, int64_t *ret)
{
	size_t minus = line.size > 0 && line.bytes[0] == '-';
	if (line.size == minus || line.size - minus > 19)
		return false;
	uint64_t number = 0;
	for (size_t i = minus; i < line.size; i++) {
		if (line.bytes[i] < '0' || line.bytes[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(line.bytes[i] - '0');
	}
	if (number > (uint64_t)INT64_MAX)
		return false;
	*ret = minus ? -(int64_t)number : (int64_t)number;
	return true;
}

/* Reads what follows "$" or "*". */
static int read_sized(struct rl_slice *at, int64_t size, struct redlock_reply *ret, struct rl_slice *ret_text)
{
	if (size < -1 || size > RL_TREE_BYTES)
		return -1;
	if (size == -1)
		ret->kind = REDLOCK_REPLY_NIL;
	else if (ret->kind == REDLOCK_REPLY_STRING)
		return read_bytes(at, (size_t)size, ret_text);
	else
		ret->count = (size_t)size;
	return 1;
}

static int read_value(struct rl_slice *at, struct redlock_reply *ret)
{
	static const char marks[] = "+-:$*"; /* in the order of the kinds */
	static const enum redlock_reply_kind kinds[] = {REDLOCK_REPLY_STATUS, REDLOCK_REPLY_ERROR,
	                                                REDLOCK_REPLY_INTEGER, REDLOCK_REPLY_STRING,
	                                                REDLOCK_REPLY_ARRAY};
	if (at->size == 0)
		return 0;
	const char *mark = memchr(marks, at->bytes[0], sizeof marks - 1);
	struct rl_slice rest = {at->bytes + 1, at->size - 1}, line;
	int got = mark != NULL ? read_line(&rest, &line) : -1;
	if (got != 1)
		return got;
	int64_t number = 0;
	struct rl_slice text = {"", 0};
	*ret = (struct redlock_reply){.kind = kinds[mark - marks]};
	if (*mark == '+' || *mark == '-')
		text = line;
	else if (!read_number(line, &number))
		return -1;
	else if (*mark == ':')
		ret->integer = number;
	else
		got = read_sized(&rest, number, ret, &text);
	ret->text = text.bytes;
	ret->length = text.size;
	*at = rest;
	return got;
}

/* ---- all of them ---- */

struct sizes {
	size_t values;
	size_t texts; /* bytes of all of them, with a NUL after each */
};

static int measure(struct rl_slice *at, struct sizes *ret)
{
	struct redlock_reply value;
	*ret = (struct sizes){0};
	for (size_t waiting = 1; waiting > 0; waiting--) {
		int got = read_value(at, &value);
		if (got != 1)
			return got;
		ret->values++;
		ret->texts += value.length + 1;
		waiting += value.count;
		if (ret->values + waiting > RL_TREE_VALUES)
			return -1;
	}
	return 1;
}

struct level {
	struct redlock_reply *next, *end;
};

/* False: it is too deep. The values of an array stand together, in front of those of the arrays in it. */
static bool fill(struct rl_slice at, struct redlock_reply *values, char *texts)
{
	struct level levels[RL_TREE_DEPTH] = {{values, values + 1}};
	struct redlock_reply *unused = values + 1;
	for (unsigned depth = 0;;) {
		struct level *level = &levels[depth];
		if (level->next == level->end) {
			if (depth-- == 0)
				return true;
			continue;
		}
		struct redlock_reply *value = level->next++;
		if (read_value(&at, value) != 1)
			return false; /* it was measured */
		memcpy(texts, value->text, value->length);
		value->text = texts;
		texts[value->length] = '\0';
		texts += value->length + 1;
		if (value->count == 0)
			continue;
		if (++depth == RL_TREE_DEPTH)
			return false;
		value->items = unused;
		levels[depth] = (struct level){unused, unused + value->count};
		unused += value->count;
	}
}

int rl_tree_read(struct rl_slice bytes, size_t *ret_size, struct redlock_reply **ret)
{
	struct rl_slice behind = bytes;
	struct sizes sizes;
	int got = measure(&behind, &sizes);
	if (bytes.size - behind.size > RL_TREE_BYTES || (got == 0 && bytes.size >= RL_TREE_BYTES))
		return -1;
	if (got != 1)
		return got;
	struct redlock_reply *values = malloc(sizes.values * sizeof *values + sizes.texts);
	if (values == NULL)
		return -1;
	if (!fill(bytes, values, (char *)(values + sizes.values))) {
		free(values);
		return -1;
	}
	*ret_size = bytes.size - behind.size;
	*ret = values;
	return 1;
}
