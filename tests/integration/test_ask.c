/* SPDX-License-Identifier: MIT */
/* Plain questions to real servers: answers of every kind, in order, and what becomes of those without one. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <redlock/ask.h>

#include "child.h"
#include "fixture.h"

enum { NODES = 5, SHORT_MS = 300 };

static redlock_client *client;
static redlock_asker *asker;

static void begin(const struct redlock_options *options)
{
	client = fixture_open_with(options);
	assert_int_equal(redlock_asker_open(client, &asker), 0);
}

static void begin_plain(void)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	begin(&options);
}

static void end(void)
{
	redlock_asker_close(asker);
	redlock_close(client);
}

#define ASK(at, ...)                                                                                         \
	(struct redlock_question)                                                                                \
	{                                                                                                        \
		.size = sizeof(struct redlock_question), .node = (at),                                               \
		.argc = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), .argv = (const char *[])             \
		{                                                                                                    \
			__VA_ARGS__                                                                                      \
		}                                                                                                    \
	}

static int ask_one(struct redlock_question *q, uint64_t timeout_ms)
{
	return redlock_ask(asker, q, 1, timeout_ms);
}

#define expect_answer(q, want_kind, want_text)                                                               \
	do {                                                                                                     \
		assert_non_null((q).reply);                                                                          \
		assert_int_equal((q).reply->kind, want_kind);                                                        \
		assert_string_equal((q).reply->text, want_text);                                                     \
		assert_true((q).sent_ns > 0 && (q).answered_ns >= (q).sent_ns);                                      \
		assert_string_equal((q).error, "");                                                                  \
	} while (0)

TEST(answers_of_every_kind)
{
	begin_plain();
	static const size_t lengths[] = {4, 33, 1, 3, 3};
	struct redlock_question q[] = {
	    ASK(0, "SET", "key", "value"),
	    ASK(0, "GET", "key"),
	    ASK(1, "GET", "key"),
	    ASK(0, "STRLEN", "key"),
	    ASK(0, "NOSUCH"),
	    ASK(2, "EVAL", "return {KEYS[1], {#ARGV[1], 7}}  ", "1", "k\0y", "a\0b"),
	    ASK(0, "SCAN", "0"),
	};
	q[5].argv_len = lengths;
	assert_int_equal(redlock_ask(asker, q, 7, WAIT_SOON_MS), 0);
	expect_answer(q[0], REDLOCK_REPLY_STATUS, "OK");
	expect_answer(q[1], REDLOCK_REPLY_STRING, "value");
	expect_answer(q[2], REDLOCK_REPLY_NIL, "");
	expect_answer(q[3], REDLOCK_REPLY_INTEGER, "");
	assert_int_equal(q[3].reply->integer, 5);
	assert_int_equal(q[4].reply->kind, REDLOCK_REPLY_ERROR);
	expect_answer(q[5], REDLOCK_REPLY_ARRAY, "");
	const struct redlock_reply *item = q[5].reply->items;
	assert_int_equal(q[5].reply->count, 2);
	assert_memory_equal(item[0].text, "k\0y", 4);
	assert_int_equal(item[0].length, 3);
	assert_int_equal(item[1].count, 2);
	assert_int_equal(item[1].items[0].integer, 3);
	/* A question may quote the answers before it. */
	struct redlock_question quote = ASK(0, "TYPE", q[6].reply->items[1].items[0].text);
	assert_int_equal(ask_one(&quote, WAIT_SOON_MS), 0);
	expect_answer(quote, REDLOCK_REPLY_STATUS, "string");
	end();
}

TEST(many_and_long_ones_in_their_order)
{
	enum { COUNT = 3000 };
	static struct redlock_question q[COUNT];
	static char number[COUNT][8];
	static char large[300000];
	begin_plain();
	memset(large, 'x', sizeof large - 1);
	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(number[i], sizeof number[i], "%u", i);
		static const char *argv[COUNT][2];
		argv[i][0] = "ECHO";
		argv[i][1] = i % 1000 == 7 ? large : number[i];
		q[i] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i % NODES, .argc = 2, .argv = argv[i]};
	}
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(redlock_ask(asker, q, COUNT, WAIT_SOON_MS), 0);
		for (unsigned i = 0; i < COUNT; i++)
			expect_answer(q[i], REDLOCK_REPLY_STRING, q[i].argv[1]);
	}
	assert_int_equal(redlock_ask(asker, NULL, 0, 0), 0);
	end();
}

