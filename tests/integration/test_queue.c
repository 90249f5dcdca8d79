/* SPDX-License-Identifier: MIT */
/* The scripts that keep the queue of waiters, by themselves: which waiter goes first, and the fate of waiters
 * that do not come. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "child.h"
#include "client.h"
#include "fixture.h"
#include "scripts.h"

#define A "aaaaaaaaaaaaaaaa.1"
#define B "bbbbbbbbbbbbbbbb.22"
#define C "cccccccccccccccc.3"
#define OFFER_A A " 7000 30000 t1"
#define OFFER_B B " 9000 30000 t2"

enum { PATIENCE_MS = 1000 }; /* a busy machine may take some of it between two calls */

static const char *name = "job", *queue = "{job}:redlock:queue", *offers = "{job}:redlock:offers";
static const char *offered = "0"; /* with the next ENTER; 0: nothing */
static const char *ttl_ms = "30000";
static struct raw ears;

/* Runs a script; the items of its answer, one to a line. */
static const char *run(enum rl_script script, const char *token, const char *place)
{
	static struct raw_reply reply;
	const char *ttl = script == RL_SCRIPT_ENTER ? ttl_ms : NULL;
	char patience[48];
	bool enter = script == RL_SCRIPT_ENTER;
	snprintf(patience, sizeof patience, "%d%s%s", PATIENCE_MS, enter ? " " : "", enter ? offered : "");
	bool vacate = script == RL_SCRIPT_VACATE, hand = script == RL_SCRIPT_HAND;
	struct raw_arg args[11] = {
	    {"EVAL", 4}, {rl_scripts[script].text, rl_scripts[script].length}, {vacate ? "2" : "3", 1}};
	const char *const words[] = {name,
	                             queue,
	                             vacate ? NULL : offers,
	                             token,
	                             ttl,
	                             vacate ? NULL : place,
	                             vacate || hand ? NULL : patience};
	size_t count = 3;
	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (words[i] != NULL)
			args[count++] = (struct raw_arg){words[i], strlen(words[i])};
	const char *text = server_call(&servers.server[0], args, count, &reply);
	assert_int_not_equal(reply.type, '-');
	return text;
}

/* Verdict, how many wait and the own place of an enter. */
static void expect_enter(const char *token, const char *place, int taken, int waiting, int stands)
{
	int verdict = -1, count = -1, at = -1;
	long long left;
	char quoted[64];
	const char *answer = run(RL_SCRIPT_ENTER, token, place);
	assert_int_equal(sscanf(answer, "%d %d %lld %d %63s", &verdict, &count, &left, &at, quoted), 5);
	assert_string_equal(quoted, token);
	assert_int_equal(verdict, taken);
	assert_int_equal(count, waiting);
	assert_int_equal(at, stands);
}

static void expect_leave(const char *token, const char *place, const char *answer)
{
	assert_string_equal(run(RL_SCRIPT_LEAVE, token, place), answer);
}

static void expect_vacate(const char *token, const char *answer)
{
	assert_string_equal(run(RL_SCRIPT_VACATE, token, NULL), answer);
}

static void listen_to(const char *place)
{
	char channel[64];
	struct raw_reply reply;
	snprintf(channel, sizeof channel, "redlock:wake:%.16s", place);
	struct raw_arg args[] = {{"SUBSCRIBE", 9}, {channel, strlen(channel)}};
	assert_int_equal(raw_send(&ears, args, 2), 0);
	assert_int_equal(raw_receive(&ears, &reply), 0);
}

/* The next message is this one, to who has this place. */
static void expect_heard(const char *place, const char *text)
{
	char want[128];
	struct raw_reply reply;
	snprintf(want, sizeof want, "message\nredlock:wake:%.16s\n%s", place, text);
	assert_int_equal(raw_receive(&ears, &reply), 0);
	if (reply.length > 0 && reply.text[strlen(reply.text) - 1] == '\n')
		reply.text[strlen(reply.text) - 1] = '\0';
	assert_string_equal(reply.text, want);
}

static void expect_woken(const char *place)
{
	expect_heard(place, place + 17);
}

