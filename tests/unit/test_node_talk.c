/* SPDX-License-Identifier: MIT */
/* A node that runs no scripts, or has commands of its own for them: the form of its requests, which of them
 * are asked again, which wait for others, and which a broken connection leaves. */
#include "scene.h"

#include "net/auth.h"

#define RUN_ID "$47\r\nrun_id:0000000000000000000000000000000000000007\r\n"
#define NO_EVAL "-NOPERM this user has no permissions to run the 'eval' command\r\n"
#define NO_MULTI "-NOPERM this user has no permissions to run the 'multi' command\r\n"
#define OPENED "+OK\r\n*0\r\n+OK\r\n"
#define READ "MULTI\nEXEC\nWATCH job\nGETRANGE job 0 6\n"
#define VALUE(token) "$6\r\n" token "\r\n"

/* A connection that is open; the server answers the probe so. */
static struct scene *open_scene(const char *probe)
{
	struct scene *s = scene_open("", "");
	char bytes[256];
	scene_play(s, "connect; accept");
	expect_heard(s, HELLO);
	snprintf(bytes, sizeof bytes, ":7\r\n" RUN_ID "%s", probe);
	scene_say(s, bytes);
	return s;
}

/* A node that has refused EVAL: its first release was asked again under WATCH, and has found nothing. */
static struct scene *without_scripts(void)
{
	struct scene *s = open_scene(NO_NATIVE);
	scene_submit(s, REDLOCK_OP_RELEASE, 0, 1);
	scene_reply(s, "EVAL release 1 job token0\n", NO_EVAL);
	expect_answers(s, ""); /* a refusal is no vote */
	scene_reply(s, READ, OPENED "$0\r\n\r\n");
	expect_answers(s, "release #1 NO\n");
	expect_heard(s, "");
	return s;
}

static const char *next_connection(struct scene *s)
{
	scene_play(s, "hang up; turn; due; tick; accept");
	return scene_heard(s);
}

static enum redlock_vote_code submit(struct scene *s, enum redlock_operation operation, const char *name,
                                     unsigned slot, uint32_t seq, bool own)
{
	char token[32];
	struct rl_request request = {
	    .operation = operation,
	    .tag = {.slot = slot, .seq = seq},
	    .name = {name, strlen(name)},
	    .token = {token, (size_t)snprintf(token, sizeof token, "token%u", slot)},
	    .ttl_ms = 30000,
	    .owed = operation == REDLOCK_OP_RELEASE ? 1u << 3 : 0,
	    .own_value = own,
	    .unqueued = true,
	};
	return scene_request(s, &request);
}

TEST(native_commands)
{
	static const struct {
		const char *probe;
		const char *heard;
	} cases[] = {
	    {"*2\r\n*3\r\n$5\r\ndelex\r\n:-2\r\n*2\r\n+write\r\n+fast\r\n*-1\r\n", "DELEX job IFEQ token1\n"},
	    {"*2\r\n*-1\r\n*2\r\n$7\r\ndelifeq\r\n*1\r\n*1\r\n*1\r\n$5\r\nflags\r\n", "DELIFEQ job token1\n"},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		own_scene *s = open_scene(cases[i].probe);
		scene_submit(s, REDLOCK_OP_RELEASE, 1, 1);
		expect_heard(s, cases[i].heard);
		scene_vote(s, ":1\r\n", "release #1 YES\n");
		scene_play(s, "release 1 #2; release 1 #3; hear");
		scene_say(s, ":0\r\n-ERR Key should be of string type if conditions are specified\r\n");
		expect_answers(s, "release #2 NO\nrelease #3 NO\n");
		scene_submit(s, REDLOCK_OP_EXTEND, 1, 4); /* none of them extends without ever shortening */
		scene_reply(s, "EVAL extend 1 job token1 30000\n", ":1\r\n");
		expect_answers(s, "extend #4 YES\n");
	}
}

/* The server of a name is replaced by an older one: requests for which it lacks the command are asked in the
 * next form. */
TEST(native_lost)
{
	own_scene *s = open_scene("*2\r\n*1\r\n$5\r\ndelex\r\n*1\r\n$7\r\ndelifeq\r\n");
	scene_owe(s, 1, 2);
	expect_heard(s, "DELEX job IFEQ token1\n");
	scene_say(s, "-ERR unknown command 'DELEX', with args beginning with: 'job'\r\n");
	scene_reply(s, "DELIFEQ job token1\n", "-ERR unknown command 'DELIFEQ'\r\n");
	expect_answers(s, "");
	scene_reply(s, "EVAL release 1 job token1\n", NO_EVAL);
	scene_reply(s, READ, OPENED VALUE("token1"));
	expect_heard(s, "MULTI\nDEL job\nEXEC\n");
	assert_int_equal(rl_node_owed(&s->node), 1);
	scene_vote(s, "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n", "release #2 YES\n");
	assert_int_equal(rl_node_owed(&s->node) + s->node.ledger.lingering, 0);
}