/* Each node as it may be, beside others that answer; and again when it is well. */
TEST(nodes_that_do_not_answer)
{
	begin_plain();
	static const char *const ping[] = {"PING"};
	struct redlock_question q[NODES];
	for (unsigned i = 0; i < NODES; i++)
		q[i] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i, .argc = 1, .argv = ping};
	assert_int_equal(redlock_ask(asker, q, NODES, WAIT_SOON_MS), 0);
	server_pause(&servers.server[1]);
	server_kill(&servers.server[2]);
	/* the client's connection, and the asker's */
	server_must(&servers.server[3], "2", "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL);
	uint64_t start_ns = wait_now_ns();
	assert_int_equal(redlock_ask(asker, q, NODES, SHORT_MS), 2);
	assert_true(wait_elapsed_ms(start_ns) >= SHORT_MS);
	expect_answer(q[0], REDLOCK_REPLY_STATUS, "PONG");
	assert_vote_is(q[1].missing, REDLOCK_VOTE_TIMEOUT);
	assert_string_equal(q[1].error, "no answer in time");
	assert_vote_is(q[2].missing, REDLOCK_VOTE_DOWN);
	assert_null(q[2].reply);
	assert_int_equal(q[2].sent_ns, 0);
	expect_answer(q[3], REDLOCK_REPLY_STATUS, "PONG");
	server_resume(&servers.server[1]);
	server_restart(&servers.server[2]);
	assert_int_equal(redlock_ask(asker, q, NODES, WAIT_SOON_MS), 0);
	end();
}

/* ---- a cluster ---- */

/* Answers with its argument, or as the server's key `next` says: plain servers play the members of a cluster,
 * of which the asker only knows what its URL says and what it is told. */
#define TELL "local n = redis.call('GET', 'next') if n then return redis.error_reply(n) end return ARGV[1]"

static void send_on(unsigned from, const char *how, unsigned to)
{
	char text[64];
	snprintf(text, sizeof text, "%s 1 127.0.0.1:%d", how, servers.server[to].port);
	server_must(&servers.server[from], "OK", "SET", "next", text, NULL);
}

static void begin_cluster(void)
{
	static char url[64];
	static const char *const urls[] = {url};
	snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d/", servers.server[0].port);
	struct redlock_options options = fixture_client(urls, 1);
	begin(&options);
}

TEST(a_key_of_another_server_of_a_cluster)
{
	send_on(0, "MOVED", 1);
	send_on(1, "ASK", 2);
	begin_cluster();
	struct redlock_question q[] = {ASK(0, "EVAL", TELL, "0", "one"), ASK(0, "ECHO", "here"),
	                               ASK(0, "EVAL", TELL, "0", "two")};
	assert_int_equal(redlock_ask(asker, q, 3, WAIT_SOON_MS), 0);
	expect_answer(q[0], REDLOCK_REPLY_STRING, "one");
	expect_answer(q[1], REDLOCK_REPLY_STRING, "here");
	expect_answer(q[2], REDLOCK_REPLY_STRING, "two");
	/* A question may quote the answers before it, wherever they came from. */
	struct redlock_question quote = ASK(0, "EVAL", TELL, "0", q[2].reply->text);
	assert_int_equal(ask_one(&quote, WAIT_SOON_MS), 0);
	expect_answer(quote, REDLOCK_REPLY_STRING, "two");
	server_pause(&servers.server[2]);
	assert_int_equal(redlock_ask(asker, q, 2, SHORT_MS), 1);
	assert_vote_is(q[0].missing, REDLOCK_VOTE_TIMEOUT);
	expect_answer(q[1], REDLOCK_REPLY_STRING, "here");
	server_resume(&servers.server[2]);
	end();
}