static void expect_silence(void)
{
	struct raw_reply reply;
	struct raw_arg ping = {"PING", 4};
	assert_int_equal(raw_send(&ears, &ping, 1), 0);
	assert_int_equal(raw_receive(&ears, &reply), 0);
	assert_memory_equal(reply.text, "pong", 4);
}

/* All three wait for the key of another one. */
static void line_up(void)
{
	expect_enter("t0", "", 1, 0, 0);
	expect_enter("t1", A, 0, 1, 1);
	expect_enter("t2", B, 0, 2, 2);
	expect_enter("t3", C, 0, 3, 3);
	expect_enter("t2", B, 0, 3, 2); /* it stands there already */
}

/* A and B wait for the key of t0, with offers. */
static void offer(void)
{
	server_must(&servers.server[0], "OK", "FLUSHALL", NULL);
	expect_enter("t0", "", 1, 0, 0);
	offered = "7000";
	expect_enter("t1", A, 0, 1, 1);
	offered = "9000";
	expect_enter("t2", B, 0, 2, 2);
	offered = "0";
}

static void expect_hand(const char *token, const char *to, const char *answer)
{
	assert_string_equal(run(RL_SCRIPT_HAND, token, to), answer);
}

static void before(void)
{
	server_must(&servers.server[0], "OK", "FLUSHALL", NULL);
	assert_int_equal(raw_open(&ears, servers.server[0].socket, WAIT_SOON_MS), 0);
}

static void after(void)
{
	server_must(&servers.server[0], "OK", "REPLICAOF", "NO", "ONE", NULL);
	server_must(&servers.server[0], "OK", "CONFIG", "SET", "maxmemory", "0", NULL);
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "default", "+publish", "+pexpire", NULL);
	raw_close(&ears);
}

static void all_listen(void)
{
	listen_to(A);
	listen_to(B);
	listen_to(C);
}

TEST(order_of_arrival)
{
	all_listen();
	line_up();
	expect_vacate("t9", "-1");
	expect_vacate("t0", "2");
	expect_leave("t0", "", "0");
	expect_woken(A);
	expect_enter("t3", C, 0, 3, 3); /* the key is free, and it is not its turn */
	expect_enter("t1", A, 1, 2, 0);
	expect_enter("t2", B, 0, 2, 1);
	expect_leave("t1", A, "2");
	expect_woken(B);
	expect_enter("t2", B, 1, 1, 0);
	expect_leave("t2", "", "2");
	expect_woken(C);
	expect_enter("t3", C, 1, 0, 0);
	assert_false(server_has(&servers.server[0], queue));
	expect_leave("t3", "", "1");
	expect_enter("t4", "", 1, 0, 0);
	expect_vacate("t4", "1");
}

/* Nobody hears the message: the next waiter is woken, and dead ones lose their places. */
TEST(dead_heads_are_passed_over)
{
	listen_to(C);
	line_up();
	expect_leave("t0", "", "2");
	expect_woken(C);
	expect_enter("t3", C, 1, 0, 0);
}

TEST(a_woken_head_has_its_time)
{
	all_listen();
	line_up();
	expect_leave("t0", "", "2");
	expect_woken(A);
	expect_enter("t3", C, 0, 3, 3);
	wait_ms(PATIENCE_MS + 20);
	expect_enter("t3", C, 0, 2, 2);
	expect_woken(B);
	expect_enter("t1", A, 0, 3, 3); /* after the others */
	expect_enter("t2", B, 1, 2, 0);
}

/* Somebody else has the key when it comes: it still goes first, and is woken again. */
TEST(a_woken_head_that_is_late)
{
	all_listen();
	line_up();
	expect_leave("t0", "", "2");
	expect_woken(A);
	server_must(&servers.server[0], "OK", "SET", name, "barger", NULL);
	expect_enter("t1", A, 0, 3, 1);
	wait_ms(PATIENCE_MS + 20);
	expect_enter("t2", B, 0, 3, 2);
	server_must(&servers.server[0], "1", "DEL", name, NULL);
	expect_enter("t2", B, 0, 3, 2);
	expect_woken(A);
	expect_enter("t1", A, 1, 2, 0);
}

