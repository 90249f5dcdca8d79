/* SPDX-License-Identifier: MIT */
/* The scripts of a guarded node set by themselves, on one server: whose pass they accept, which numbers they
 * give, and who may admit a node again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "scripts.h"

enum { LEFT_MS = 9000 };

static const char record[] = "redlock:set", fence[] = "{job}:redlock:fence";

/* Words that are divided by spaces: KEYS and ARGV, their number first. "PASS" stands for `pass`, "-" for an
 * empty one. */
static const char *run(enum rl_script script, const char *text, const char *pass)
{
	static struct raw_reply reply;
	struct raw_arg args[20] = {{"EVAL", 4}, {rl_scripts[script].text, rl_scripts[script].length}};
	size_t count = 2;
	for (size_t size; (size = strcspn(text, " ")) > 0; text += size + (text[size] == ' ')) {
		bool is_pass = size == 4 && memcmp(text, "PASS", size) == 0, empty = size == 1 && *text == '-';
		args[count++] = (struct raw_arg){is_pass ? pass : text, is_pass ? strlen(pass) : empty ? 0 : size};
	}
	const char *ret = server_call(&servers.server[0], args, count, &reply);
	assert_int_not_equal(reply.type, '-');
	return ret;
}

static void set_field(const char *field, const char *value)
{
	struct raw_reply reply;
	server_ask(&servers.server[0], &reply, "HSET", record, field, value, NULL);
	assert_int_not_equal(reply.type, '-');
}

/* ---- passes ---- */

#define QUEUE "{job}:redlock:queue {job}:redlock:offers"

static const struct guarded {
	enum rl_script script;
	bool extends; /* what is there; else it is free */
	const char *words;
} guarded[] = {
    {RL_SCRIPT_CLAIM, false, "2 job redlock:set t 30000 PASS -"},
    {RL_SCRIPT_CLAIM_FENCED, false, "3 job redlock:set {job}:redlock:fence t 30000 PASS -"},
    {RL_SCRIPT_GUARDED_CLAIM_ALL, false, "3 job also redlock:set t 30000 PASS -"},
    {RL_SCRIPT_GUARDED_ENTER, false,
     "5 job " QUEUE " redlock:set {job}:redlock:fence t 30000 - 5000 PASS - -"},
    {RL_SCRIPT_GUARDED_ENTER_ALL, false, "6 job " QUEUE " job also redlock:set t 30000 PASS - - 5000"},
    {RL_SCRIPT_GUARDED_EXTEND, true, "2 job redlock:set t 30000 PASS -"},
    {RL_SCRIPT_GUARDED_EXTEND_ALL, true, "3 job also redlock:set t 30000 PASS -"},
    {RL_SCRIPT_RAISE, true, "3 job redlock:set {job}:redlock:fence t 2000 PASS"},
};

static void lay_out(const struct guarded *g)
{
	char left_ms[16];
	snprintf(left_ms, sizeof left_ms, "%d", LEFT_MS);
	server_must(&servers.server[0], "OK", "FLUSHALL", NULL);
	set_field("pass", "present");
	set_field("prev", "preceding");
	set_field("floor", "1000");
	for (const char *const *key = (const char *[]){"job", "also", NULL}; g->extends && *key != NULL; key++)
		server_must(&servers.server[0], "OK", "SET", *key, "t", "PX", left_ms, NULL);
}

/* Who has another pass, or none, is told so, and nothing is changed. */
TEST(a_pass_of_the_record)
{
	static const char *const passes[] = {"present", "preceding", "another", ""};
	const struct server *s = &servers.server[0];
	for (unsigned i = 0; i < 4 * sizeof guarded / sizeof guarded[0]; i++) {
		const struct guarded *g = &guarded[i / 4];
		bool right = i % 4 < 2;
		lay_out(g);
		int verdict = atoi(run(g->script, g->words, passes[i % 4]));
		bool changed = server_pttl(s, "job") > LEFT_MS || server_has(s, fence);
		if (verdict != (right ? 1 : -1) || changed != right)
			fail_msg("%s, pass '%s': %d, %d", rl_scripts[g->script].name, passes[i % 4], verdict, changed);
	}
}

