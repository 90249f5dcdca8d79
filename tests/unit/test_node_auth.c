/* SPDX-License-Identifier: MIT */
/* New credentials for a node: what is sent, when, and what an answer changes; and that old ones leave
 * nothing. */
#include "net/auth.h"
#include "os/secret.h"
#include "scene.h"

/* A turn of the client, which lets the node log in again when it is due. */
static void turn(struct scene *s)
{
	if (s->node.link.login == RL_LOGIN_NONE && rl_auth_is_due(&s->node.link))
		rl_auth_begin(&s->node.link, s->now_ns);
	scene_turn(s);
}

static void say(struct scene *s, const char *bytes)
{
	scene_say(s, bytes);
	turn(s);
}

static void change(struct scene *s, const char *user, const char *password)
{
	struct rl_endpoint *e = &s->node.link.endpoint;
	rl_secret_free(e->user);
	rl_secret_free(e->password);
	e->user = user != NULL ? rl_secret_copy(user, strlen(user)) : NULL;
	e->password = password != NULL ? rl_secret_copy(password, strlen(password)) : NULL;
	rl_node_renew(&s->node, s->now_ns);
}

/* As redlock_set_credentials() does it. */
static void renew(struct scene *s, const char *user, const char *password)
{
	change(s, user, password);
	turn(s);
}

/* Opened as `before` says, with the greeting answered. */
static struct scene *open_with(const char *before, const char *auth)
{
	struct scene *s = scene_begin(before, "", "connect; accept");
	assert_non_null(strstr(scene_heard(s), auth));
	scene_say(s, "+OK\r\n:1\r\n-NOPERM no\r\n" NO_NATIVE);
	return s;
}

/* All that was asked is answered before it leaves, and what comes later waits for its answer, which is
 * nobody's.
 */
TEST(in_order)
{
	own_scene *s = open_with("me:old@", "AUTH me old\n");
	scene_play(s, "acquire 1 #1; acquire 2 #2");
	renew(s, "me", "new");
	scene_submit(s, REDLOCK_OP_ACQUIRE, 3, 3);
	turn(s);
	expect_heard(s, "SET job token1 NX PX 30000\nSET job token2 NX PX 30000\n");
	say(s, "+OK\r\n");
	expect_heard(s, "");
	say(s, "$-1\r\n");
	expect_heard(s, "AUTH me new\n");
	scene_submit(s, REDLOCK_OP_ACQUIRE, 4, 4);
	turn(s);
	expect_heard(s, "");
	say(s, "+OK\r\n");
	expect_heard(s, "SET job token3 NX PX 30000\nSET job token4 NX PX 30000\n");
	say(s, "$-1\r\n+OK\r\n");
	expect_answers(s, "acquire #1 YES\nacquire #2 NO\nacquire #3 NO\nacquire #4 YES\n");
	assert_int_equal(s->node.link.failure, REDLOCK_VOTE_PENDING);
}

/* A server that leaves out the answer to the AUTH that it refuses gives no vote with the answers after it:
 * nothing was asked. The connection ends, and the next one logs in. */
TEST(left_out)
{
	own_scene *s = open_with("me:old@", "AUTH me old\n");
	scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
	renew(s, "me", "new");
	scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 2); /* somebody has it, */
	scene_submit(s, REDLOCK_OP_ACQUIRE, 3, 3); /* and this one is free */
	scene_owe(s, 3, 4);
	say(s, "+OK\r\n");
	expect_heard(s, "SET job token1 NX PX 30000\nAUTH me new\n");
	scene_play(s, "pass 4999; tick");
	assert_int_equal(s->node.link.state, RL_LINK_OPEN);
	scene_at(s, 6000);
	expect_answers(s, "acquire #1 YES\nacquire #2 UNSENT\nacquire #3 UNSENT\nrelease #4 UNSENT\n");
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	assert_int_equal(rl_node_owed(&s->node), 0); /* its SET never left */
	assert_false(s->node.ledger.left_ghost);
	scene_play(s, "hang up; connect; accept");
	expect_heard(s, "AUTH me new\n" HELLO);
}