/* Neither a DEL of another client nor an expiry wakes anybody: the next who asks does. */
TEST(the_key_goes_by_itself)
{
	struct raw_reply reply;
	all_listen();
	line_up();
	server_must(&servers.server[0], "1", "DEL", name, NULL);
	expect_enter("t3", C, 0, 3, 3);
	expect_woken(A);
	expect_enter("t1", A, 1, 2, 0);
	server_ask(&servers.server[0], &reply, "PEXPIRE", name, "1", NULL);
	wait_ms(20);
	expect_enter("t4", "", 0, 2, 0); /* also who stands nowhere */
	expect_woken(B);
	expect_leave("t9", B, "0"); /* gives up: the next one is woken for it */
	expect_woken(C);
	expect_enter("t3", C, 1, 0, 0);
}

/* An entry that another version has written is dropped when it is first, and its owner is woken. */
TEST(unknown_entries)
{
	listen_to(A);
	listen_to(B);
	server_must(&servers.server[0], "OK", "SET", queue, "??;2w" A " new;1h" B " x y;1w" C "  ;", NULL);
	expect_enter("t1", A, 1, 0, 0); /* C does not listen */
	expect_woken(A);
	expect_woken(B);
	server_must(&servers.server[0], "OK", "SET", queue, "no queue at all", NULL);
	expect_leave("t1", "", "1");
	assert_false(server_has(&servers.server[0], queue));
	server_must(&servers.server[0], "1", "RPUSH", queue, "x", NULL);
	expect_enter("t1", A, 1, 0, 0);
	expect_enter("t2", B, 0, 1, 1);
	assert_true(server_pttl(&servers.server[0], queue) > 0);
}

/* A user that may write the queue's key cannot keep the server busy with it, as it would be if each digit
 * were tried with each. */
TEST(an_endless_entry)
{
	static char entry[30000] = "1wab.";
	memset(entry + 5, '1', sizeof entry - 6);
	uint64_t since_ns = wait_now_ns();
	for (int i = 0; i < 2; i++) {
		server_must(&servers.server[0], "OK", "SET", queue, entry, NULL);
		if (i == 0)
			expect_leave("t1", A, "0");
		else
			expect_enter("t1", A, 1, 0, 0);
	}
	assert_true(wait_elapsed_ms(since_ns) < 2000);
}

TEST(a_queue_always_ends)
{
	struct raw_reply reply;
	static const char *const places[] = {A, B, A};
	expect_enter("t0", "", 1, 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		server_ask(&servers.server[0], &reply, "PERSIST", queue, NULL);
		run(RL_SCRIPT_ENTER, "t1", places[i]);
		assert_true(server_pttl(&servers.server[0], queue) > 50000);
	}
	server_ask(&servers.server[0], &reply, "PERSIST", queue, NULL);
	expect_leave("t9", A, "0");
	assert_true(server_pttl(&servers.server[0], queue) > 50000);
}

/* A user that may not set an offer's end leaves no offer. */
TEST(offers_always_end)
{
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "default", "-pexpire", NULL);
	offered = "7";
	expect_enter("t0", "", 1, 0, 0);
	expect_enter("t1", A, 0, 1, 1);
	offered = "0";
	assert_false(server_has(&servers.server[0], offers));
	expect_leave("t9", "", "0");
	assert_false(server_has(&servers.server[0], offers));
	run(RL_SCRIPT_HAND, "t9", "");
	assert_false(server_has(&servers.server[0], offers));
}

/* Else every later waiter would be told it again; and a waiter that is woken in vain comes at once. */
TEST(a_mark_that_cannot_be_stored_is_not_told)
{
	struct server *server = &servers.server[0];
	listen_to(A);
	line_up();
	server_must(server, "1", "DEL", name, NULL);
	server_must(server, "OK", "REPLICAOF", "127.0.0.1", "1", NULL);
	expect_leave("t9", "", "0");
	expect_leave("t9", C, "0");
	expect_silence();
	server_must(server, "OK", "REPLICAOF", "NO", "ONE", NULL);
	server_must(server, "OK", "CONFIG", "SET", "maxmemory", "1", NULL);
	expect_leave("t9", "", "0");
	expect_woken(A);
	expect_leave("t9", "", "0");
	expect_leave("t9", C, "0");
	expect_enter("t2", B, 0, 2, 2);
	expect_silence();
}

