/* SPDX-License-Identifier: MIT */
/* The client's turns, with the test as its servers and as its clock: what is sent when, and when the next
 * turn is due. */
#include "client.h"
#include "unit.h"
#include "wire.h"

enum { NODES = 2 };

struct stage {
	struct wire *peers[NODES];
	redlock_client *client;
};

/* To CLIENT ID, INFO and the probe. */
#define OPENING ":7\r\n-ERR no\r\n-ERR no\r\n"

/* Two servers, connected; what the client asks them first is answered. */
static void open_stage(struct stage *s)
{
	static const char *const urls[NODES] = {"unix:///0", "unix:///1"};
	struct redlock_options options;
	wires_begin();
	wires.now_ns = rl_time_ms(1000000);
	redlock_options_init(&options);
	options.urls = urls;
	options.url_count = NODES;
	options.node_timeout_ms = 8000;
	assert_int_equal(redlock_open(&options, &s->client), 0);
	assert_int_equal(redlock_process(s->client), 0);
	for (unsigned i = 0; i < NODES; i++) {
		s->peers[i] = &wires.list[1 + i];
		assert_int_equal(s->peers[i]->address.bytes[1], '0' + i);
		assert_true(s->peers[i]->up.length > 0);
		buffer_drop(&s->peers[i]->up, s->peers[i]->up.length);
		wire_say(s->peers[i], OPENING);
	}
	assert_int_equal(redlock_process(s->client), 0);
}

static void close_stage(struct stage *s)
{
	redlock_close(s->client);
	wires_end();
}

static redlock_lock *new_lock(redlock_client *client)
{
	redlock_lock *lock = NULL;
	assert_int_equal(redlock_lock_new(client, "job", 3, NULL, &lock), 0);
	return lock;
}

/* What a server was sent since the last time, up to its first NUL. */
static const char *heard(struct wire *peer)
{
	static char text[4096];
	text[buffer_take(&peer->up, text, sizeof text - 1)] = '\0';
	return text;
}

/* A connection that is given up by a timer decides an acquire: what is given back leaves in the same turn,
 * also to nodes that come first. */
TEST(a_stall_is_acted_on_at_once)
{
	struct stage s;
	open_stage(&s);
	redlock_lock *lock = new_lock(s.client);
	assert_int_equal(redlock_start_acquire(lock), 0);
	assert_int_equal(redlock_process(s.client), 0);
	assert_non_null(strstr(heard(s.peers[0]), "SET"));
	wire_say(s.peers[0], "+OK\r\n");
	assert_int_equal(redlock_process(s.client), 0);
	assert_string_equal(heard(s.peers[0]), "");
	wires.now_ns += rl_time_ms(5000);
	assert_int_equal(redlock_process(s.client), 0);
	assert_non_null(strstr(heard(s.peers[0]), "EVAL"));
	struct redlock_event event;
	assert_int_equal(redlock_next(s.client, &event), 1);
	assert_int_equal(event.result, REDLOCK_E_NOQUORUM);
	redlock_lock_free(lock);
	close_stage(&s);
}

/* The end of a drain that is over wakes nobody. */
TEST(a_drain_leaves_no_deadline)
{
	struct stage s;
	open_stage(&s);
	assert_int_equal(redlock_drain(s.client, 10), 0);
	wires.now_ns += rl_time_ms(20);
	assert_true(redlock_timeout_ns(s.client) == REDLOCK_NEVER_NS);
	close_stage(&s);
}

/* Two names change places: one of them is connected anew and has not said yet who it is. What it was before
 * is not compared with what the other one is now. */
TEST(names_that_change_places)
{
	struct stage s;
	open_stage(&s);
	redlock_lock *lock = new_lock(s.client);
	struct redlock_event event;
	static const char id[] = "0123456789012345678901234567890123456789";
	for (unsigned i = 0; i < NODES; i++) {
		struct rl_node *node = &s.client->nodes.list[i];
		assert_false(node->link.facts.run_id_known);
		memcpy(node->link.facts.run_id, id, sizeof id);
	}
	s.client->nodes.list[0].link.facts.run_id_known = s.client->nodes.list[0].identified = true;
	assert_int_equal(redlock_start_acquire(lock), 0);
	assert_int_equal(redlock_process(s.client), 0);
	for (unsigned i = 0; i < NODES; i++)
		wire_say(s.peers[i], "+OK\r\n");
	assert_int_equal(redlock_process(s.client), 0);
	assert_int_equal(redlock_next(s.client, &event), 1);
	assert_int_equal(event.result, 0);
	redlock_lock_free(lock);
	close_stage(&s);
}

TEST(parked_requests_are_sent_now)
{
	struct stage s;
	open_stage(&s);
	redlock_lock *lock = new_lock(s.client);
	struct redlock_event event;
	for (unsigned i = 0; i < NODES; i++)
		s.client->nodes.list[i].methods.refused |= RL_FORM_BIT(RL_FORM_TEXT);
	assert_int_equal(redlock_start_acquire(lock), 0);
	assert_int_equal(redlock_timeout_ns(s.client), 0);
	assert_int_equal(redlock_process(s.client), 0);
	for (unsigned i = 0; i < NODES; i++)
		wire_say(s.peers[i], "+OK\r\n");
	assert_int_equal(redlock_process(s.client), 0);
	assert_int_equal(redlock_next(s.client, &event), 1);
	assert_int_equal(event.result, 0);
	assert_true(redlock_timeout_ns(s.client) > wires.now_ns);
	assert_int_equal(redlock_start_release(lock), 0);
	assert_int_equal(redlock_timeout_ns(s.client), 0);
	heard(s.peers[0]);
	assert_int_equal(redlock_process(s.client), 0);
	assert_non_null(strstr(heard(s.peers[0]), "WATCH"));
	assert_true(redlock_timeout_ns(s.client) > wires.now_ns); /* an answer is due first */
	redlock_lock_free(lock);
	close_stage(&s);
}

/* Who asks without a token is told of every key that it is not theirs, also of an empty one. */
TEST(an_empty_value_is_not_ours)
{
	struct stage s;
	open_stage(&s);
	redlock_lock *lock = new_lock(s.client);
	assert_int_equal(redlock_start_query(lock), 0);
	assert_int_equal(redlock_process(s.client), 0);
	static const char answer[] = "*4\r\n$6\r\nstring\r\n:500\r\n:0\r\n$0\r\n\r\n";
	for (unsigned i = 0; i < NODES; i++)
		wire_say(s.peers[i], answer);
	assert_int_equal(redlock_process(s.client), 0);
	for (unsigned i = 0; i < NODES; i++) {
		struct redlock_vote vote;
		assert_int_equal(redlock_lock_vote(lock, i, &vote), 0);
		assert_int_equal(vote.code, REDLOCK_VOTE_NO);
	}
	redlock_lock_free(lock);
	close_stage(&s);
}

TESTS()
