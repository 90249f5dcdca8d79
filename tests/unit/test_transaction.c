/* SPDX-License-Identifier: MIT */
/* Release, extend and query by WATCH and MULTI: what is sent, and what each answer leads to. */
#include "feed.h"
#include "proto/transaction.h"
#include "resp.h"
#include "unit.h"

static struct rl_transaction t;
static struct rl_resp resp;
static struct rl_buffer out;
static char text[4096];

#define REQUEST(op, key, value)                                                                              \
	((struct rl_request){.operation = REDLOCK_OP_##op,                                                       \
	                     .name = {key, sizeof key - 1},                                                      \
	                     .token = {value, sizeof value - 1},                                                 \
	                     .ttl_ms = 5000})

#define OPENED "+OK\r\n*0\r\n+OK\r\n"

/* The commands that were written, one on a line; forgets them. */
static const char *written(void)
{
	char *to = text;
	struct words words;
	for (size_t at = 0, size; at < out.size; at += size) {
		size = resp_command(out.bytes + at, out.size - at, &words);
		assert_true(size > 0 && size != RESP_WRONG);
		for (unsigned i = 0; i < words.count; i++)
			to += sprintf(to, "%s%.*s", i > 0 ? " " : "", (int)words.at[i].size, words.at[i].at);
		*to++ = '\n';
	}
	*to = '\0';
	out.size = 0;
	return text;
}

static const char *begin(const struct rl_request *requests, unsigned count)
{
	assert_true(rl_transaction_begin(&t, requests, count, &out));
	return written();
}

static const char *change(void)
{
	assert_true(rl_transaction_change(&t, &out));
	return written();
}

/* All replies but the last lead to MORE; returns what the last one leads to. */
static enum rl_progress say(const char *bytes)
{
	const struct rl_reply *reply;
	enum rl_progress progress = RL_PROGRESS_MORE;
	assert_true(feed(&resp, bytes, strlen(bytes)));
	while (rl_resp_next(&resp, &reply) == 1) {
		assert_int_equal(progress, RL_PROGRESS_MORE);
		progress = rl_transaction_take(&t, reply);
	}
	return progress;
}