/* As if it could not be told 50 ms before the end of its time. */
static void nearly_over(void)
{
	static const char script[] = "local t = redis.call('time') return redis.call('set', KEYS[1], "
	                             "string.format('1w%-27s 0%d;1w%-27s ;', ARGV[1], t[1] * 1000 + "
	                             "math.floor(t[2] / 1000) + 50, ARGV[2]), 'px', 60000)";
	server_must(&servers.server[0], "OK", "EVAL", script, "1", queue, B, C, NULL);
	wait_ms(70);
}

/* Nobody may wake anybody: what is released is released. The first one was not told, so it has time to ask by
 * itself; but not for ever. */
TEST(publish_is_forbidden)
{
	line_up();
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "default", "-publish", NULL);
	expect_leave("t0", "", "2");
	assert_false(server_has(&servers.server[0], name));
	wait_ms(PATIENCE_MS + 20);
	expect_enter("t3", C, 0, 3, 3); /* A was not woken, and is not late */
	server_must(&servers.server[0], "OK", "SET", name, "barger", NULL);
	expect_enter("t1", A, 0, 3, 1); /* it lives */
	server_must(&servers.server[0], "1", "DEL", name, NULL);
	expect_enter("t3", C, 0, 3, 3);
	expect_enter("t1", A, 1, 2, 0);
	expect_leave("t1", "", "2");
	expect_enter("t3", C, 0, 2, 2);
	nearly_over();
	expect_enter("t3", C, 1, 0, 0); /* B had its time */
}

/* A waiter that could not be told is told by a user that may do so. */
TEST(publish_is_forbidden_to_some)
{
	all_listen();
	line_up();
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "default", "-publish", NULL);
	expect_leave("t0", "", "2");
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "default", "+publish", NULL);
	expect_silence();
	expect_enter("t3", C, 0, 3, 3);
	expect_woken(A);
	wait_ms(PATIENCE_MS + 20);
	expect_enter("t3", C, 0, 2, 2); /* now it is late */
	expect_woken(B);
	nearly_over();
	expect_enter("t3", C, 0, 2, 2);
	expect_woken(B); /* asked, and heard: it is not gone */
}

TEST(names_of_any_bytes)
{
	static const char *const names[][2] = {
	    {"{tag}%w.-[^", "{tag}%w.-[^:redlock:queue"},
	    {"\x01\xff;1w%b()\r\n ", "{\x01\xff;1w%b()\r\n }:redlock:queue"},
	};
	all_listen();
	for (unsigned i = 0; i < 2; i++) {
		name = names[i][0];
		queue = names[i][1];
		line_up();
		expect_leave("t0", "", "2");
		expect_woken(A);
		expect_enter("t1", A, 1, 2, 0);
		expect_leave("t1", B, "2");
		expect_woken(C);
		expect_enter("t3", C, 1, 0, 0);
	}
	name = "job";
	queue = "{job}:redlock:queue";
}

TEST(a_thousand_wait)
{
	char place[64];
	expect_enter("t0", "", 1, 0, 0);
	for (int i = 1; i <= 1000; i++) {
		snprintf(place, sizeof place, "%016x.%d", i * 77, i % 10);
		expect_enter("t", place, 0, i, i);
	}
	snprintf(place, sizeof place, "%016x.%d", 500 * 77, 0);
	expect_enter("t", place, 0, 1000, 500);
	listen_to(place);
	expect_leave("t0", "", "2"); /* all before it are gone */
	expect_woken(place);
	expect_enter("t", place, 1, 500, 0);
}

/* The heir's ENTER finds its key then: it lengthens the key's life, and never shortens it. */
TEST(the_key_is_handed_over)
{
	struct raw_reply reply;
	all_listen();
	offer();
	expect_hand("t0", OFFER_A, "1");
	expect_heard(A, "1;7000;t1;1;" OFFER_B ";job");
	assert_true(server_pttl(&servers.server[0], name) > 20000);
	for (int i = 0; i < 2; i++) {
		server_ask(&servers.server[0], &reply, "PEXPIRE", name, i == 0 ? "1000" : "90000", NULL);
		expect_enter("t1", A, 1, 1, 0);
		assert_true(server_pttl(&servers.server[0], name) > (i == 0 ? 20000 : 80000));
	}
	expect_hand("t1", OFFER_B, "1");
	expect_heard(B, "22;9000;t2;0;;job");
	assert_false(server_has(&servers.server[0], queue));
}

