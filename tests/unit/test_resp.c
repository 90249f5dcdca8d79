/* SPDX-License-Identifier: MIT */
/* Writing commands and reading replies, also the ones that no honest server sends. */
#include "feed.h"

#include "proto/command.h"
#include "unit.h"

/* ---- writing ---- */

static void expect_command(const struct rl_slice *words, unsigned count, const char *want, size_t size)
{
	struct rl_buffer out = {0};
	assert_true(rl_command_write(&out, words, count));
	assert_int_equal(out.size, size);
	assert_memory_equal(out.bytes, want, size);
	rl_buffer_free(&out);
}

#define expect_text(words, want) expect_command((words), COUNT(words), (want), sizeof(want) - 1)

TEST(commands)
{
	struct rl_slice ping[] = {{"PING", 4}};
	expect_text(ping, "*1\r\n$4\r\nPING\r\n");
	struct rl_slice set[] = {{"SET", 3}, {"", 0}, {"a\0\r\nb", 5}};
	expect_text(set, "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5\r\na\0\r\nb\r\n");
	expect_command(NULL, 0, "*0\r\n", 4);
	struct rl_slice many[12];
	for (unsigned i = 0; i < COUNT(many); i++)
		many[i] = (struct rl_slice){"x", 1};
	expect_text(many, "*12\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n"
	                  "$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n");
}

TEST(long_words)
{
	static char name[65536];
	struct rl_buffer out = {0};
	memset(name, 'n', sizeof name);
	name[0] = name[65535] = '\0';
	struct rl_slice words[] = {{"GET", 3}, {name, sizeof name}};
	assert_true(rl_command_write(&out, words, 2));
	static const char head[] = "*2\r\n$3\r\nGET\r\n$65536\r\n";
	assert_int_equal(out.size, sizeof head - 1 + sizeof name + 2);
	assert_memory_equal(out.bytes, head, sizeof head - 1);
	assert_memory_equal(out.bytes + sizeof head - 1, name, sizeof name);
	assert_memory_equal(out.bytes + out.size - 2, "\r\n", 2);
	/* A second command goes after the first. */
	size_t first = out.size;
	assert_true(rl_command_write(&out, words, 1));
	assert_int_equal(out.size, first + 13);
	assert_memory_equal(out.bytes + first, "*1\r\n$3\r\nGET\r\n", 13);
	rl_buffer_free(&out);
}

/* ---- reading ---- */

/* A reply as text, so that whole streams can be compared. */
static void describe_value(char **at, const struct rl_reply_value *v)
{
	switch (v->type) {
	case RL_REPLY_STATUS:
		*at += sprintf(*at, "+%s", v->text);
		break;
	case RL_REPLY_ERROR:
		*at += sprintf(*at, "-%s", v->text);
		break;
	case RL_REPLY_INTEGER:
		*at += sprintf(*at, ":%lld", (long long)v->integer);
		break;
	case RL_REPLY_STRING:
		*at += sprintf(*at, "$%zu/%zu=", v->kept, v->length);
		for (size_t i = 0; i < v->kept; i++)
			*at += sprintf(*at, v->text[i] > ' ' ? "%c" : "<%d>", v->text[i]);
		assert_int_equal(v->text[v->kept], '\0');
		break;
	case RL_REPLY_NIL:
		*at += sprintf(*at, "nil");
		break;
	case RL_REPLY_ARRAY:
		*at += sprintf(*at, "array");
		break;
	}
}

static void describe(char **at, const struct rl_reply *reply)
{
	describe_value(at, &reply->value);
	if (reply->value.type == RL_REPLY_ARRAY) {
		*at += sprintf(*at, "(");
		for (unsigned i = 0; i < reply->count; i++) {
			describe_value(at, &reply->items[i]);
			*at += sprintf(*at, " ");
		}
		*at += sprintf(*at, ")");
	}
	*at += sprintf(*at, ";");
}

/* Takes all whole replies. False: garbage. */
static bool take(struct rl_resp *r, char **at)
{
	const struct rl_reply *reply;
	int got;
	while ((got = rl_resp_next(r, &reply)) == 1)
		describe(at, reply);
	return got == 0;
}

/* Feeds the bytes in pieces that end at the two cuts, and at every `step` bytes. */
static void read_in_pieces(const char *bytes, size_t size, size_t cut, size_t second, size_t step, char *text)
{
	struct rl_resp r = {0};
	size_t from = 0;
	assert_true(rl_resp_open(&r));
	for (size_t to = 1; to <= size; to++) {
		if (to != size && to != cut && to != second && to % step != 0)
			continue;
		if (!feed(&r, bytes + from, to - from) || !take(&r, &text)) {
			sprintf(text, "garbage");
			break;
		}
		from = to;
	}
	rl_resp_close(&r);
}

