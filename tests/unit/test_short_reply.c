/* SPDX-License-Identifier: MIT */
/* Replies that are told by their bytes, and that they are the same as those of the parser, however the stream
 * is cut. */
#include "net/resp.h"

#include "feed.h"
#include "unit.h"

TEST(whole_replies)
{
	struct rl_reply_value value;
	assert_int_equal(rl_resp_short("+OK\r\n:1", 7, &value), 5);
	assert_int_equal(value.type, RL_REPLY_STATUS);
	assert_string_equal(value.text, "OK");
	assert_int_equal(value.kept, 2);
	assert_int_equal(value.length, 2);
	assert_int_equal(rl_resp_short(":1\r\n", 4, &value), 4);
	assert_int_equal(value.type, RL_REPLY_INTEGER);
	assert_int_equal(value.integer, 1);
	assert_int_equal(rl_resp_short(":0\r\n", 4, &value), 4);
	assert_int_equal(value.type, RL_REPLY_INTEGER);
	assert_int_equal(value.integer, 0);
	assert_int_equal(rl_resp_short("$-1\r\n", 5, &value), 5);
	assert_int_equal(value.type, RL_REPLY_NIL);
}

TEST(everything_else)
{
	static const char *const others[] = {
	    "",          "+",        "+OK",    "+OK\r",       "+OK\n",       "+ok\r\n",
	    "+OKAY\r\n", ":",        ":1",     ":1\r",        ":2\r\n",      ":10\r\n",
	    ":-1\r\n",   ":01\r\n",  "$-1",    "$-1\r",       "$1\r\n1\r\n", "$0\r\n\r\n",
	    "*-1\r\n",   "-ERR\r\n", "OK\r\n", "\r\n+OK\r\n", " +OK\r\n",    "$-2\r\n",
	};
	for (unsigned i = 0; i < COUNT(others); i++) {
		struct rl_reply_value value;
		assert_int_equal(rl_resp_short(others[i], strlen(others[i]), &value), 0);
	}
}

/* ---- beside the parser ---- */

enum { MOST_TEXT = 512 };

/* All replies that are there, as text. False: garbage. */
static bool pull(struct rl_resp *resp, char *text)
{
	const struct rl_reply *reply;
	int got;
	while ((got = rl_resp_next(resp, &reply)) == 1) {
		const struct rl_reply_value *v = &reply->value;
		bool has_text = v->type <= RL_REPLY_ERROR || v->type == RL_REPLY_STRING;
		size_t used = strlen(text);
		assert_true(used + 64 < MOST_TEXT);
		snprintf(text + used, MOST_TEXT - used, "%d %lld %zu/%zu '%s'\n", v->type,
		         v->type == RL_REPLY_INTEGER ? (long long)v->integer : 0, has_text ? v->kept : 0,
		         has_text ? v->length : 0, has_text ? v->text : "");
	}
	return got == 0;
}

/* Reads a stream in pieces that end at `cuts` bytes, at `more` and at its end. */
static void read_cut(const char *stream, size_t cut, size_t more, char *text)
{
	struct rl_resp resp = {0};
	size_t ends[] = {cut, more, strlen(stream)};
	size_t at = 0;
	text[0] = '\0';
	assert_true(rl_resp_open(&resp));
	for (unsigned i = 0; i < COUNT(ends); i++) {
		if (ends[i] > at && (!feed(&resp, stream + at, ends[i] - at) || !pull(&resp, text))) {
			strcat(text, "garbage");
			break;
		}
		at = ends[i];
	}
	rl_resp_close(&resp);
}

/* Byte by byte nothing is whole: all of it goes through the parser. */
static void read_bytes(const char *stream, char *text)
{
	struct rl_resp resp = {0};
	text[0] = '\0';
	assert_true(rl_resp_open(&resp));
	for (const char *at = stream; *at != '\0'; at++) {
		if (!feed(&resp, at, 1) || !pull(&resp, text)) {
			strcat(text, "garbage");
			break;
		}
	}
	rl_resp_close(&resp);
}

TEST(the_same_as_the_parser)
{
	static const char *const streams[] = {
	    "+OK\r\n:1\r\n:0\r\n$-1\r\n+OK\r\n",
	    "+OK\r\n$3\r\nabc\r\n:1\r\n:1234\r\n+OK\r\n-ERR no\r\n$-1\r\n:0\r\n",
	    "$5\r\n+OK\r\n\r\n:1\r\n$4\r\n:1\r\n\r\n+OK\r\n", /* a reply inside of a string does not count */
	    ":1\r\n+PONG\r\n$0\r\n\r\n:01\r\n+OK\r\n",
	    "+OK\r\n:1\r\n!no\r\n+OK\r\n:1\r\n", /* nothing comes after garbage */
	};
	for (unsigned s = 0; s < COUNT(streams); s++) {
		char want[MOST_TEXT];
		size_t size = strlen(streams[s]);
		read_bytes(streams[s], want);
		assert_int_not_equal(want[0], '\0');
		for (size_t cut = 0; cut <= size; cut++) {
			for (size_t more = cut; more <= size; more++) {
				char got[MOST_TEXT];
				read_cut(streams[s], cut, more, got);
				assert_string_equal(got, want);
			}
		}
	}
}

/* Bytes that are fed before the ones before them were looked at. */
TEST(fed_twice)
{
	char text[MOST_TEXT] = "";
	struct rl_resp resp = {0};
	assert_true(rl_resp_open(&resp));
	assert_true(feed(&resp, "+OK\r\n:", 6));
	assert_true(feed(&resp, "1\r\n", 3));
	assert_true(pull(&resp, text));
	assert_string_equal(text, "0 0 2/2 'OK'\n2 1 0/0 ''\n");
	rl_resp_close(&resp);
}

TESTS()
