/* SPDX-License-Identifier: MIT */
/*
 * Replies of any shape. A reply that is read and written again gives the same bytes; with fewer of them it is
 * incomplete, and bytes after it change nothing. Input: a server's bytes.
 */
#include "fuzz.h"

#include "proto/tree.h"

enum { MOST_BYTES = 4096, MOST_LEVELS = RL_TREE_DEPTH + 1 };

struct text {
	char bytes[2 * MOST_BYTES];
	size_t size;
};

static void put_number(struct text *t, char mark, long long number)
{
	t->size += (size_t)snprintf(t->bytes + t->size, sizeof t->bytes - t->size, "%c%lld\r\n", mark, number);
}

static void put_bytes(struct text *t, const struct redlock_reply *v)
{
	must(v->text[v->length] == '\0' && t->size + v->length + 2 < sizeof t->bytes);
	memcpy(t->bytes + t->size, v->text, v->length);
	memcpy(t->bytes + t->size + v->length, "\r\n", 2);
	t->size += v->length + 2;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a reply may be */
static void put(struct text *t, const struct redlock_reply *v, unsigned level)
{
	static const char marks[] = " +-:$$*";
	must(v->kind >= REDLOCK_REPLY_STATUS && v->kind <= REDLOCK_REPLY_ARRAY && level < MOST_LEVELS);
	must(v->kind == REDLOCK_REPLY_ARRAY || v->count == 0);
	if (v->kind <= REDLOCK_REPLY_ERROR)
		t->bytes[t->size++] = marks[v->kind];
	else
		put_number(t, marks[v->kind],
		           v->kind == REDLOCK_REPLY_INTEGER  ? (long long)v->integer
		           : v->kind == REDLOCK_REPLY_STRING ? (long long)v->length
		           : v->kind == REDLOCK_REPLY_NIL    ? -1
		                                             : (long long)v->count);
	if (v->kind <= REDLOCK_REPLY_ERROR || v->kind == REDLOCK_REPLY_STRING)
		put_bytes(t, v);
	else
		must(v->length == 0 && v->text[0] == '\0');
	for (size_t i = 0; i < v->count; i++)
		put(t, &v->items[i], level + 1);
}

/* In memory of its own: a sanitizer sees a read of any byte after it. */
static int read_part(const uint8_t *bytes, size_t size, size_t *ret_used, struct redlock_reply **ret)
{
	char *copy = malloc(size + 1);
	must(copy != NULL);
	memcpy(copy + 1, bytes, size);
	int got = rl_tree_read((struct rl_slice){copy + 1, size}, ret_used, ret);
	free(copy);
	return got;
}

/* A null array is told as a null string, and a number may have been written in another way: "-0", "007". */
static bool is_plain(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i + 1 < size; i++)
		if (strchr("+-:$*", bytes[i]) != NULL && (bytes[i + 1] == '0' || bytes[i + 1] == '-'))
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct text text;
	struct redlock_reply *reply;
	size_t used, more;
	if (size == 0 || size > MOST_BYTES || read_part(bytes, size, &used, &reply) != 1)
		return 0;
	must(used > 0 && used <= size);
	text.size = 0;
	put(&text, reply, 0);
	free(reply);
	must(!is_plain(bytes, used) || (text.size == used && memcmp(text.bytes, bytes, used) == 0));
	must(read_part(bytes, used - 1, &more, &reply) == 0);
	must(read_part(bytes, used, &more, &reply) == 1 && more == used);
	free(reply);
	return 0;
}