/* Nobody can tell it, or its offer has ended, or it is not in line: that is a release. */
TEST(a_waiter_that_does_not_come_is_not_handed_it)
{
	static const char *const to[] = {OFFER_A, OFFER_B, C " 1 30000 t3", ""};
	listen_to(B);
	listen_to(C);
	for (unsigned i = 0; i < 4; i++) {
		offer();
		expect_leave("t2", "", "0"); /* as who gives up */
		expect_hand("t0", to[i], "2");
		assert_false(server_has(&servers.server[0], name));
		expect_silence();
	}
}

/* The owner of an old offer may be gone. */
TEST(an_old_offer_is_not_told)
{
	listen_to(A);
	for (int old = 0; old < 2; old++) {
		offer();
		server_must(&servers.server[0], "1", "DEL", name, NULL);
		if (old)
			server_must(&servers.server[0], "0", "HSET", offers, B, "1 9000 30000 t2", NULL);
		assert_int_equal(strstr(run(RL_SCRIPT_ENTER, "t1", A), OFFER_B) == NULL, old);
	}
	offer();
	server_must(&servers.server[0], "0", "HSET", offers, B, "1 9000 30000 t2", NULL);
	expect_hand("t0", OFFER_A, "1");
	expect_heard(A, "1;7000;t1;1;;job");
}

/* By the time that the holder uses it, an offer may be as old as an eighth of the holder's TTL, or a second.
 */
TEST(an_offer_is_told_to_whom_it_outlasts)
{
	static const struct {
		const char *holder, *heir;
		bool told;
	} rows[] = {
	    {"1000", "1000", true}, {"1000", "999", false}, {"30000", "8000", true}, {"30000", "7999", false}};
	listen_to(B);
	offered = "7";
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char next[128];
		struct raw_reply reply;
		ttl_ms = rows[i].holder;
		expect_enter("t0", "", 1, 0, 0);
		expect_enter("t1", A, 0, 1, 1);
		ttl_ms = rows[i].heir;
		expect_enter("t2", C, 0, 2, 2);
		ttl_ms = rows[i].holder;
		server_must(&servers.server[0], "1", "DEL", name, NULL);
		snprintf(next, sizeof next, C " 7 %s t2", rows[i].heir);
		assert_true((strstr(run(RL_SCRIPT_ENTER, "t1", A), next) != NULL) == rows[i].told);
		expect_enter("t3", B, 0, 2, 2);
		expect_leave("t1", C, "2");
		expect_woken(B);
		server_must(&servers.server[0], "OK", "SET", name, "t4", NULL);
		expect_enter("t3", B, 0, 1, 1);
		ttl_ms = rows[i].heir;
		expect_enter("t2", C, 0, 2, 2);
		snprintf(next, sizeof next, B " 7 %s t3", rows[i].holder);
		assert_string_equal(run(RL_SCRIPT_HAND, "t4", next), "1");
		assert_int_equal(raw_receive(&ears, &reply), 0);
		snprintf(next, sizeof next, ";" C " 7 %s t2;job", rows[i].heir);
		assert_true((strstr(reply.text, next) != NULL) == rows[i].told);
		expect_leave("t3", C, "1");
	}
	offered = "0";
	ttl_ms = "30000";
}

/* A user that may publish to a client may name any key and value: only a token that the client can have made
 * (its first digits are the channel's), and that it does not hold, is given back. */
TEST(lies_delete_nothing)
{
	const struct server *s = &servers.server[0];
	char ours[128], lie[256];
	own_client *client = fixture_open(servers.urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, "job", WAIT_LONG_TTL_MS, WAIT_LONG_TTL_MS);
	server_must(s, "OK", "SET", "job", "another", NULL);
	expect_ok(lock, redlock_start_acquire(lock));
	assert_driven(client, rl_nodes_heard(&client->nodes) == 1);
	struct fixture_token token = fixture_token(lock);
	own_lock *holder = fixture_held(client, "held", WAIT_LONG_TTL_MS, 0);
	struct fixture_token held = fixture_token(holder);
	snprintf(ours, sizeof ours, "%.16s%0*d%s", strrchr(client->places.channel, ':') + 1, 24, 0,
	         token.text + 40);
	const char *const values[] = {"1", "", "0123456789abcdef0123456789abcdef01234567", held.text, ours};
	const char *const names[] = {"known", "empty", "alike", "held", "last"};
	for (unsigned i = 0; i < 5; i++) {
		server_must(s, "OK", "SET", names[i], values[i], NULL);
		snprintf(lie, sizeof lie, "99999;1;%s;0;;%s", values[i], names[i]);
		server_must(s, "1", "PUBLISH", client->places.channel, lie, NULL);
	}
	assert_driven(client, !server_has(s, "last"));
	assert_true(server_has(s, "known") && server_has(s, "empty") && server_has(s, "alike") &&
	            server_has(s, "held"));
}

