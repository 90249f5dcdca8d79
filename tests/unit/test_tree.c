/* SPDX-License-Identifier: MIT */
/* Replies of any shape: each one as text, however little of it has come, and bytes that are no reply. */
#include "proto/tree.h"

#include <stdlib.h>

#include "unit.h"

enum { TEXT = 256 };

static void add(char *text, const char *more)
{
	size_t used = strlen(text);
	snprintf(text + used, TEXT - used, "%s", more);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the rows below */
static void put(const struct redlock_reply *v, char *text)
{
	static const char *const begin[] = {"?", "+", "-", ":", "$", "_", "*("};
	char number[24];
	snprintf(number, sizeof number, "%lld", (long long)v->integer);
	assert_int_equal(v->text[v->length], '\0');
	add(text, begin[v->kind]);
	add(text, v->kind == REDLOCK_REPLY_INTEGER ? number : v->text);
	for (size_t i = 0; i < v->count; i++)
		put(&v->items[i], text);
	add(text, v->kind == REDLOCK_REPLY_ARRAY ? ")" : "");
}

/* In memory of exactly this size: the sanitizer sees a read of any byte after it. */
static int read_exactly(const char *bytes, size_t size, size_t *ret_size, struct redlock_reply **ret)
{
	char *copy = malloc(size + 1);
	memcpy(copy + 1, bytes, size);
	int got = rl_tree_read((struct rl_slice){copy + 1, size}, ret_size, ret);
	free(copy);
	return got;
}

TEST(replies)
{
	static const struct {
		const char *bytes, *want;
	} rows[] = {
	    {"+OK\r\n", "+OK"},
	    {"-NOPERM no\r\n", "-NOPERM no"},
	    {":0\r\n", ":0"},
	    {":-9223372036854775807\r\n", ":-9223372036854775807"},
	    {"$0\r\n\r\n", "$"},
	    {"$5\r\na\r\nbc\r\n", "$a\r\nbc"},
	    {"$-1\r\n", "_"},
	    {"*-1\r\n", "_"},
	    {"*0\r\n", "*()"},
	    {"*2\r\n$1\r\n7\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*($7*($a$b))"},
	    {"*3\r\n*1\r\n*1\r\n:1\r\n*0\r\n*2\r\n+x\r\n:2\r\n", "*(*(*(:1))*()*(+x:2))"},
	    {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*0\r\n", "*(*(*(*(*(*(*(*())))))))"},
	};
	for (unsigned r = 0; r < COUNT(rows); r++) {
		char text[TEXT] = "", two[TEXT];
		size_t whole = strlen(rows[r].bytes), size = 0;
		struct redlock_reply *reply = NULL;
		for (size_t cut = 0; cut < whole; cut++)
			assert_int_equal(read_exactly(rows[r].bytes, cut, &size, &reply), 0);
		snprintf(two, sizeof two, "%s:1\r\n", rows[r].bytes);
		assert_int_equal(read_exactly(two, strlen(two), &size, &reply), 1);
		assert_int_equal(size, whole);
		put(reply, text);
		assert_string_equal(text, rows[r].want);
		free(reply);
	}
}

TEST(no_replies)
{
	static const char *const rows[] = {
	    "x",
	    "\r\n",
	    "OK\r\n",
	    "+OK\rx",
	    ":\r\n",
	    ":1x\r\n",
	    ":-\r\n",
	    ": 1\r\n",
	    "$-2\r\n",
	    "$1\r\nab\r\n",
	    "$2000000\r\n",
	    "*-2\r\n",
	    "*x\r\n",
	    "%1\r\n",
	    "*1\r\nx",
	    "*65536\r\n",
	    "*2\r\n*65535\r\n",
	    ":12345678901234567890\r\n",
	    ":9223372036854775808\r\n",
	    "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*0\r\n:1\r\n",
	};
	for (unsigned r = 0; r < COUNT(rows); r++) {
		size_t size;
		struct redlock_reply *reply;
		int got = read_exactly(rows[r], strlen(rows[r]), &size, &reply);
		if (got == 1)
			free(reply);
		if (got != -1)
			fail_msg("row %u: %d", r, got);
	}
}

/* The most that is taken, and what would not end. */
TEST(limits)
{
	size_t size = RL_TREE_BYTES + 64, used;
	char *bytes = malloc(size);
	struct redlock_reply *reply;
	int head = snprintf(bytes, size, "$%u\r\n", RL_TREE_BYTES - 64);
	memset(bytes + head, 'x', size - (size_t)head);
	memcpy(bytes + head + RL_TREE_BYTES - 64, "\r\n", 2);
	assert_int_equal(rl_tree_read((struct rl_slice){bytes, size}, &used, &reply), 1);
	assert_int_equal(reply->length, RL_TREE_BYTES - 64);
	free(reply);
	memcpy(bytes, "+x", 2);
	memset(bytes + 2, 'x', size - 2);
	assert_int_equal(rl_tree_read((struct rl_slice){bytes, RL_TREE_BYTES - 1}, &used, &reply), 0);
	assert_int_equal(rl_tree_read((struct rl_slice){bytes, RL_TREE_BYTES}, &used, &reply), -1);
	free(bytes);
}

TESTS()