static const char stream[] = "+OK\r\n"
                             "$-1\r\n"
                             ":1\r\n"
                             ":-9223372036854775808\r\n"
                             "$0\r\n\r\n"
                             "$5\r\na\0\r\nb\r\n"
                             "-NOSCRIPT No matching script.\r\n"
                             "*4\r\n$6\r\nstring\r\n:29700\r\n:3\r\n$3\r\nabc\r\n"
                             "*-1\r\n"
                             "*0\r\n"
                             "*3\r\n$-1\r\n+st\r\n-er\r\n"
                             "+\r\n"
                             ":0\r\n";
static const char stream_text[] = "+OK;nil;:1;:-9223372036854775808;$0/0=;$5/5=a<0><13><10>b;"
                                  "-NOSCRIPT No matching script.;array($6/6=string :29700 :3 $3/3=abc );nil;"
                                  "array();array(nil +st -er );+;:0;";

TEST(several_replies_in_one_feed)
{
	char text[1024];
	read_in_pieces(stream, sizeof stream - 1, 0, 0, SIZE_MAX, text);
	assert_string_equal(text, stream_text);
}

TEST(one_byte_at_a_time)
{
	char text[1024];
	read_in_pieces(stream, sizeof stream - 1, 0, 0, 1, text);
	assert_string_equal(text, stream_text);
}

TEST(split_at_every_position)
{
	char text[1024];
	size_t size = sizeof stream - 1;
	for (size_t cut = 1; cut < size; cut++)
		for (size_t second = cut; second < size; second += 7) {
			read_in_pieces(stream, size, cut, second, SIZE_MAX, text);
			assert_string_equal(text, stream_text);
		}
}

TEST(long_texts_are_cut)
{
	struct rl_resp r = {0};
	const struct rl_reply *reply;
	static char body[20000];
	memset(body, 'v', sizeof body);
	assert_true(rl_resp_open(&r));
	assert_true(feed(&r, "$20000\r\n", 8));
	assert_true(feed(&r, body, sizeof body));
	assert_int_equal(rl_resp_next(&r, &reply), 0);
	assert_true(feed(&r, "\r\n:7\r\n", 6));
	assert_int_equal(rl_resp_next(&r, &reply), 1);
	assert_int_equal(reply->value.type, RL_REPLY_STRING);
	assert_int_equal(reply->value.length, 20000);
	assert_int_equal(reply->value.kept, RL_RESP_ARENA - 1);
	assert_int_equal(reply->value.text[RL_RESP_ARENA - 2], 'v');
	assert_int_equal(reply->value.text[RL_RESP_ARENA - 1], '\0');
	assert_int_equal(rl_resp_next(&r, &reply), 1); /* the next one is whole */
	assert_int_equal(reply->value.integer, 7);
	rl_resp_close(&r);
}

/* The arena is for all elements of a reply together. When it is full, nothing of it can be believed. */
TEST(arena_of_an_array)
{
	struct rl_resp r = {0};
	const struct rl_reply *reply;
	static char body[4000];
	memset(body, 'w', sizeof body);
	assert_true(rl_resp_open(&r));
	for (unsigned i = 0; i < 2; i++) { /* it begins anew with each reply */
		assert_true(feed(&r, "*3\r\n$4000\r\n", 11));
		assert_true(feed(&r, body, sizeof body));
		assert_true(feed(&r, "\r\n$200\r\n", 8));
		assert_true(feed(&r, body, 200));
		assert_true(feed(&r, "\r\n:5\r\n", 6));
		assert_int_equal(rl_resp_next(&r, &reply), 1);
		assert_int_equal(reply->items[0].kept, 4000);
		assert_int_equal(reply->items[1].kept, RL_RESP_ARENA - 4001 - 1);
		assert_int_equal(reply->items[1].length, 200);
		assert_int_equal(reply->items[2].integer, 5);
	}
	assert_true(feed(&r, "*2\r\n$4000\r\n", 11));
	assert_true(feed(&r, body, sizeof body));
	assert_true(feed(&r, "\r\n$200\r\n", 8));
	assert_true(feed(&r, body, 200));
	assert_true(feed(&r, "\r\n", 2));
	assert_int_equal(rl_resp_next(&r, &reply), 1);
	assert_true(feed(&r, "*3\r\n$4095\r\n", 11));
	assert_true(feed(&r, body, 4000));
	assert_true(feed(&r, body, 95));
	assert_true(feed(&r, "\r\n$1\r\nx\r\n$1\r\nx\r\n", 16));
	assert_int_equal(rl_resp_next(&r, &reply), -1);
	rl_resp_close(&r);
}

static void expect_garbage(const char *bytes, size_t size)
{
	char text[1024] = "";
	read_in_pieces(bytes, size, 0, 0, SIZE_MAX, text);
	if (strcmp(text, "garbage") != 0)
		fail_msg("taken: %.40s: %s", bytes, text);
	read_in_pieces(bytes, size, 0, 0, 1, text);
	assert_string_equal(text, "garbage");
}

