/* SPDX-License-Identifier: MIT */
/* A node that is a name: what waits while it is looked up, how often it is, and what is owed when it moves.
 * The lookups are the test's, the servers are scenes. */
#include "scene.h"

#include <unistd.h>

#include "os.h"

static struct fake_process process;
static struct rl_lookup_result result;
static unsigned lookups;
static const char *left;

static void wrong(const char *what, int fd)
{
	fail_msg("%s: %d", what, fd);
}

static int look_up(const char *host, uint16_t port, struct rl_lookup *lookup)
{
	(void)host, (void)port, (void)lookup;
	lookups++;
	return 0;
}

static bool has_ended(const struct rl_lookup *lookup)
{
	(void)lookup;
	return true; /* nobody asks before ended() */
}

static void tell(const struct rl_lookup *lookup, struct rl_lookup_result *ret)
{
	(void)lookup;
	*ret = result;
}

static void leave(struct rl_lookup *lookup, bool child)
{
	(void)lookup;
	left = child ? "by a child" : "alone";
}

static const struct fake_world world = {
    .wrong = wrong, .look_up = look_up, .has_ended = has_ended, .found = tell, .left = leave};

static struct scene *open_scene(void)
{
	fake_process = &process;
	fake_world = &world;
	lookups = 0;
	left = "";
	struct scene *s = scene_open("", "");
	s->node.link.dial.by_name = true;
	s->node.link.dial.known.count = 0;
	return s;
}

static void ended(struct scene *s)
{
	rl_link_ready(&s->node.link, process.lookups[0].id, RL_READABLE, s->now_ns);
	scene_turn(s);
}

static void found(struct scene *s, const char *path)
{
	result = (struct rl_lookup_result){.addresses.count = 1};
	assert_int_equal(rl_resolve_path(path, &result.addresses.list[0]), 0);
	ended(s);
}

static void not_found(struct scene *s)
{
	result = (struct rl_lookup_result){.why = "no such name, as far as is known", .certain = true};
	ended(s);
}

/* ---- waiting ---- */

TEST(requests_wait)
{
	struct scene *s = open_scene();
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_PENDING);
	scene_turn(s);
	assert_int_equal(s->node.link.state, RL_LINK_CONNECTING);
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 2), REDLOCK_VOTE_PENDING);
	assert_int_equal(lookups, 1);
	found(s, s->path);
	scene_accept(s);
	expect_heard(s, HELLO "SET job token1 NX PX 30000\nSET job token2 NX PX 30000\n");
	assert_int_equal(lookups, 1);
	scene_close(s);
	assert_string_equal(left, "");
}

TEST(does_not_exist)
{
	struct scene *s = open_scene();
	static const unsigned most_ms[] = {100, 200, 400, 800, 1600, 3000, 3000};
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1), REDLOCK_VOTE_PENDING);
	scene_owe(s, 1, 0); /* after a SET that is never sent: no debt */
	for (unsigned i = 0; i < COUNT(most_ms); i++) {
		not_found(s);
		expect_answers(s, i == 0 ? "acquire #1 NAME\n" : "");
		assert_int_equal(s->node.link.state, RL_LINK_DOWN);
		assert_int_equal(rl_node_owed(&s->node), 0);
		assert_string_equal(s->node.link.failure_text, "no such name"); /* no more than servers may say */
		assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 2), REDLOCK_VOTE_NAME);
		uint64_t due = rl_link_deadline(&s->node.link);
		assert_in_range(due - s->now_ns, rl_time_ms(most_ms[i]) / 2, rl_time_ms(most_ms[i]));
		assert_int_equal(lookups, i + 1);
		s->now_ns = due;
		rl_node_tick(&s->node, s->now_ns);
		assert_int_equal(lookups, i + 2);
	}
	scene_close(s);
	assert_string_equal(left, "alone");
}

/* After 3 s nobody waits any more; the lookup goes on, alone, and its end is what comes next. */
TEST(silent)
{
	own_scene *s = open_scene();
	scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
	assert_true(rl_link_deadline(&s->node.link) == rl_time_ms(4000));
	scene_at(s, 4000);
	expect_answers(s, "acquire #1 NAME\n");
	assert_string_equal(s->node.link.failure_text, "the name server does not answer");
	assert_int_equal(s->node.link.backoff.failures, 1);
	assert_int_equal(scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 2), REDLOCK_VOTE_NAME);
	assert_true(rl_link_deadline(&s->node.link) == UINT64_MAX);
	s->now_ns = rl_time_ms(30000);
	not_found(s);
	assert_string_equal(s->node.link.failure_text, "no such name");
	assert_int_equal(s->node.link.backoff.failures, 2);
	assert_in_range(rl_link_deadline(&s->node.link) - s->now_ns, rl_time_ms(100), rl_time_ms(200));
	assert_int_equal(lookups, 1);
	scene_play(s, "due; tick");
	assert_int_equal(lookups, 2);
	rl_node_tick(&s->node, s->now_ns += rl_time_ms(3000));
	scene_turn(s);
	s->node.link.backoff.retry_at_ns = UINT64_MAX; /* whatever it was */
	found(s, s->path);
	assert_true(rl_link_deadline(&s->node.link) == s->now_ns);
	scene_play(s, "tick; greet 1");
	assert_int_equal(lookups, 2);
}