/* EVALSHA may be denied, and EVAL not; after NOSCRIPT too. */
TEST(digest_refused)
{
	own_scene *s = open_scene(NO_NATIVE);
	s->node.methods.knows |= UINT64_C(1) << RL_SCRIPT_RELEASE;
	scene_play(s, "release 1 #1; release 2 #2; hear");
	scene_say(s, "-NOSCRIPT x\r\n-NOPERM no right to run the 'evalsha' command\r\n");
	scene_reply(s, "EVAL release 1 job token1\nEVAL release 1 job token2\n", ":1\r\n:0\r\n");
	expect_answers(s, "release #1 YES\nrelease #2 NO\n");
	scene_submit(s, REDLOCK_OP_RELEASE, 3, 3);
	expect_heard(s, "EVAL release 1 job token3\n");
}

/* An error about the key is a vote, and the form stays. */
TEST(key_forbidden)
{
	own_scene *s = open_scene(NO_NATIVE);
	scene_play(s, "release 1 #1; hear");
	scene_say(s, "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n");
	expect_answers(s, "release #1 NOPERM\n");
	expect_heard(s, "");
}

TEST(by_transaction)
{
	own_scene *s = without_scripts();
	scene_play(s, "acquire 1 #2; extend 1 #3");
	expect_heard(s, "SET job token1 NX PX 30000\nMULTI\nEXEC\nWATCH job\nGETRANGE job 0 6\nPTTL job\n");
	submit(s, REDLOCK_OP_ACQUIRE, "other", 2, 4, false); /* goes on meanwhile */
	scene_reply(s, "SET other token2 NX PX 30000\n", "+OK\r\n" OPENED VALUE("token1") ":20000\r\n+OK\r\n");
	scene_reply(s, "MULTI\nPEXPIRE job 30000\nEXEC\n", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
	expect_answers(s, "acquire #2 YES\nacquire #4 YES\nextend #3 YES\n");
	scene_submit(s, REDLOCK_OP_QUERY, 1, 5);
	expect_heard(s, "MULTI\nEXEC\nMULTI\nTYPE job\nPTTL job\nSTRLEN job\nGETRANGE job 0 1023\nEXEC\n");
	scene_say(s, "+OK\r\n*0\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
	             "*4\r\n+string\r\n:9\r\n:6\r\n" VALUE("token1"));
	expect_answers(s, "query #5 YES\n");
	assert_true(rl_link_deadline(&s->node.link) == UINT64_MAX);
}

TEST(order_of_one_name)
{
	own_scene *s = without_scripts();
	scene_play(s, "owe 1 #2; acquire 2 #3; owe 2 #4");
	scene_reply(s, READ, OPENED VALUE("token1"));
	expect_heard(s, "MULTI\nDEL job\nEXEC\n");
	assert_int_equal(rl_node_owed(&s->node), 2);
	scene_vote(s, "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n", "release #2 YES\n");
	scene_reply(s, "SET job token2 NX PX 30000\n" READ, "+OK\r\n" OPENED VALUE("token2"));
	scene_reply(s, "MULTI\nDEL job\nEXEC\n", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
	expect_answers(s, "acquire #3 YES\nrelease #4 YES\n");
	assert_int_equal(rl_node_owed(&s->node) + s->node.ledger.lingering, 0);
}

/* Eight at a time; when a key was touched, the first one alone. */
TEST(batches)
{
	own_scene *s = without_scripts();
	for (unsigned i = 1; i <= 9; i++)
		scene_submit(s, REDLOCK_OP_RELEASE, i, i);
	scene_heard(s);
	scene_say(s, OPENED);
	for (unsigned i = 1; i <= 8; i++)
		scene_say(s, i == 2 ? VALUE("token2") : "$0\r\n\r\n");
	expect_heard(s, "MULTI\nDEL job\nEXEC\n");
	expect_answers(s, "");
	scene_vote(s, "+OK\r\n+QUEUED\r\n*-1\r\n", "release #1 NO\n");
	expect_heard(s, READ); /* #2 */
	scene_vote(s, OPENED "$0\r\n\r\n", "release #2 NO\n");
	assert_non_null(strstr(scene_heard(s), "WATCH job job job job job job job\n"));
}

TEST(touched_for_ever)
{
	own_scene *s = without_scripts();
	unsigned rounds = 0;
	scene_play(s, "owe 1 #2; turn");
	for (; s->answers_used == 0; rounds++) {
		assert_true(rounds < 100);
		scene_say(s, OPENED VALUE("token1"));
		scene_say(s, "+OK\r\n+QUEUED\r\n*-1\r\n");
	}
	assert_in_range(rounds, 5, 50);
	expect_answers(s, "release #2 BLOCKED\n");
	assert_int_equal(s->node.ledger.lingering, 1);
	assert_non_null(strstr(s->node.link.failure_text, "touched"));
}

/* No way is left: that is the vote of all that wait, and the next one tries anew. */
TEST(nothing_permitted)
{
	own_scene *s = without_scripts();
	for (unsigned i = 1; i <= 10; i++)
		scene_submit(s, REDLOCK_OP_RELEASE, i, i);
	scene_submit(s, REDLOCK_OP_ACQUIRE, 11, 11); /* waits with them, and is not refused */
	scene_heard(s);
	scene_say(s, NO_MULTI "-ERR EXEC without MULTI\r\n+OK\r\n");
	for (unsigned i = 1; i <= 8; i++)
		scene_say(s, i == 1 ? "-WRONGTYPE x\r\n" : "$0\r\n\r\n");
	expect_answers(s, "release #1 NO\nrelease #2 NOPERM\nrelease #3 NOPERM\nrelease #4 NOPERM\n"
	                  "release #5 NOPERM\nrelease #6 NOPERM\nrelease #7 NOPERM\nrelease #8 NOPERM\n"
	                  "release #9 NOPERM\nrelease #10 NOPERM\n");
	assert_non_null(strstr(s->node.link.failure_text, "permit +eval +evalsha or +watch"));
	expect_heard(s, "SET job token11 NX PX 30000\n");
	scene_submit(s, REDLOCK_OP_RELEASE, 1, 12);
	expect_heard(s, "EVAL release 1 job token1\n");
}

/* A command that was renamed away: the hint is not lost after the arguments that the server repeats. */
TEST(nothing_known)
{
	own_scene *s = without_scripts();
	scene_play(s, "release 1 #1; hear");
	scene_say(s,
	          "-ERR unknown command 'MULTI', with args beginning with: \r\n-ERR EXEC without MULTI\r\n+OK\r\n"
	          "$0\r\n\r\n");
	expect_answers(s, "release #1 COMMAND\n");
	assert_string_equal(s->node.link.failure_text,
	                    "ERR unknown command 'MULTI'; permit +eval +evalsha or +watch +multi "
	                    "+exec +getrange");
}

/* A release that finds no room becomes a debt. It is not paid before its SET has left. */
TEST(debt_after_a_parked_set)
{
	static char name[65536];
	memset(name, 'n', sizeof name - 1);
	own_scene *s = without_scripts();
	scene_owe(s, 1, 2);
	scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 3); /* parked */
	scene_turn(s);
	s->now_ns += rl_time_ms(200); /* no answer for a while: less is kept */
	for (unsigned i = 0; i < 6; i++)
		submit(s, REDLOCK_OP_RELEASE, name, 10 + i, 0, false);
	assert_int_equal(scene_owe(s, 2, 4), REDLOCK_VOTE_BACKLOG);
	s->node.methods.has |= RL_FORM_BIT(RL_FORM_DELEX); /* as if it had become possible */
	scene_reply(s, READ, OPENED VALUE("token1"));
	scene_heard(s);
	scene_say(s, "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
	const char *heard = scene_heard(s);
	assert_memory_equal(heard, "SET job token2 NX PX 30000\n", 27);
	assert_null(strstr(heard, "DELEX job IFEQ token2"));
}

/* A parked request may be asked natively in the end, and be refused so. */
TEST(parked_then_refused)
{
	own_scene *s = without_scripts();
	scene_owe(s, 1, 2);
	expect_heard(s, READ);
	scene_owe(s, 2, 3);
	s->node.methods.has |= RL_FORM_BIT(RL_FORM_DELEX); /* as if it had become possible */
	scene_vote(s, OPENED "$0\r\n\r\n", "release #2 NO\n");
	expect_heard(s, "DELEX job IFEQ token2\n");
	scene_say(s, "-ERR unknown command 'DELEX', with args beginning with: 'job'\r\n");
	scene_reply(s, READ, OPENED VALUE("token2"));
	scene_reply(s, "MULTI\nDEL job\nEXEC\n", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
	expect_answers(s, "release #3 YES\n");
}

/* MULTI without EXEC, and answers that no transaction has. */
TEST(useless_connection)
{
	own_scene *s = without_scripts();
	scene_play(s, "release 1 #1; turn");
	scene_say(s,
	          "+OK\r\n-ERR unknown command 'EXEC'\r\n-ERR WATCH inside MULTI is not allowed\r\n+QUEUED\r\n");
	expect_answers(s, "release #1 COMMAND\n");
	assert_int_equal(s->node.link.state, RL_LINK_DOWN);
	scene_close(s);
	s = without_scripts();
	scene_play(s, "release 1 #1; acquire 2 #2; turn");
	scene_vote(s, "+OK\r\n:1\r\n", "release #1 UNSENT\nacquire #2 UNSENT\n");
	assert_int_equal(s->node.link.failure, REDLOCK_VOTE_GARBAGE);
}

/* The connection breaks after each reply. Changes that may have been made are in doubt, nothing else; and the
 * release is owed in any case. */
TEST(broken_in_between)
{
	static const char *const replies[] = {"+OK\r\n", "*0\r\n",      "+OK\r\n", VALUE("token1"),
	                                      "+OK\r\n", "+QUEUED\r\n", "*1\r"};
	for (unsigned said = 0; said <= COUNT(replies); said++) {
		own_scene *s = without_scripts();
		scene_owe(s, 1, 2);
		scene_submit(s, REDLOCK_OP_ACQUIRE, 2, 3); /* parked after it */
		scene_owe(s, 2, 0);                        /* its SET is never sent: nothing to give back */
		scene_turn(s);
		for (unsigned i = 0; i < said; i++)
			scene_say(s, replies[i]);
		scene_play(s, "hang up; turn");
		expect_answers(s, said < 4 ? "release #2 UNSENT\nacquire #3 UNSENT\n"
		                           : "release #2 CLOSED\nacquire #3 UNSENT\n");
		expect_owed(s, 1, 0);
		assert_string_equal(next_connection(s), HELLO); /* what is known of it waits for its identity */
		scene_say(s, ":8\r\n" RUN_ID NO_NATIVE);
		scene_reply(s, READ, OPENED VALUE("token1"));
		scene_say(s, "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
		assert_int_equal(rl_node_owed(&s->node), 0);
	}
}

TEST(another_server)
{
	own_scene *s = without_scripts();
	scene_play(s, "owe 1 #2; turn");
	assert_string_equal(next_connection(s), HELLO);
	expect_answers(s, "release #2 UNSENT\n");
	scene_submit(s, REDLOCK_OP_QUERY, 1, 3);
	scene_reply(s, "", ":8\r\n$47\r\nrun_id:0000000000000000000000000000000000000008\r\n" NO_NATIVE);
	expect_heard(s, "EVAL vacate 2 job {job}:redlock:queue token1\nEVAL query 1 job\n");
}

/* A new login waits for the second step: its user may lack MULTI. No other begins meanwhile. */
TEST(login_in_between)
{
	own_scene *s = scene_begin(":pw@", "", "connect; accept");
	scene_reply(s, "AUTH pw\n" HELLO, "+OK\r\n:7\r\n" RUN_ID NO_NATIVE);
	s->node.methods.refused |= RL_FORMS_TEXT;
	scene_owe(s, 1, 2);
	expect_heard(s, READ);
	rl_node_renew(&s->node, s->now_ns);
	rl_auth_begin(&s->node.link, s->now_ns);
	scene_owe(s, 1, 3);
	scene_reply(s, "", OPENED VALUE("token1"));
	scene_reply(s, "MULTI\nDEL job\nEXEC\n", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
	scene_reply(s, "AUTH pw\n", "+OK\r\n");
	scene_reply(s, READ, OPENED "$0\r\n\r\n");
	expect_answers(s, "release #2 YES\nrelease #3 NO\n");
}

/* A caller's own value is not asked about again where a SET of its name waits for it. */
TEST(own_value)
{
	own_scene *s = open_scene(NO_NATIVE);
	submit(s, REDLOCK_OP_RELEASE, "job", 1, 1, true);
	submit(s, REDLOCK_OP_ACQUIRE, "other", 1, 2, true);
	scene_reply(s, "EVAL release 1 job token1\nSET other token1 NX PX 30000\n", NO_EVAL "+OK\r\n");
	scene_reply(s, READ, OPENED "$0\r\n\r\n");
	expect_answers(s, "acquire #2 YES\nrelease #1 NO\n");
	scene_close(s);

	s = open_scene(NO_NATIVE);
	submit(s, REDLOCK_OP_RELEASE, "job", 1, 1, true);
	submit(s, REDLOCK_OP_ACQUIRE, "job", 1, 2, true);
	scene_reply(s, "EVAL release 1 job token1\nSET job token1 NX PX 30000\n", NO_EVAL "+OK\r\n");
	expect_answers(s, "release #1 NOPERM\nacquire #2 YES\n");
	expect_heard(s, "");
	assert_int_equal(s->node.ledger.lingering, 1);
	submit(s, REDLOCK_OP_RELEASE, "job", 1, 3, true); /* now it is known: under WATCH, and the SET after it */
	submit(s, REDLOCK_OP_ACQUIRE, "job", 1, 4, true);
	scene_reply(s, READ, OPENED VALUE("token1"));
	scene_reply(s, "MULTI\nDEL job\nEXEC\n", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
	expect_heard(s, "SET job token1 NX PX 30000\n");
}

/* Two handles with one value of the caller's, in one batch: the later, shorter extend must not undo the
 * first, which has its vote. */
TEST(extends_of_one_key)
{
	own_scene *s = without_scripts();
	struct rl_request extend = {
	    .operation = REDLOCK_OP_EXTEND, .name = {"job", 3}, .token = {"token1", 6}, .own_value = true};
	for (unsigned i = 1; i <= 2; i++) {
		extend.tag = (struct rl_tag){.slot = i, .seq = i};
		extend.ttl_ms = i == 1 ? 60000 : 5000;
		scene_request(s, &extend);
	}
	scene_reply(s, READ "PTTL job\n", OPENED VALUE("token1") ":1000\r\n");
	scene_reply(s, "MULTI\nPEXPIRE job 60000\nEXEC\n", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
	expect_answers(s, "extend #1 YES\n");
	scene_reply(s, READ "PTTL job\n", OPENED VALUE("token1") ":59999\r\n");
	scene_reply(s, "MULTI\nPTTL job\nEXEC\n", "+OK\r\n+QUEUED\r\n*1\r\n:59999\r\n");
	expect_answers(s, "extend #2 YES\n");
}

/* The release of a value that is used again may still wait in the server's buffer when its connection is
 * gone. That connection is ended first, as for a SET. */
TEST(ghost_without_a_set)
{
	own_scene *s = open_scene(NO_NATIVE);
	submit(s, REDLOCK_OP_RELEASE, "job", 1, 1, true);
	expect_heard(s, "EVAL release 1 job token1\n");
	assert_string_equal(next_connection(s), HELLO);
	submit(s, REDLOCK_OP_ACQUIRE, "job", 1, 2, true);
	scene_reply(s, "", ":8\r\n" RUN_ID NO_NATIVE);
	expect_heard(s, "CLIENT KILL ID 7\nEVAL release 1 job token1\nSET job token1 NX PX 30000\n");
}

/* A value is not asked about again either where that SET is parked, after a release that was asked again
 * before it. */
TEST(own_value_after_a_parked_set)
{
	own_scene *s = open_scene(NO_NATIVE);
	submit(s, REDLOCK_OP_RELEASE, "job", 1, 1, true);
	submit(s, REDLOCK_OP_RELEASE, "job", 1, 2, true);
	scene_reply(s, "EVAL release 1 job token1\nEVAL release 1 job token1\n", NO_EVAL);
	expect_heard(s, READ);
	submit(s, REDLOCK_OP_ACQUIRE, "job", 1, 3, true);
	scene_vote(s, NO_EVAL, "release #2 NOPERM\n");
	scene_say(s, OPENED VALUE("token1"));
	scene_reply(s, "MULTI\nDEL job\nEXEC\n", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
	expect_answers(s, "release #1 YES\n");
	expect_heard(s, "SET job token1 NX PX 30000\n"); /* and nothing that would delete it */
	scene_vote(s, "+OK\r\n", "acquire #3 YES\n");
	expect_heard(s, "");
}

/* A release that is asked for while a broken connection is still handed out: its SET was parked, and never
 * left. */
TEST(release_while_breaking)
{
	own_scene *s = without_scripts();
	scene_play(s, "owe 1 #2; acquire 2 #3; flush");
	rl_link_fail(&s->node.link, REDLOCK_VOTE_CLOSED, "cut");
	assert_int_equal(scene_owe(s, 2, 0), REDLOCK_VOTE_DOWN);
	scene_turn(s);
	expect_answers(s, "release #2 UNSENT\nacquire #3 UNSENT\n");
	assert_int_equal(rl_node_owed(&s->node), 1);
}

TESTS()