TEST(servers_that_send_questions_round_in_a_circle)
{
	send_on(0, "MOVED", 1);
	send_on(1, "MOVED", 0);
	begin_cluster();
	struct redlock_question q = ASK(0, "EVAL", TELL, "0", "one");
	assert_int_equal(ask_one(&q, WAIT_SOON_MS), 0);
	assert_int_equal(q.reply->kind, REDLOCK_REPLY_ERROR);
	assert_memory_equal(q.reply->text, "MOVED 1 ", 8);
	end();
}

/* A caller who names servers is told what each of them says; and a node of its own is no cluster. */
TEST(a_server_that_was_named_answers_itself)
{
	char address[32];
	const char *const list[] = {address};
	redlock_asker *of_servers;
	send_on(0, "MOVED", 1);
	begin_cluster();
	snprintf(address, sizeof address, "127.0.0.1:%d", servers.server[0].port);
	assert_int_equal(redlock_asker_open_servers(client, 0, list, 1, &of_servers), 0);
	struct redlock_question q = ASK(0, "EVAL", TELL, "0", "one");
	assert_int_equal(redlock_ask(of_servers, &q, 1, WAIT_SOON_MS), 0);
	assert_int_equal(q.reply->kind, REDLOCK_REPLY_ERROR);
	redlock_asker_close(of_servers);
	end();
	begin_plain();
	assert_int_equal(ask_one(&q, WAIT_SOON_MS), 0);
	assert_int_equal(q.reply->kind, REDLOCK_REPLY_ERROR);
	end();
}

/* ---- logins, and answers that cannot be used ---- */

TEST(login_database_and_refusals)
{
	static char right[160], wrong[160], database[160];
	snprintf(right, sizeof right, "unix://:pw@%s", servers.server[0].socket);
	snprintf(wrong, sizeof wrong, "unix://:no@%s", servers.server[1].socket);
	snprintf(database, sizeof database, "%s?db=3", servers.server[2].url);
	const char *const urls[] = {right, wrong, database};
	for (unsigned i = 0; i < 2; i++) {
		server_must(&servers.server[i], "OK", "CONFIG", "SET", "requirepass", "pw", NULL);
		snprintf(servers.server[i].password, sizeof servers.server[i].password, "pw");
	}
	struct redlock_options options = fixture_client(urls, 3);
	begin(&options);
	struct redlock_question q[] = {ASK(0, "PING"), ASK(1, "PING"), ASK(1, "PING"), ASK(2, "SET", "k", "v")};
	assert_int_equal(redlock_ask(asker, q, 4, WAIT_SOON_MS), 2);
	expect_answer(q[0], REDLOCK_REPLY_STATUS, "PONG");
	assert_vote_is(redlock_question_vote(&q[0]), REDLOCK_VOTE_YES);
	for (unsigned i = 1; i < 3; i++) {
		assert_vote_is(q[i].missing, REDLOCK_VOTE_AUTH);
		assert_vote_is(redlock_question_vote(&q[i]), REDLOCK_VOTE_AUTH);
		assert_int_equal(q[i].sent_ns, 0);
	}
	assert_false(server_has(&servers.server[2], "k"));
	end();
	for (unsigned i = 0; i < 2; i++) {
		server_must(&servers.server[i], "OK", "CONFIG", "SET", "requirepass", "", NULL);
		servers.server[i].password[0] = '\0';
	}
}

/* The errors of servers mean the same as in an operation. */
TEST(errors_as_votes)
{
	begin_plain();
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "default", "-get", NULL);
	struct redlock_question q[] = {ASK(0, "GET", "k"),    ASK(1, "LPUSH", "list", "a"),
	                               ASK(1, "GET", "list"), ASK(2, "NONE"),
	                               ASK(2, "ECHO"),        ASK(2, "GET", "k")};
	static const enum redlock_vote_code votes[] = {REDLOCK_VOTE_NOPERM, REDLOCK_VOTE_YES,
	                                               REDLOCK_VOTE_NO,     REDLOCK_VOTE_COMMAND,
	                                               REDLOCK_VOTE_SERVER, REDLOCK_VOTE_YES};
	assert_int_equal(redlock_ask(asker, q, 6, WAIT_SOON_MS), 0);
	for (unsigned i = 0; i < 6; i++)
		assert_vote_is(redlock_question_vote(&q[i]), votes[i]);
	q[0].size--;
	assert_vote_is(redlock_question_vote(&q[0]), REDLOCK_VOTE_PENDING);
	assert_vote_is(redlock_question_vote(NULL), REDLOCK_VOTE_PENDING);
	server_must(&servers.server[0], "OK", "ACL", "SETUSER", "default", "+get", NULL);
	end();
}

