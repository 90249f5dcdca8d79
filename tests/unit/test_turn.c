/* SPDX-License-Identifier: MIT */
/* The client's turns, with the test as its servers and as its clock: what is sent when, and when the next
 * turn is due. */
#include "client.h"
#include "fixture.h"
#include "unit.h"
#include "wire.h"

enum { NODES = 2 };
#define SECOND_NS INT64_C(1000000000)

static struct wire *peers[NODES];
static redlock_client *client;
static redlock_lock *lock;

/* To CLIENT ID, INFO and the probe. */
#define OPENING ":7\r\n-ERR no\r\n-ERR no\r\n"

static void turn(void)
{
	assert_int_equal(redlock_process(client), 0);
}

/* Two servers, connected; what the client asks them first is answered, but not yet heard. */
static void connect_stage(int guard, uint32_t node_timeout_ms)
{
	static const char *const urls[NODES] = {"unix:///0", "unix:///1"};
	wires_begin();
	wires.now_ns = rl_time_ms(1000000);
	struct redlock_options options = fixture_client(urls, NODES);
	options.node_timeout_ms = node_timeout_ms;
	options.guard = guard;
	client = fixture_open_with(&options);
	turn();
	for (unsigned i = 0; i < NODES; i++) {
		peers[i] = &wires.list[1 + i];
		assert_int_equal(peers[i]->address.bytes[1], '0' + i);
		assert_true(peers[i]->up.length > 0);
		wire_say(peers[i], OPENING);
	}
}

static void open_stage(void)
{
	connect_stage(REDLOCK_GUARD_OFF, 8000); /* these servers say what is expected, byte by byte */
	for (unsigned i = 0; i < NODES; i++)
		buffer_drop(&peers[i]->up, peers[i]->up.length);
	turn();
	lock = fixture_lock(client, "job", 30000, 0);
}

static void close_stage(void)
{
	redlock_lock_free(lock);
	redlock_close(client);
	wires_end();
}

/* The bytes that a server has got since the last call, up to the first NUL. */
static const char *heard(struct wire *peer)
{
	static char text[4096];
	text[buffer_take(&peer->up, text, sizeof text - 1)] = '\0';
	return text;
}

/* Sends the pending requests, answers for both nodes, and lets the client read the answers. */
static void all_say(const char *reply)
{
	turn();
	for (unsigned i = 0; i < NODES; i++)
		wire_say(peers[i], reply);
	turn();
}

static void expect_ended(int want)
{
	struct redlock_event event = {.size = sizeof event};
	assert_int_equal(redlock_next(client, &event), 1);
	assert_int_equal(event.result, want);
}

/* A connection that is given up by a timer decides an acquire: what is given back leaves in the same turn,
 * also to nodes that come first. */
TEST(a_stall_is_acted_on_at_once)
{
	assert_int_equal(redlock_start_acquire(lock), 0);
	turn();
	assert_non_null(strstr(heard(peers[0]), "SET"));
	wire_say(peers[0], "+OK\r\n");
	turn();
	assert_string_equal(heard(peers[0]), "");
	wires.now_ns += rl_time_ms(5000);
	turn();
	assert_non_null(strstr(heard(peers[0]), "EVAL"));
	expect_ended(REDLOCK_E_NOQUORUM);
}

/* The end of a drain that is over wakes nobody. */
TEST(a_drain_leaves_no_deadline)
{
	assert_int_equal(redlock_drain(client, 10), 0);
	wires.now_ns += rl_time_ms(20);
	assert_true(redlock_timeout_ns(client) == REDLOCK_NEVER_NS);
}

/* Two names change places: one of them is connected anew and has not reported its run_id yet. Its old
 * identity is not compared with the other's new one. */