/* ---- numbers ---- */

static uint64_t drawn(void)
{
	const char *words = "3 job redlock:set {job}:redlock:fence t 30000 PASS -";
	uint64_t number = 0;
	assert_int_equal(sscanf(run(RL_SCRIPT_CLAIM_FENCED, words, "present"), "1 %" SCNu64, &number), 1);
	server_must(&servers.server[0], "1", "DEL", "job", NULL);
	return number;
}

/* A counter that is gone, or from before a repair, begins above all that the node has told or was told of. */
TEST(no_number_below_what_was_told)
{
	lay_out(&guarded[0]);
	assert_int_equal(drawn(), 1001);
	assert_int_equal(drawn(), 1002);
	server_must(&servers.server[0], "1", "DEL", fence, NULL);
	assert_int_equal(drawn(), 1003);
	server_must(&servers.server[0], "OK", "SET", fence, "5", NULL);
	assert_int_equal(drawn(), 1004);
	set_field("floor", "5000");
	assert_int_equal(drawn(), 5001);
	server_must(&servers.server[0], "OK", "SET", fence, "9000", NULL);
	assert_int_equal(drawn(), 9001);
	assert_int_equal(drawn(), 9002);
}

static void expect_counter(const char *value)
{
	assert_true(server_has_value(&servers.server[0], fence, value));
}

static int raised(const char *words)
{
	return atoi(run(RL_SCRIPT_RAISE, words, "present"));
}

/* Only for who has the key, and never down. */
TEST(a_counter_is_raised_for_the_holder)
{
	lay_out(&guarded[0]);
	server_must(&servers.server[0], "OK", "SET", "job", "t", NULL);
	assert_int_equal(raised("3 job redlock:set {job}:redlock:fence t 2000 PASS"), 1);
	expect_counter("2000");
	assert_int_equal(raised("3 job redlock:set {job}:redlock:fence t 1500 PASS"), 1);
	assert_int_equal(raised("3 job redlock:set {job}:redlock:fence another 3000 PASS"), 0);
	expect_counter("2000");
	server_must(&servers.server[0], "1", "DEL", "job", NULL);
	assert_int_equal(raised("3 job redlock:set {job}:redlock:fence t 3000 PASS"), 0);
	expect_counter("2000");
	assert_int_equal(drawn(), 2001);
}

/* ---- admission ---- */

/* The quarantine that is over is the one that was told of, of this process, and of no newer configuration. */
TEST(who_may_admit)
{
	static const struct {
		const char *field, *value;
		bool admits;
	} cases[] = {
	    {"version", "1", true},
	    {"qid", "another", false}, /* it has begun once more since then */
	    {"qrid", "0123456789012345678901234567890123456789", false},
	    {"quntil", "9999999999999", false},
	    {"step", "2", false},
	    {"mode", "removed", false},
	};
	struct raw_reply reply;
	char id[41];
	snprintf(id, sizeof id, "%.40s",
	         strstr(server_ask(&servers.server[0], &reply, "INFO", "server", NULL), "run_id:") + 7);
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		server_must(&servers.server[0], "OK", "FLUSHALL", NULL);
		set_field("qrid", id);
		set_field("qid", "this");
		set_field("quntil", "1");
		set_field(cases[i].field, cases[i].value);
		int verdict = atoi(run(RL_SCRIPT_ADMIT, "1 redlock:set this s 1 c 30000 1000 members 2 node", ""));
		bool admitted =
		    strcmp(server_ask(&servers.server[0], &reply, "HGET", record, "pass", NULL), "(nil)") != 0;
		if (verdict != cases[i].admits || admitted != cases[i].admits)
			fail_msg("%s %s: %d, %d", cases[i].field, cases[i].value, verdict, admitted);
	}
}

SERVER_TESTS(1)