/* A newer program, whose questions are longer. */
TEST(questions_of_another_size)
{
	begin_plain();
	struct {
		struct redlock_question question;
		char later[24];
	} q[] = {{.question = ASK(0, "ECHO", "a")}, {.question = ASK(1, "ECHO", "b")}};
	q[0].question.size = q[1].question.size = sizeof q[0];
	assert_int_equal(redlock_ask(asker, &q[0].question, 2, WAIT_SOON_MS), 0);
	expect_answer(q[0].question, REDLOCK_REPLY_STRING, "a");
	expect_answer(q[1].question, REDLOCK_REPLY_STRING, "b");
	q[1].question.size--;
	assert_int_equal(redlock_ask(asker, &q[0].question, 2, 0), REDLOCK_E_INVAL);
	q[0].question.size = sizeof q[0].question - 1;
	assert_int_equal(redlock_ask(asker, &q[0].question, 1, 0), REDLOCK_E_INVAL);
	end();
}

TEST(arguments)
{
	begin_plain();
	struct redlock_question good = ASK(0, "PING"), bad[] = {good, good, good};
	bad[0].node = NODES;
	bad[1].argc = 0;
	bad[2].argv = NULL;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(ask_one(&bad[i], 0), REDLOCK_E_INVAL);
	assert_int_equal(ask_one(&good, 0), 1);
	assert_vote_is(good.missing, REDLOCK_VOTE_UNSENT);
	pid_t pid = child_fork();
	if (pid == 0) {
		int error = ask_one(&good, 1000);
		redlock_asker_close(asker);
		redlock_close(client);
		_exit(error == REDLOCK_E_FORKED ? 0 : 1);
	}
	assert_int_equal(child_join(pid), 0);
	assert_int_equal(ask_one(&good, WAIT_SOON_MS), 0);
	end();
}

/* The server's error then is no answer. */
TEST(a_server_that_has_no_room)
{
	begin_plain();
	struct redlock_question q = ASK(4, "PING");
	assert_soon(fixture_status(client, 4).run_id[0] || redlock_process(client) < 0);
	server_must(&servers.server[4], "OK", "CONFIG", "SET", "maxclients", "1", NULL);
	assert_int_equal(ask_one(&q, WAIT_SOON_MS), 1);
	assert_string_equal(q.error, "ERR max number of clients reached");
	end();
	assert_soon(strcmp(server_ask(&servers.server[4], &(struct raw_reply){0}, "CONFIG", "SET", "maxclients",
	                              "100", NULL),
	                   "OK") == 0);
}

static void on_alarm(int number)
{
	(void)number;
}

TEST(signals_end_it_if_that_is_wanted)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	signal(SIGALRM, on_alarm);
	for (options.interruptible = 0; options.interruptible < 2; options.interruptible++) {
		begin(&options);
		struct redlock_question q = ASK(0, "PING");
		server_pause(&servers.server[0]);
		ualarm(SHORT_MS * 500, 0);
		uint64_t start_ns = wait_now_ns();
		int want = options.interruptible ? REDLOCK_E_INTERRUPTED : 1;
		assert_int_equal(ask_one(&q, options.interruptible ? WAIT_SOON_MS : SHORT_MS), want);
		assert_true(wait_elapsed_ms(start_ns) < WAIT_SOON_MS / 2);
		assert_null(q.reply);
		server_resume(&servers.server[0]);
		end();
	}
	signal(SIGALRM, SIG_DFL);
}

SERVER_TESTS(NODES)