/* Where earlier answers do not come, the login is not waited for either, however many bytes come. */
TEST(never_quiet)
{
	own_scene *s = open_with("me:old@", "AUTH me old\n");
	scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
	renew(s, "me", "new");
	scene_owe(s, 1, 2);
	turn(s);
	for (unsigned ms = 1000; ms < 6000; ms += 1000) {
		s->now_ns = rl_time_ms(ms);
		say(s, ms == 1000 ? "+" : "O");
		rl_node_tick(&s->node, s->now_ns);
		assert_int_equal(s->node.link.state, RL_LINK_OPEN);
	}
	expect_heard(s, "SET job token1 NX PX 30000\n");
	scene_at(s, 6000);
	expect_answers(s, "acquire #1 TIMEOUT\nrelease #2 UNSENT\n"); /* the client ended the connection */
	assert_int_equal(rl_node_owed(&s->node), 1);                  /* it may have been set */
}

/* An answer that nobody asked for ends the connection: before an AUTH, after it, and where requests wait. */
TEST(too_many)
{
	static const char *const extra[] = {"+OK\r\n", "$-1\r\n", ":1\r\n", "-WRONGPASS no\r\n"};
	for (unsigned i = 0; i < COUNT(extra) * 2; i++) {
		own_scene *s = open_with("me:old@", "AUTH me old\n");
		scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
		renew(s, "me", "new");
		scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 2);
		if (i < COUNT(extra)) { /* in one piece with the answer to the SET, and with that to the AUTH */
			char both[64];
			snprintf(both, sizeof both, "+OK\r\n%s", extra[i]);
			say(s, both);
		} else {
			char both[64];
			say(s, "+OK\r\n");
			snprintf(both, sizeof both, "+OK\r\n%s", extra[i - COUNT(extra)]);
			say(s, both);
		}
		expect_answers(s, "acquire #1 YES\nacquire #2 UNSENT\n");
		assert_int_equal(s->node.link.failure, REDLOCK_VOTE_GARBAGE);
	}
}

/* CLIENT UNBLOCK ends a CLIENT PAUSE for one client with an error, after which Redis 7.0 answers the request
 * as well: no later answer belongs to the next request. */
TEST(unblocked)
{
	own_scene *s = open_with(":old@", "AUTH old\n");
	scene_play(s, "acquire 1 #1; acquire 2 #2; turn");
	scene_say(s, "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n+OK\r\n");
	expect_answers(s, "acquire #1 GARBAGE\nacquire #2 GARBAGE\n");
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	assert_true(s->node.ledger.ghost_stays || s->node.ledger.ghost_count > 0); /* they may be executed */
}

/* An answer to an opening command that is left out is missed by the next one: no operation gets a vote. */
TEST(left_out_of_the_opening)
{
	static const char *const answers[] = {"+OK\r\n",       "+OK\r\n", ":1\r\n",
	                                      "$3\r\nend\r\n", NO_NATIVE, "+OK\r\n"};
	for (unsigned left_out = 0; left_out < COUNT(answers); left_out++) {
		own_scene *s = scene_begin("me:old@", "?db=3", "acquire 1 #1; accept");
		for (unsigned i = 0; i < COUNT(answers); i++)
			if (i != left_out && s->node.link.state == RL_LINK_OPEN)
				scene_say(s, answers[i]);
		bool whole = left_out == COUNT(answers) - 1; /* that one is waited for */
		bool sent = left_out > 1;
		expect_answers(s, whole ? "" : sent ? "acquire #1 GARBAGE\n" : "acquire #1 UNSENT\n");
	}
}

/* Credentials that change while the barrier is down: one AUTH at a time, the last one counts, and none is
 * sent any more when they are taken back. */