/* The reply ends the step so, with this vote of the first part. */
#define expect(bytes, progress, code)                                                                        \
	do {                                                                                                     \
		assert_int_equal(say(bytes), RL_PROGRESS_##progress);                                                \
		assert_int_equal(t.parts[0].vote, REDLOCK_VOTE_##code);                                              \
	} while (0)

/* Two requests in the reading step, answered; the change is written. */
static void change_two(const struct rl_request r[2])
{
	begin(r, 2);
	assert_int_equal(say(OPENED "$3\r\none\r\n$3\r\ntwo\r\n:7\r\n"), RL_PROGRESS_GO_ON);
	change();
}

static void setup(void)
{
	memset(&t, 0, sizeof t);
	assert_true(rl_resp_open(&resp));
}

static void teardown(void)
{
	rl_resp_close(&resp);
	rl_transaction_free(&t);
	rl_buffer_free(&out);
	out = (struct rl_buffer){0};
}

TEST(release)
{
	struct rl_request r = REQUEST(RELEASE, "job", "token");
	assert_string_equal(begin(&r, 1), "MULTI\nEXEC\nWATCH job\nGETRANGE job 0 5\n");
	assert_int_equal(say(OPENED "$5\r\ntoken\r\n"), RL_PROGRESS_GO_ON);
	assert_string_equal(change(), "MULTI\nDEL job\nEXEC\n");
	expect("+OK\r\n+QUEUED\r\n*1\r\n:1\r\n", DONE, YES);
	assert_int_equal(t.step, RL_STEP_NONE);
}

/* A value that differs from the token, in any byte, is not deleted. */
TEST(others_values)
{
	static const char *const values[] = {"$0\r\n\r\n", "$6\r\ntokenx\r\n", "$4\r\ntoke\r\n",
	                                     "$5\r\ntokem\r\n", "-WRONGTYPE Operation against\r\n"};
	for (unsigned i = 0; i < COUNT(values); i++) {
		struct rl_request r = REQUEST(RELEASE, "job", "token");
		begin(&r, 1);
		assert_int_equal(say(OPENED), RL_PROGRESS_MORE);
		expect(values[i], DONE, NO);
		assert_string_equal(t.error, "");
	}
}

TEST(extend)
{
	static const struct {
		const char *left;
		const char *sent;
		const char *result;
		enum redlock_vote_code vote;
	} cases[] = {
	    {":4999\r\n", "MULTI\nPEXPIRE job 5000\nEXEC\n", ":1\r\n", REDLOCK_VOTE_YES},
	    {":0\r\n", "MULTI\nPEXPIRE job 5000\nEXEC\n", ":0\r\n", REDLOCK_VOTE_NO},
	    {":5000\r\n", "MULTI\nPTTL job\nEXEC\n", ":4990\r\n", REDLOCK_VOTE_YES}, /* never shortened */
	    {":-1\r\n", "MULTI\nPTTL job\nEXEC\n", ":-1\r\n", REDLOCK_VOTE_YES},
	    {":9000\r\n", "MULTI\nPTTL job\nEXEC\n", ":-2\r\n", REDLOCK_VOTE_NO},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		char replies[64];
		struct rl_request r = REQUEST(EXTEND, "job", "token");
		assert_string_equal(begin(&r, 1), "MULTI\nEXEC\nWATCH job\nGETRANGE job 0 5\nPTTL job\n");
		assert_int_equal(say(OPENED "$5\r\ntoken\r\n"), RL_PROGRESS_MORE);
		assert_int_equal(say(cases[i].left), RL_PROGRESS_GO_ON);
		assert_string_equal(change(), cases[i].sent);
		snprintf(replies, sizeof replies, "+OK\r\n+QUEUED\r\n*1\r\n%s", cases[i].result);
		assert_int_equal(say(replies), RL_PROGRESS_DONE);
		assert_int_equal(t.parts[0].vote, cases[i].vote);
	}
	struct rl_request r = REQUEST(EXTEND, "job", "token");
	begin(&r, 1);
	assert_int_equal(say(OPENED "$5\r\ntoken\r\n:-2\r\n"), RL_PROGRESS_DONE); /* expired in between */
	assert_int_equal(t.parts[0].vote, REDLOCK_VOTE_NO);
}

/* Several at once: each has its own vote, and only those that match take part in the change. */
TEST(batch)
{
	struct rl_request r[] = {REQUEST(RELEASE, "a", "one"), REQUEST(EXTEND, "b", "two"),
	                         REQUEST(RELEASE, "c", "three"), REQUEST(EXTEND, "d", "four")};
	assert_string_equal(begin(r, 4), "MULTI\nEXEC\nWATCH a b c d\nGETRANGE a 0 3\nGETRANGE b 0 3\nPTTL b\n"
	                                 "GETRANGE c 0 5\nGETRANGE d 0 4\nPTTL d\n");
	assert_int_equal(
	    say(OPENED "$3\r\none\r\n$3\r\ntwo\r\n:7\r\n$5\r\nother\r\n-LOADING x\r\n-LOADING x\r\n"),
	    RL_PROGRESS_GO_ON);
	assert_string_equal(change(), "MULTI\nDEL a\nPEXPIRE b 5000\nEXEC\n");
	assert_int_equal(say("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:0\r\n:1\r\n"), RL_PROGRESS_DONE);
	static const enum redlock_vote_code votes[] = {REDLOCK_VOTE_NO, REDLOCK_VOTE_YES, REDLOCK_VOTE_NO,
	                                               REDLOCK_VOTE_LOADING};
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(t.parts[i].vote, votes[i]);
	assert_string_equal(t.error, "LOADING x");
}

/* A key was touched: nothing has happened, what matched is to be asked again. */
TEST(touched)
{
	struct rl_request r[] = {REQUEST(RELEASE, "a", "one"), REQUEST(RELEASE, "b", "two")};
	begin(r, 2);
	assert_int_equal(say(OPENED "$0\r\n\r\n$3\r\ntwo\r\n"), RL_PROGRESS_GO_ON);
	change();
	expect("+OK\r\n+QUEUED\r\n*-1\r\n", DONE, NO);
	assert_int_equal(t.parts[1].vote, REDLOCK_VOTE_PENDING);
	begin(&r[1], 1);
	assert_int_equal(say("+OK\r\n*-1\r\n+OK\r\n$0\r\n\r\n"),
	                 RL_PROGRESS_DONE); /* an EXEC of nothing may be nil */
	assert_int_equal(t.parts[0].vote, REDLOCK_VOTE_NO);
}

TEST(opening_refused)
{
	static const struct {
		const char *replies;
		enum rl_progress progress;
		enum redlock_vote_code vote;
		const char *error;
	} cases[] = {
	    {"-NOPERM this user has no permissions to run the 'multi' command\r\n-ERR EXEC without "
	     "MULTI\r\n+OK\r\n",
	     RL_PROGRESS_REFUSED, REDLOCK_VOTE_NOPERM,
	     "NOPERM this user has no permissions to run the 'multi' command"},
	    {"+OK\r\n-EXECABORT Transaction discarded because of: NOPERM no right to run the 'exec'\r\n+OK\r\n",
	     RL_PROGRESS_REFUSED, REDLOCK_VOTE_NOPERM, "NOPERM no right to run the 'exec'"},
	    {"+OK\r\n*0\r\n-ERR unknown command 'WATCH', with args\r\n", RL_PROGRESS_REFUSED,
	     REDLOCK_VOTE_COMMAND, "ERR unknown command 'WATCH', with args"},
	    {"-ERR x\r\n-ERR x\r\n-ERR x\r\n", RL_PROGRESS_DONE, REDLOCK_VOTE_SERVER, "ERR x"},
	    {"-LOADING x\r\n-LOADING x\r\n-LOADING x\r\n", RL_PROGRESS_DONE, REDLOCK_VOTE_LOADING, "LOADING x"},
	    {"+OK\r\n*0\r\n-NOPERM No permissions to access a key\r\n", RL_PROGRESS_DONE, REDLOCK_VOTE_NOPERM,
	     "NOPERM No permissions to access a key"},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct rl_request r = REQUEST(RELEASE, "job", "token");
		begin(&r, 1);
		assert_int_equal(say(cases[i].replies), RL_PROGRESS_MORE);
		assert_int_equal(say("$5\r\ntoken\r\n"), cases[i].progress);
		assert_int_equal(t.parts[0].vote, cases[i].vote);
		assert_string_equal(t.error, cases[i].error);
		struct rl_request q = REQUEST(QUERY, "job", "");
		begin(&q, 1);
		if (strstr(cases[i].replies, "WATCH") != NULL || strstr(cases[i].replies, "a key") != NULL)
			continue; /* a query watches nothing */
		say(cases[i].replies);
		assert_int_equal(say("+none\r\n:-2\r\n:0\r\n$0\r\n\r\n"), RL_PROGRESS_MORE); /* alone, and harmless */
		assert_int_equal(say("-ERR EXEC without MULTI\r\n"), cases[i].progress);
		assert_int_equal(t.parts[0].vote, cases[i].vote);
	}
	/* MULTI without EXEC: nothing can be asked on this connection any more. */
	struct rl_request r = REQUEST(EXTEND, "job", "token");
	begin(&r, 1);
	assert_int_equal(say("+OK\r\n-ERR unknown command 'EXEC'\r\n-ERR WATCH inside MULTI is not allowed\r\n"
	                     "+QUEUED\r\n"),
	                 RL_PROGRESS_STUCK);
}

/* Something between MULTI and EXEC is refused: it has its vote, the others are asked again. */
TEST(refused_inside)
{
	struct rl_request r[] = {REQUEST(RELEASE, "a", "one"), REQUEST(EXTEND, "b", "two")};
	change_two(r);
	expect("+OK\r\n-NOPERM no right to run the 'del'\r\n+QUEUED\r\n"
	       "-EXECABORT Transaction discarded because of previous errors.\r\n",
	       DONE, NOPERM);
	assert_int_equal(t.parts[1].vote, REDLOCK_VOTE_PENDING);
	/* EXEC itself */
	change_two(r);
	expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n-EXECABORT Transaction discarded because of: MISCONF y\r\n", DONE,
	       MISCONF);
	assert_int_equal(t.parts[1].vote, REDLOCK_VOTE_MISCONF);
	assert_string_equal(t.error, "MISCONF y");
	/* a command, when it is executed */
	change_two(r);
	expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-WRONGTYPE x\r\n-OOM y\r\n", DONE, NO);
	assert_int_equal(t.parts[1].vote, REDLOCK_VOTE_OOM);
	/* MULTI: the commands after it were executed alone, and nobody is told that it was done */
	change_two(r);
	expect("-NOPERM x\r\n:1\r\n:1\r\n-ERR EXEC without MULTI\r\n", DONE, NOPERM);
	assert_int_equal(t.parts[1].vote, REDLOCK_VOTE_NOPERM);
}

TEST(query)
{
	static const char queued[] = "+OK\r\n*0\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n";
	struct rl_request r = REQUEST(QUERY, "job", "");
	assert_string_equal(begin(&r, 1), "MULTI\nEXEC\nMULTI\nTYPE job\nPTTL job\nSTRLEN job\n"
	                                  "GETRANGE job 0 1023\nEXEC\n");
	assert_int_equal(say(queued), RL_PROGRESS_MORE);
	expect("*4\r\n+string\r\n:77\r\n:5\r\n$5\r\ntoken\r\n", DONE, YES);
	assert_int_equal(t.found.told, RL_TOLD(TYPE) | RL_TOLD(PTTL) | RL_TOLD(SIZE) | RL_TOLD(VALUE));
	assert_string_equal(t.found.type.bytes, "string");
	assert_int_equal(t.found.pttl_ms, 77);
	assert_int_equal(t.found.size, 5);
	assert_string_equal(t.found.value.bytes, "token");
	begin(&r, 1);
	say(queued);
	expect("*4\r\n+hash\r\n:-1\r\n-WRONGTYPE x\r\n-WRONGTYPE x\r\n", DONE, YES);
	assert_string_equal(t.found.type.bytes, "hash");
	assert_int_equal(t.found.size, 0);
	assert_int_equal(t.found.value.size, 0);
	begin(&r, 1);
	say(queued);
	expect("*4\r\n+string\r\n:-1\r\n-LOADING x\r\n-LOADING x\r\n", DONE, LOADING);
	begin(&r, 1);
	say("+OK\r\n*0\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n-NOPERM no right to run the 'strlen'\r\n+QUEUED\r\n");
	expect("-EXECABORT Transaction discarded because of previous errors.\r\n", DONE, NOPERM);
	begin(&r, 1);
	say(queued);
	expect("*-1\r\n", DONE, PENDING);
}

/* At every reply: what no server says there. */
TEST(garbage)
{
	static const char *const good[] = {"+OK\r\n", "*0\r\n",  "+OK\r\n",     "$3\r\none\r\n",
	                                   ":9\r\n",  "+OK\r\n", "+QUEUED\r\n", "*1\r\n:1\r\n"};
	static const char *const bad[] = {":1\r\n",      "+OK\r\n", "+QUEUED\r\n", ":5\r\n",
	                                  "$1\r\nx\r\n", "*0\r\n",  ":1\r\n",      "*1\r\n:2\r\n"};
	for (unsigned at = 0; at < COUNT(good); at++) {
		struct rl_request r = REQUEST(EXTEND, "a", "one");
		begin(&r, 1);
		for (unsigned i = 0; i < at; i++)
			if (say(good[i]) == RL_PROGRESS_GO_ON)
				change();
		assert_int_equal(say(bad[at]), RL_PROGRESS_GARBAGE);
	}
	static const char *const execs[] = {"*0\r\n", "*2\r\n:1\r\n:1\r\n", "+OK\r\n", ":1\r\n",
	                                    "*1\r\n$1\r\n1\r\n"};
	for (unsigned i = 0; i < COUNT(execs); i++) {
		struct rl_request r = REQUEST(RELEASE, "a", "one");
		begin(&r, 1);
		say(OPENED "$3\r\none\r\n");
		change();
		say("+OK\r\n+QUEUED\r\n");
		assert_int_equal(say(execs[i]), RL_PROGRESS_GARBAGE);
	}
	struct rl_request refused = REQUEST(RELEASE, "a", "one");
	begin(&refused, 1);
	say(OPENED "$3\r\none\r\n");
	change();
	say("+OK\r\n-ERR no\r\n");
	assert_int_equal(say("*1\r\n:1\r\n"), RL_PROGRESS_GARBAGE); /* the result of what it has refused */
	static const char *const looks[] = {"*3\r\n+string\r\n:1\r\n:1\r\n", ":1\r\n",
	                                    "*4\r\n:1\r\n:1\r\n:1\r\n$1\r\nx\r\n",
	                                    "*4\r\n+string\r\n+x\r\n:1\r\n$1\r\nx\r\n"};
	for (unsigned i = 0; i < COUNT(looks); i++) {
		struct rl_request r = REQUEST(QUERY, "a", "");
		begin(&r, 1);
		say("+OK\r\n*0\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n");
		assert_int_equal(say(looks[i]), RL_PROGRESS_GARBAGE);
	}
	rl_transaction_drop(&t);
	assert_int_equal(say("+OK\r\n"), RL_PROGRESS_GARBAGE); /* nobody asked */
}

TESTS(.before = setup, .after = teardown)
