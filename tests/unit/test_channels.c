/* SPDX-License-Identifier: MIT */
/* Channels of the fake server: its answers, byte for byte as redis-server 7.0 gives them, and what becomes of
 * a message on its way. */
#include "redis.h"
#include "resp.h"
#include "unit.h"

enum { SESSIONS = 2 };

static struct redis redis;
static struct session *sessions[SESSIONS];
static struct buffer arrived[SESSIONS];
static enum redis_fate fate;
static unsigned wrongs;

static void wrong(struct redis *r, const char *what)
{
	wrongs++;
}

static void said(struct redis *r, struct session *s, struct bytes message)
{
	buffer_append(&arrived[s->tag], message.at, message.size);
}

static enum redis_fate fate_of(struct redis *r, const struct session *s)
{
	return fate;
}

static const struct redis_ears ears = {.wrong = wrong, .said = said, .fate = fate_of};

static void begin(void)
{
	redis = (struct redis){.ears = &ears};
	fate = FATE_ARRIVES;
	wrongs = 0;
	for (unsigned i = 0; i < SESSIONS; i++) {
		sessions[i] = redis_accept(&redis);
		sessions[i]->tag = i;
	}
}

static void end(void)
{
	redis_free(&redis);
	for (unsigned i = 0; i < SESSIONS; i++)
		buffer_free(&arrived[i]);
}

static const char *text_of(struct buffer *b)
{
	static char text[1024];
	text[buffer_take(b, text, sizeof text - 1)] = '\0';
	return text;
}

/* A session sends some words, one space apart, and is answered. */
static const char *asks(unsigned session, const char *words)
{
	struct buffer inbox = {0}, out = {0};
	struct bytes list[8];
	unsigned count = 0;
	char copy[256], *rest = NULL;
	snprintf(copy, sizeof copy, "%s", words);
	for (char *at = strtok_r(copy, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest))
		list[count++] = text_bytes(at);
	resp_write(&inbox, list, count);
	redis_serve(&redis, sessions[session], &inbox, UINT32_MAX, &out);
	const char *answer = text_of(&out);
	buffer_free(&inbox);
	buffer_free(&out);
	return answer;
}

#define expect_answer(session, words, want) assert_string_equal(asks(session, words), want)
#define expect_arrived(session, want) assert_string_equal(text_of(&arrived[session]), want)
#define SUBSCRIBED(channel, count) "*3\r\n$9\r\nsubscribe\r\n$1\r\n" channel "\r\n:" count "\r\n"
#define LEFT(channel, count) "*3\r\n$11\r\nunsubscribe\r\n$1\r\n" channel "\r\n:" count "\r\n"
#define MESSAGE "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n5\r\n"

static int publish(const char *channel)
{
	return fake_redis_publish(&redis, text_bytes(channel), text_bytes("5"));
}

TEST(subscribe_and_publish)
{
	assert_int_equal(publish("a"), 0);
	expect_answer(0, "SUBSCRIBE a", SUBSCRIBED("a", "1"));
	expect_answer(0, "SUBSCRIBE a b", SUBSCRIBED("a", "1") SUBSCRIBED("b", "2"));
	expect_answer(1, "SUBSCRIBE a", SUBSCRIBED("a", "1"));
	assert_int_equal(wrongs, 0);
	assert_int_equal(publish("a"), 2);
	expect_arrived(0, MESSAGE);
	expect_arrived(1, MESSAGE);
	redis_forget(&redis, sessions[1]);
	assert_int_equal(publish("a"), 1);
	expect_answer(0, "UNSUBSCRIBE a", LEFT("a", "1"));
	assert_int_equal(publish("a"), 0);
	expect_answer(0, "UNSUBSCRIBE", LEFT("b", "0"));
	expect_answer(0, "UNSUBSCRIBE", "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n");
}

TEST(publish_by_command)
{
	asks(0, "SUBSCRIBE a");
	expect_answer(1, "PUBLISH a 5", ":1\r\n");
	assert_int_equal(wrongs, 1); /* the library's scripts do, but no connection of it */
	expect_arrived(0, MESSAGE);
}

TEST(commands_of_a_subscriber)
{
	expect_answer(0, "PING", "+PONG\r\n");
	asks(0, "SUBSCRIBE a");
	wrongs = 0;
	expect_answer(0, "PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
	expect_answer(0, "PING hi", "*2\r\n$4\r\npong\r\n$2\r\nhi\r\n");
	assert_int_equal(wrongs, 0);
	expect_answer(
	    0, "GET key",
	    "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
	    "allowed in this context\r\n");
	expect_answer(0, "CLIENT ID",
	              "-ERR Can't execute 'client|id': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
	              "RESET are allowed in this context\r\n");
	redis.mode = REDIS_MISCONF;
	assert_int_equal(strncmp(asks(0, "PING"), "-MISCONF", 8), 0);
	redis.mode = REDIS_LOADING;
	expect_answer(1, "SUBSCRIBE a", SUBSCRIBED("a", "1"));
}

TEST(not_permitted)
{
	redis.subscribe_denied = redis.publish_denied = true;
	expect_answer(0, "SUBSCRIBE a",
	              "-NOPERM this user has no permissions to access one of the channels used as arguments\r\n");
	assert_int_equal(publish("a"), -1);
	assert_int_equal(strncmp(asks(1, "PUBLISH a 5"), "-NOPERM", 7), 0);
}

#define TOLD(event) "*3\r\n$7\r\nmessage\r\n$16\r\n__keyspace@0__:k\r\n" event "\r\n"

/* As redis-server does with `notify-keyspace-events Kgx`, for any user. */
TEST(events_of_keys)
{
	redis.publish_denied = redis.keys_denied = true;
	assert_int_equal(strncmp(asks(0, "SUBSCRIBE __keyspace@0__:k"), "-NOPERM", 7), 0);
	redis.keys_denied = false;
	for (int told = 0; told < 2; told++) {
		redis.tells_keys = told;
		asks(0, "SUBSCRIBE __keyspace@0__:k");
		asks(1, "SET k v PX 50");
		asks(1, "SET other v");
		asks(1, "DEL k");
		asks(1, "DEL k");
		expect_arrived(0, told ? TOLD("$6\r\nexpire") TOLD("$3\r\ndel") : "");
		asks(1, "SET k v PX 50");
		redis.now_ms += 51;
		redis_expire(&redis);
		expect_arrived(0, told ? TOLD("$6\r\nexpire") TOLD("$7\r\nexpired") : "");
	}
}

/* The receiver of a closed session counts all the same. */
TEST(fates)
{
	asks(0, "SUBSCRIBE a");
	fate = FATE_LOST;
	assert_int_equal(publish("a"), 1);
	expect_arrived(0, "");
	fate = FATE_TWICE;
	assert_int_equal(publish("a"), 1);
	expect_arrived(0, MESSAGE MESSAGE);
	fate = FATE_LATE;
	assert_int_equal(publish("a") + publish("a"), 2);
	expect_arrived(0, "");
	redis_say_late(&redis);
	expect_arrived(0, MESSAGE MESSAGE);
	redis_say_late(&redis);
	expect_arrived(0, "");
	assert_int_equal(publish("a"), 1); /* and nobody ever hears it */
}

TESTS(.before = begin, .after = end)