TEST(changed_meanwhile)
{
	own_scene *s = open_with("me:old@", "AUTH me old\n");
	scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
	renew(s, "me", "new");
	renew(s, "me", "newer");
	say(s, "+OK\r\n");
	expect_heard(s, "SET job token1 NX PX 30000\nAUTH me newer\n");
	renew(s, "me", "newest");
	scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 2);
	say(s, "-WRONGPASS no\r\n");
	assert_int_equal(s->node.link.failure, REDLOCK_VOTE_PENDING); /* of the newest nothing is known */
	expect_heard(s, "SET job token2 NX PX 30000\n");
	renew(s, NULL, NULL);
	scene_submit(s, REDLOCK_OP_ACQUIRE, 3, 3);
	say(s, "+OK\r\n");
	expect_heard(s, "SET job token3 NX PX 30000\n");
	say(s, "+OK\r\n");
	expect_heard(s, "");
	expect_answers(s, "acquire #1 YES\nacquire #2 YES\nacquire #3 YES\n");
}

/* A refused login leaves the connection and costs no vote. It is remembered, without a secret, until one
 * succeeds. */
TEST(refused)
{
	static const struct {
		const char *reply;
		enum redlock_vote_code failure;
		const char *text;
	} cases[] = {
	    {"-WRONGPASS invalid username-password pair or user is disabled.\r\n", REDLOCK_VOTE_AUTH,
	     "the new credentials are refused: WRONGPASS invalid username-password pair or user is disabled."},
	    {"-ERR unknown command 'AUTH', with args beginning with: 'me' 'new'\r\n", REDLOCK_VOTE_COMMAND,
	     "the new credentials are refused: ERR unknown command 'AUTH'"},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		own_scene *s = open_with("me:old@", "AUTH me old\n");
		scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
		renew(s, "me", "new");
		scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 2);
		say(s, "+OK\r\n");
		say(s, cases[i].reply);
		say(s, "+OK\r\n");
		expect_answers(s, "acquire #1 YES\nacquire #2 YES\n");
		assert_int_equal(s->node.link.state, RL_LINK_OPEN);
		expect_failure(s, cases[i].failure, cases[i].text);
		scene_heard(s);
		if (cases[i].failure == REDLOCK_VOTE_AUTH) {
			renew(s, "me", "newer"); /* what was refused is not in force any more */
			assert_int_equal(s->node.link.failure, REDLOCK_VOTE_PENDING);
			expect_heard(s, "AUTH me newer\n");
			say(s, "+OK\r\n");
			assert_string_equal(s->node.link.failure_text, "");
		}
	}
}

/* While the connection is made no byte has left: it opens with the new ones. */
TEST(while_connecting)
{
	own_scene *s = scene_open("me:old@", "?db=3");
	scene_submit(s, REDLOCK_OP_ACQUIRE, 1, 1);
	assert_int_equal(s->node.link.state, RL_LINK_CONNECTING);
	change(s, "me", "new");
	scene_accept(s);
	scene_reply(s, "AUTH me new\nSELECT 3\n" HELLO, "+OK\r\n+OK\r\n");
	expect_heard(s, "SET job token1 NX PX 30000\n"); /* the gate is the same */
}

/* When the first login is under way and refused, the next connection is made at once with the new ones. */
TEST(while_logging_in)
{
	own_scene *s = scene_open("me:old@", "");
	s->node.link.backoff.failures = 4;
	scene_play(s, "connect; accept");
	expect_heard(s, "AUTH me old\n" HELLO);
	renew(s, "me", "new");
	expect_heard(s, ""); /* nothing leaves before the first is answered */
	scene_say(s, "-WRONGPASS no\r\n");
	assert_true(s->node.link.state == RL_LINK_DOWN);
	assert_true(rl_link_deadline(&s->node.link) <= s->now_ns);
	scene_play(s, "tick; turn; accept");
	expect_heard(s, "AUTH me new\n" HELLO);
	scene_say(s, "-WRONGPASS no\r\n"); /* these are refused too: now it waits */
	assert_in_range(rl_link_deadline(&s->node.link) - s->now_ns, rl_time_ms(50), rl_time_ms(100));
}