TEST(names_that_change_places)
{
	static const char id[] = "0123456789012345678901234567890123456789";
	for (unsigned i = 0; i < NODES; i++) {
		struct rl_node *node = &client->nodes.list[i];
		assert_false(node->link.facts.run_id_known);
		memcpy(node->link.facts.run_id, id, sizeof id);
	}
	client->nodes.list[0].link.facts.run_id_known = client->nodes.list[0].identified = true;
	assert_int_equal(redlock_start_acquire(lock), 0);
	all_say("+OK\r\n");
	expect_ended(0);
}

TEST(parked_requests_are_sent_now)
{
	for (unsigned i = 0; i < NODES; i++)
		client->nodes.list[i].methods.refused |= RL_FORMS_TEXT;
	assert_int_equal(redlock_start_acquire(lock), 0);
	assert_int_equal(redlock_timeout_ns(client), 0);
	all_say("+OK\r\n");
	expect_ended(0);
	assert_true(redlock_timeout_ns(client) > wires.now_ns);
	assert_int_equal(redlock_start_release(lock), 0);
	assert_int_equal(redlock_timeout_ns(client), 0);
	heard(peers[0]);
	turn();
	assert_non_null(strstr(heard(peers[0]), "WATCH"));
	assert_true(redlock_timeout_ns(client) > wires.now_ns); /* an answer is due first */
}

/* A query without a token says of every key that it is not ours, also of an empty one. */
TEST(an_empty_value_is_not_ours)
{
	assert_int_equal(redlock_start_query(lock), 0);
	all_say("*4\r\n$6\r\nstring\r\n:500\r\n:0\r\n$0\r\n\r\n");
	for (unsigned i = 0; i < NODES; i++)
		assert_vote(lock, i, REDLOCK_VOTE_NO);
}

/* The first look sees it; the next turn tells the rest. */
TEST(a_wall_clock_that_is_set_forward)
{
	assert_int_equal(redlock_start_acquire(lock), 0);
	all_say("+OK\r\n");
	expect_ended(0);
	uint64_t deadline_ns = redlock_deadline_ns(lock), due_ns = redlock_timeout_ns(client);
	wires.ahead_ns -= 3600 * SECOND_NS; /* back: nothing */
	assert_int_equal(redlock_deadline_ns(lock), deadline_ns);
	assert_false(fake_process->woken);
	wires.ahead_ns += 20 * SECOND_NS;
	assert_int_equal(redlock_deadline_ns(lock), deadline_ns - rl_time_ms(20000));
	assert_true(fake_process->woken); /* the sleeping thread */
	assert_int_equal(redlock_leapt_ms(client), 20000);
	assert_int_equal(redlock_timeout_ns(client), 0);
	turn();
	assert_int_equal(redlock_timeout_ns(client), due_ns - rl_time_ms(20000));
	assert_int_equal(redlock_deadline_ns(lock), deadline_ns - rl_time_ms(20000));
	wires.ahead_ns += 9698 * SECOND_NS / 1000 + 1;
	assert_int_equal(redlock_remaining_ms(lock), 0);
	assert_int_equal(redlock_start_extend(lock, 0), REDLOCK_E_LOST); /* before it begins */
	assert_int_equal(redlock_leapt_ms(client), 29699);
	struct redlock_event event = {.size = sizeof event};
	assert_true(redlock_next(client, &event) == 1 && event.kind == REDLOCK_EVENT_LOST);
}

/* A client that cancels meanwhile does not take the loss for a cancelled call. */
TEST(a_leap_comes_before_a_cancel)
{
	struct redlock_event event = {.size = sizeof event};
	assert_int_equal(redlock_start_acquire(lock), 0);
	all_say("+OK\r\n");
	expect_ended(0);
	assert_int_equal(redlock_start_extend(lock, 0), 0);
	wires.ahead_ns += 60 * SECOND_NS;
	assert_int_equal(redlock_cancel(lock), 0);
	expect_ended(REDLOCK_E_LOST);
	assert_true(redlock_next(client, &event) == 1 && event.kind == REDLOCK_EVENT_LOST);
}

