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

/* Two servers, connected; what the client asks them first is answered. */
static void open_stage(void)
{
	static const char *const urls[NODES] = {"unix:///0", "unix:///1"};
	wires_begin();
	wires.now_ns = rl_time_ms(1000000);
	struct redlock_options options = fixture_client(urls, NODES);
	options.node_timeout_ms = 8000;
	options.guard = REDLOCK_GUARD_OFF; /* these servers say what is expected, byte by byte */
	client = fixture_open_with(&options);
	turn();
	for (unsigned i = 0; i < NODES; i++) {
		peers[i] = &wires.list[1 + i];
		assert_int_equal(peers[i]->address.bytes[1], '0' + i);
		assert_true(peers[i]->up.length > 0);
		buffer_drop(&peers[i]->up, peers[i]->up.length);
		wire_say(peers[i], OPENING);
	}
	turn();
	lock = fixture_lock(client, "job", 30000, 0);
}

static void close_stage(void)
{
	redlock_lock_free(lock);
	redlock_close(client);
	wires_end();
}

/* What a server was sent since the last time, up to its first NUL. */
static const char *heard(struct wire *peer)
{
	static char text[4096];
	text[buffer_take(&peer->up, text, sizeof text - 1)] = '\0';
	return text;
}

/* What was begun is sent, both say this, and it is heard. */
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

/* Two names change places: one of them is connected anew and has not said yet who it is. What it was before
 * is not compared with what the other one is now. */
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

/* Who asks without a token is told of every key that it is not theirs, also of an empty one. */
TEST(an_empty_value_is_not_ours)
{
	assert_int_equal(redlock_start_query(lock), 0);
	all_say("*4\r\n$6\r\nstring\r\n:500\r\n:0\r\n$0\r\n\r\n");
	for (unsigned i = 0; i < NODES; i++)
		assert_vote(lock, i, REDLOCK_VOTE_NO);
}

/* Whoever looks sees it; the next turn tells the rest. */
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
	assert_true(fake_process->woken); /* whoever sleeps */
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

/* Who cancels meanwhile does not take the loss for a cancelled call. */
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

TESTS(.before = open_stage, .after = close_stage)
