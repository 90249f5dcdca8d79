/* SPDX-License-Identifier: MIT */
/* A client with two nodes and somebody who waits at the second one. The test is the servers, and the clock.
 */
#pragma once

#include "client.h"
#include "fixture.h"
#include "unit.h"
#include "wire.h"

enum { NODES = 2, AT = 1 }; /* somebody waits at the second one */

#define CHANNEL "redlock:wake:0123456789abcdef"
#define SUBSCRIBE "*2\r\n$9\r\nSUBSCRIBE\r\n$29\r\n" CHANNEL "\r\n"
#define INFO "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n"
#define OPENING INFO SUBSCRIBE
#define PING "*1\r\n$4\r\nPING\r\n"

#define RUN_ID(digit) "$49\r\nrun_id:000000000000000000000000000000000000000" digit "\r\n\r\n"
#define NO_NATIVE "*2\r\n*-1\r\n*-1\r\n"
#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$29\r\n" CHANNEL "\r\n:1\r\n"
#define MESSAGE(payload) "*3\r\n$7\r\nmessage\r\n$29\r\n" CHANNEL "\r\n" payload "\r\n"
#define PONG "*2\r\n$4\r\npong\r\n$0\r\n\r\n"

static redlock_client *client;
static redlock_lock *lock;
static struct wire *ear; /* the server's end of the listener */

/* ---- what the client does with what was heard ---- */

static char wakes[4096];

void __wrap_rl_hear_message(redlock_client *c, const struct rl_heard *heard, unsigned node);
void __wrap_rl_hear_message(redlock_client *c, const struct rl_heard *heard, unsigned node)
{
	size_t used = strlen(wakes);
	int size = snprintf(wakes + used, sizeof wakes - used, "%u%.*s@%u ", heard->number,
	                    heard->gone ? (int)heard->name.size : 0, heard->name.bytes, node);
	assert_ptr_equal(c, client);
	assert_true((size_t)size < sizeof wakes - used);
}

#define expect_woken(want)                                                                                   \
	do {                                                                                                     \
		assert_string_equal(wakes, want);                                                                    \
		wakes[0] = '\0';                                                                                     \
	} while (0)

/* ---- the stage ---- */

static inline struct rl_node *node(void)
{
	return &client->nodes.list[AT];
}

static inline void turn(void)
{
	assert_int_equal(redlock_process(client), 0);
}

static inline void pass(uint64_t ms)
{
	wires.now_ns += rl_time_ms(ms);
	turn();
}

static inline const char *heard(struct wire *peer)
{
	static char text[4096];
	text[buffer_take(&peer->up, text, sizeof text - 1)] = '\0';
	return text;
}

/* A node has connected: what it asks is answered, by the process with this last digit. */
static inline void greet(struct wire *peer, const char *before, char digit)
{
	char info[] = RUN_ID("x");
	*strchr(info, 'x') = digit;
	turn();
	heard(peer);
	wire_say(peer, before);
	wire_say(peer, ":7\r\n");
	wire_say(peer, info);
	wire_say(peer, NO_NATIVE);
	turn();
}

static inline void open_with(const char *first, const char *second, const char *before)
{
	const char *const urls[NODES] = {first, second};
	wires_begin();
	wires.capacity = 1024; /* they stay where they are */
	wires.list = buffer_realloc(wires.list, wires.capacity * sizeof *wires.list);
	wires.now_ns = rl_time_ms(1000000);
	wakes[0] = '\0';
	struct redlock_options options = fixture_client(urls, NODES);
	options.node_timeout_ms = 8000;
	options.guard = REDLOCK_GUARD_OFF; /* these servers say what is expected, byte by byte */
	client = fixture_open_with(&options);
	for (unsigned i = 0; i < NODES; i++)
		greet(&wires.list[1 + i], before, (char)('0' + i));
	lock = fixture_lock(client, "job", 30000, 0);
}

static inline void open_stage(void)
{
	open_with("unix:///0", "unix:///1", "");
}

static inline void close_stage(void)
{
	if (client == NULL)
		return;
	redlock_lock_free(lock);
	redlock_close(client);
	client = NULL;
	wires_end();
}

/* Somebody waits. */
static inline void listen(void)
{
	rl_nodes_listen(&client->nodes, AT, rl_slice_of("name"), CHANNEL, wires.now_ns);
	turn();
	ear = wire_last();
}

static inline void listener_opens(void)
{
	uint32_t before = wires.count;
	listen();
	assert_int_equal(wires.count, before + 1);
	assert_int_equal(ear->address.bytes[1], '0' + AT);
	turn();
	assert_string_equal(heard(ear), OPENING);
}

static inline void listener_stands(void)
{
	listener_opens();
	wire_say(ear, RUN_ID("1") SUBSCRIBED);
	turn();
	assert_true(rl_node_hears(node()));
}

static inline void says(const char *bytes)
{
	wire_say(ear, bytes);
	turn();
}

/* The listener has been left, and the first links are what they were. */
static inline void expect_left(void)
{
	assert_false(ear->open);
	assert_false(rl_node_hears(node()));
	for (unsigned i = 0; i < NODES; i++) {
		assert_true(wires.list[1 + i].open);
		assert_int_equal(client->nodes.list[i].link.state, RL_LINK_OPEN);
	}
}

/* The listener comes back by itself within so many ms, not before it is due. */
static inline void comes_back_within(uint64_t ms)
{
	uint32_t before = wires.count;
	uint64_t due = rl_nodes_deadline(&client->nodes, wires.now_ns);
	assert_in_range(due - wires.now_ns, 0, rl_time_ms(ms));
	wires.now_ns = due;
	turn();
	turn();
	assert_int_equal(wires.count, before + 1);
	ear = wire_last();
	assert_string_equal(heard(ear), OPENING);
}