/* When the first login is accepted, the second follows on the same connection. */
TEST(while_logging_in_accepted)
{
	own_scene *s = scene_begin("me:old@", "", "acquire 1 #1; accept; hear");
	renew(s, "me", "new");
	say(s, "+OK\r\n");
	expect_heard(s, "SET job token1 NX PX 30000\n");
	say(s, ":1\r\n-NOPERM no\r\n" NO_NATIVE);
	expect_heard(s, "");
	say(s, "+OK\r\n");
	expect_heard(s, "AUTH me new\n");
	say(s, "-WRONGPASS no\r\n");
	expect_answers(s, "acquire #1 YES\n");
	assert_int_equal(s->node.link.state, RL_LINK_OPEN);
}

/* A node that refused the old ones does not wait for the end of its backoff; one that is down for another
 * reason does. */
TEST(while_backed_off)
{
	own_scene *s = scene_open("me:old@", "");
	for (unsigned i = 0; i < 5; i++) {
		s->now_ns = rl_time_max(s->now_ns, s->node.link.backoff.retry_at_ns);
		scene_play(s, "connect; accept; hear");
		scene_say(s, "-WRONGPASS no\r\n");
	}
	assert_int_equal(s->node.link.backoff.failures, 5);
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	renew(s, "me", "new");
	scene_accept(s);
	expect_heard(s, "AUTH me new\n" HELLO);
	assert_int_equal(s->node.link.backoff.failures, 0); /* those were of the old ones */
	scene_say(s, "+OK\r\n");
	assert_int_equal(s->node.link.failure, REDLOCK_VOTE_PENDING); /* nothing is wrong with it */
	scene_close(s);

	s = scene_open("me:old@", "");
	scene_play(s, "connect; accept; hang up; turn");
	uint64_t retry_at_ns = s->node.link.backoff.retry_at_ns;
	renew(s, "me", "new");
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	assert_true(s->node.link.backoff.retry_at_ns == retry_at_ns);
}

/* An AUTH that is not answered ends the connection, and is nobody's. It does not count as one that failed to
 * open: the next one comes soon. */
TEST(unanswered)
{
	own_scene *s = open_with("me:old@", "AUTH me old\n");
	s->now_ns = rl_time_ms(100000);
	renew(s, "me", "new");
	assert_true(rl_link_deadline(&s->node.link) == rl_time_ms(105000));
	scene_at(s, 105000);
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	assert_int_equal(s->node.link.backoff.failures, 0);
	expect_answers(s, "");
	assert_int_equal(rl_node_owed(&s->node), 0);
}

/* ---- what is left in memory ---- */

/* In the bytes that were ever used. */
static bool contains(const struct rl_outbox *o, size_t used, const char *text)
{
	for (size_t i = 0; i + strlen(text) <= used; i++)
		if (memcmp(o->bytes + i, text, strlen(text)) == 0)
			return true;
	return false;
}

TEST(wiped_when_answered)
{
	struct rl_endpoint e = {.password = rl_secret_copy("hunter22", 8)};
	struct rl_outbox o = {0};
	char filler[200];
	memset(filler, '.', sizeof filler);
	const struct rl_entry plain = {.operation = REDLOCK_OP_ACQUIRE};
	/* The AUTH follows answered entries, so that it is shifted down, and the buffer is nearly full. */
	for (unsigned i = 0; i < 4; i++)
		assert_true(rl_outbox_push(&o, &plain, (struct rl_slice){filler, sizeof filler}));
	assert_true(rl_auth_push(&o, &e));
	char *first = o.bytes;
	size_t used = o.tail;
	for (unsigned i = 0; i < 4; i++)
		rl_outbox_pop(&o);
	assert_true(contains(&o, used, "hunter22"));
	assert_true(rl_outbox_push(&o, &plain, (struct rl_slice){filler, sizeof filler}));
	assert_true(rl_outbox_push(&o, &plain, (struct rl_slice){filler, 100}));
	assert_ptr_equal(o.bytes, first);
	assert_true(o.head == 0 && o.tail < used - 10); /* it was moved */
	rl_outbox_pop(&o);
	assert_false(contains(&o, used, "hunter22"));
	rl_outbox_free(&o);
	rl_secret_free(e.password);
}

TESTS()