/* A message that comes late for the last call must not be taken for one to this: their places differ. */
TEST(each_call_has_a_place_of_its_own)
{
	const struct server *s = &servers.server[0];
	char places[2][RL_PLACES_TEXT] = {"", ""};
	own_client *client = fixture_open(servers.urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, name, WAIT_LONG_TTL_MS, WAIT_LONG_TTL_MS);
	server_must(s, "OK", "SET", name, "another", NULL);
	for (unsigned i = 0; i < 2; i++) {
		struct raw_reply reply;
		struct redlock_event event = {.size = sizeof event};
		expect_ok(lock, redlock_start_acquire(lock));
		assert_driven(client, server_has(s, queue));
		(void)rl_places_name(&client->places, lock, lock->core.queue.call, places[i]);
		assert_non_null(strstr(server_ask(s, &reply, "GET", queue, NULL), places[i]));
		expect_ok(lock, redlock_cancel(lock));
		assert_driven(client, !server_has(s, queue));
		assert_int_equal(redlock_next(client, &event), 1);
	}
	assert_string_not_equal(places[0], places[1]);
}

static bool are_offered(long long count)
{
	struct raw_reply reply;
	server_ask(&servers.server[0], &reply, "HLEN", offers, NULL);
	return reply.integer == count;
}

/* The heir waits for the messages of a release: these leave first, and unread messages, of which one would
 * name another heir here, are read later. Nor is it declined: a bar would stay for a minute. */
TEST(a_release_that_knows_the_heir_reads_later)
{
	const struct server *s = &servers.server[0];
	char place[RL_PLACES_TEXT], message[1024];
	struct raw_reply reply;
	own_client *client = fixture_open(servers.urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_client *other = fixture_open(servers.urls, 1, FIXTURE_NODE_TIMEOUT_MS);
	own_lock *lock = fixture_lock(client, name, WAIT_LONG_TTL_MS, WAIT_LONG_TTL_MS);
	own_lock *heir = fixture_lock(other, name, WAIT_LONG_TTL_MS, WAIT_LONG_TTL_MS);
	server_must(s, "OK", "SET", name, "another", NULL);
	expect_ok(lock, redlock_start_acquire(lock));
	assert_driven(client, are_offered(1));
	expect_ok(heir, redlock_start_acquire(heir));
	assert_driven(other, are_offered(2));
	server_must(s, "1", "DEL", name, NULL);
	struct redlock_event event = {.size = sizeof event};
	assert_driven(client, redlock_next(client, &event) == 1);
	struct fixture_token token = fixture_token(lock);
	(void)rl_places_name(&client->places, lock, lock->core.queue.call, place);
	snprintf(message, sizeof message, "%s;%llu;%s;1;" C " 1 300000 t9;%s", strchr(place, '.') + 1,
	         (unsigned long long)lock->core.queue.offered_ns, token.text, name);
	server_must(s, "1", "PUBLISH", client->places.channel, message, NULL);
	server_must(s, "OK", "CONFIG", "RESETSTAT", NULL);
	assert_int_equal(poll(&(struct pollfd){.fd = redlock_fd(client), .events = POLLIN}, 1, WAIT_SOON_MS), 1);
	expect_ok(lock, redlock_release(lock));
	server_must(s, fixture_token(heir).text, "GET", name, NULL);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	const char *asked = server_ask(s, &reply, "INFO", "commandstats", NULL);
	assert_non_null(strstr(asked, "cmdstat_mget:calls=1,")); /* one script */
}

SERVER_TESTS(1, .before = before, .after = after)