TEST(closed_in_a_child)
{
	own_scene *s = open_scene();
	rl_node_connect(&s->node, s->now_ns);
	rl_node_close(&s->node, true);
	assert_string_equal(left, "by a child");
	assert_true(rl_node_open(&s->node, &(struct rl_endpoint){.host = strdup("::1")}, NULL, &s->poller, 3));
}

/* ---- moving ---- */

/* Read-only: the name is looked up, once a second at most, and the connection is left when it has moved. */
TEST(read_only)
{
	char other[128];
	own_scene *s = open_scene();
	assert_in_range(snprintf(other, sizeof other, "%s.other", s->path), 1, sizeof other - 1);
	rl_node_connect(&s->node, s->now_ns);
	found(s, s->path);
	scene_play(s, "greet 1; pass 1000");
	for (unsigned i = 1; i <= 3; i++) {
		scene_submit(s, REDLOCK_OP_ACQUIRE, i, i);
		scene_heard(s);
		scene_say(s, "-READONLY You can't write against a read only replica.\r\n");
	}
	expect_answers(s, "acquire #1 READONLY\nacquire #2 READONLY\nacquire #3 READONLY\n");
	assert_int_equal(lookups, 2);
	scene_play(s, "acquire 4 #4; hear");
	found(s, s->path);
	assert_int_equal(s->node.link.state, RL_LINK_OPEN);
	scene_say(s, "-READONLY You can't write against a read only replica.\r\n");
	assert_int_equal(lookups, 2);
	expect_answers(s, "acquire #4 READONLY\n");
	scene_play(s, "pass 1000; acquire 5 #5; hear");
	scene_say(s, "-READONLY You can't write against a read only replica.\r\n");
	scene_play(s, "acquire 6 #6; hear");
	found(s, other);
	expect_answers(s, "acquire #5 READONLY\nacquire #6 CLOSED\n"); /* as for any break */
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	assert_string_equal(s->node.link.failure_text, "its name has another address now");
	assert_int_equal(s->node.ledger.ghost_count, 1);
}

/* A release is owed when the connection breaks, and the next one goes elsewhere: to the same server by its
 * run_id, whose "not there" counts, or to another, whose does not. */
TEST(elsewhere)
{
	static const struct {
		const char *run_id, *answer;
		unsigned lingering;
	} cases[] = {
	    {"0000000000000000000000000000000000000007", ":0\r\n", 0},
	    {"0000000000000000000000000000000000000008", ":0\r\n", 1},
	    {"0000000000000000000000000000000000000008", ":1\r\n", 0},
	    {"", ":0\r\n", 1},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		char other[128];
		char text[128];
		own_scene *s = open_scene();
		rl_node_connect(&s->node, s->now_ns);
		found(s, s->path);
		scene_play(s, "greet 1; owe 1 #0; hear; hang up; turn");
		assert_int_equal(rl_node_owed(&s->node), 1);
		assert_in_range(snprintf(other, sizeof other, "%s.other", s->path), 1, sizeof other - 1);
		assert_int_equal(symlink(s->path, other), 0);
		scene_play(s, "pass 5000; tick");
		assert_int_equal(lookups, 2);
		found(s, other);
		scene_accept(s);
		expect_heard(s, HELLO "EVAL release 1 job token1\n");
		snprintf(text, sizeof text, ":2\r\n$%zu\r\nrun_id:%s\r\n" NO_NATIVE "%s",
		         strlen("run_id:") + strlen(cases[i].run_id), cases[i].run_id, cases[i].answer);
		scene_say(s, text);
		assert_int_equal(rl_node_owed(&s->node), 0);
		assert_int_equal(s->node.ledger.lingering, cases[i].lingering);
		/* The next answers of that server count again, after a minute. */
		scene_play(s, "pass 60000; owe 2 #0; hear");
		scene_say(s, ":0\r\n");
		assert_int_equal(s->node.ledger.lingering, cases[i].lingering);
		unlink(other);
	}
}

TESTS()