/* ---- a plain set becomes a guarded one ---- */

enum { LONGEST_MS = 5000 }; /* what the record permits */
#define RUN_ID "0123456789012345678901234567890123456789"

/* Answers the question for the record that the node was asked last. False: it was not asked. */
static bool answer_record(unsigned index)
{
	static const char mark[] = "redlock:set\r\n$16\r\n";
	char words[256], reply[512];
	const char *id = NULL, *at = heard(peers[index]);
	while ((at = strstr(at, mark)) != NULL)
		id = at += sizeof mark - 1;
	if (id == NULL)
		return false;
	snprintf(words, sizeof words, "%s a b - 1 %d %s:b - 5 5 - unix:/%u/0", RUN_ID, LONGEST_MS, RUN_ID, index);
	snprintf(reply, sizeof reply, "*6\r\n:1\r\n:0\r\n:1\r\n:3\r\n$16\r\n%.16s\r\n$%zu\r\n%s\r\n", id,
	         strlen(words), words);
	wire_say(peers[index], reply);
	return true;
}

static void open_auto(void)
{
	close_stage();
	connect_stage(REDLOCK_GUARD_AUTO, 1000);
	for (unsigned i = 0; i < NODES; i++) { /* a look, no script */
		assert_non_null(strstr(heard(peers[i]), "HMGET\r\n$11\r\nredlock:set\r\n"));
		wire_say(peers[i], "*3\r\n$-1\r\n$-1\r\n$-1\r\n");
	}
	turn();
	lock = fixture_lock(client, "job", 30000, 0);
}

/* A connected client asks for the records with the first request after a minute, however long the connection
 * was idle. The votes of that request are void: its keys are given back, and it is asked again by new
 * connections, since in a guarded set a connection ages. From then on a held lock is valid for no longer than
 * the set's longest TTL. */
TEST(a_client_notices_within_a_minute_that_its_set_is_guarded)
{
	enum { STEP_MS = 20000 };
	struct redlock_event event = {.size = sizeof event};
	open_auto();
	assert_int_equal(redlock_start_acquire(lock), 0);
	all_say("+OK\r\n");
	expect_ended(0);
	for (unsigned ms = STEP_MS; ms < 60000; ms += STEP_MS) {
		wires.now_ns += rl_time_ms(STEP_MS);
		turn();
		assert_int_equal(redlock_start_extend(lock, 0), 0);
		all_say(":1\r\n");
		expect_ended(0);
		for (unsigned i = 0; i < NODES; i++)
			assert_false(answer_record(i));
	}
	wires.now_ns += rl_time_ms(STEP_MS);
	turn();
	redlock_lock *next = fixture_lock(client, "next", LONGEST_MS, 0);
	assert_int_equal(redlock_start_acquire(next), 0);
	turn();
	for (unsigned i = 0; i < NODES; i++) {
		assert_true(answer_record(i));
		wire_say(peers[i], "+OK\r\n"); /* void: SET does not compare the record */
	}
	assert_true(redlock_remaining_ms(lock) > LONGEST_MS);
	turn();
	assert_int_equal(redlock_next(client, &event),
	                 0); /* the acquire goes on, and the other lock is not lost */
	assert_in_range(redlock_remaining_ms(lock), 1, LONGEST_MS);
	for (unsigned i = 0; i < NODES; i++) {
		const char *last = heard(peers[i]);
		assert_true(strstr(last, "EVAL") != NULL && strstr(last, "next") != NULL);
		wire_say(peers[i], ":1\r\n");
	}
	turn();
	for (unsigned i = 0; i < NODES; i++) {
		assert_int_equal(client->nodes.list[i].link.state, RL_LINK_CONNECTING);
		assert_vote(next, i, REDLOCK_VOTE_PENDING);
	}
	redlock_lock_free(next);
}

TESTS(.before = open_stage, .after = close_stage)