TEST(garbage)
{
	static const char *const streams[] = {
	    "HTTP/1.1 400 Bad Request\r\n\r\n",
	    "x\r\n",
	    "\r\n\r\n",
	    "*1\r\n*1\r\n:1\r\n",         /* nested */
	    "*2\r\n:1\r\n*0\r\n",         /* nested and empty */
	    "*9\r\n",                     /* more elements than any command of ours asks for */
	    "*1000000\r\n",               /* a promise of a million */
	    "*2147483647\r\n",            /* INT_MAX */
	    "*2147483648\r\n",            /* and one more */
	    "*4294967296\r\n",            /* 0 in 32 bits */
	    "*4294967300\r\n",            /* 4 in 32 bits */
	    "*9223372036854775807\r\n",   /* LLONG_MAX */
	    "*-2\r\n",                    /* less than nothing */
	    "$-2\r\n",                    /* the same for a string */
	    "%1\r\n+a\r\n+b\r\n",         /* RESP3, which nobody asked for */
	    ",3.14\r\n",                  /* a double */
	    "#t\r\n",                     /* a boolean */
	    "(3492890328409238509324\r\n" /* a big number */
	};
	for (unsigned i = 0; i < COUNT(streams); i++)
		expect_garbage(streams[i], strlen(streams[i]));
	expect_garbage("\0\0\0\0\r\n", 6);
	expect_garbage("\x16\x03\x01\x02\x00\x01\x00\r\n", 9); /* TLS */
}

TEST(garbage_after_a_reply)
{
	struct rl_resp r = {0};
	const struct rl_reply *reply;
	assert_true(rl_resp_open(&r));
	assert_true(feed(&r, "+OK\r\n?\r\n", 8));
	assert_int_equal(rl_resp_next(&r, &reply), 1);
	assert_string_equal(reply->value.text, "OK");
	assert_int_equal(rl_resp_next(&r, &reply), -1);
	bool fed = feed(&r, "+OK\r\n", 5);
	assert_true(!fed || rl_resp_next(&r, &reply) == -1);
	rl_resp_close(&r);
}

/* Feeds a beginning, then filler without end. Returns the bytes that were taken before it was garbage. */
static size_t flood(const char *begin)
{
	struct rl_resp r = {0};
	const struct rl_reply *reply;
	static char filler[16384];
	size_t fed = strlen(begin);
	int got;
	memset(filler, 'f', sizeof filler);
	assert_true(rl_resp_open(&r));
	assert_true(feed(&r, begin, fed));
	while ((got = rl_resp_next(&r, &reply)) == 0 && fed < 10000000) {
		assert_true(feed(&r, filler, sizeof filler));
		fed += sizeof filler;
	}
	assert_int_equal(got, -1);
	rl_resp_close(&r);
	return fed;
}

/* A server that promises or sends more than was asked for does not fill our memory. */
TEST(promises_are_bounded)
{
	static const char *const begins[] = {
	    "$536870912\r\n",
	    "$9223372036854775807\r\n",
	    "+endless",
	    "-endless",
	    "*4\r\n$6\r\nstring\r\n$100000000\r\n",
	};
	for (unsigned i = 0; i < COUNT(begins); i++)
		assert_in_range(flood(begins[i]), RL_RESP_UNPARSED, RL_RESP_UNPARSED + 2 * 16384 + 64);
}

/* An array that never ends cannot be: it has eight elements at most, each of them bounded. */
TEST(many_replies_do_not_pile_up)
{
	struct rl_resp r = {0};
	const struct rl_reply *reply;
	assert_true(rl_resp_open(&r));
	for (unsigned i = 0; i < 100000; i++) {
		assert_true(feed(&r, "$10\r\n0123456789\r\n", 17));
		assert_int_equal(rl_resp_next(&r, &reply), 1);
		assert_int_equal(reply->value.length, 10);
	}
	assert_int_equal(rl_resp_next(&r, &reply), 0);
	rl_resp_close(&r);
}

TEST(close_twice)
{
	struct rl_resp r = {0};
	rl_resp_close(&r);
	assert_true(rl_resp_open(&r));
	assert_true(feed(&r, "*2\r\n:1\r\n", 8)); /* half a reply */
	rl_resp_close(&r);
	rl_resp_close(&r);
}

/* Nothing that a server sends may do harm: random bytes, and a good stream with some bytes changed. */
TEST(random_bytes)
{
	struct rng rng = {11};
	static const char likely[] = "+-:$*%,#(0123456789\r\n\r\n\r\nab-";
	for (unsigned round = 0; round < 3000; round++) {
		char bytes[sizeof stream];
		char text[8192];
		size_t size = sizeof stream - 1;
		memcpy(bytes, stream, size);
		if (round % 2 == 0) {
			size = 1 + rng_below(&rng, sizeof bytes - 1);
			for (size_t i = 0; i < size; i++)
				bytes[i] = likely[rng_below(&rng, sizeof likely - 1)];
		}
		for (unsigned i = rng_below(&rng, 4); i > 0; i--)
			bytes[rng_below(&rng, (unsigned)size)] = (char)rng_next(&rng);
		read_in_pieces(bytes, size, 0, 0, 1 + rng_below(&rng, 40), text);
	}
}

TESTS()
