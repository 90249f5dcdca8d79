/* SPDX-License-Identifier: MIT */
/* The scripts of a guarded node set by themselves, on one server: whose pass they accept, which numbers they
 * give, and who may admit a node again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "proto/answer.h"
#include "scripts.h"

enum { LEFT_MS = 9000 };

static const char record[] = "redlock:set", fence[] = "{job}:redlock:fence";

/* Words that are divided by spaces: KEYS and ARGV, their number first. "PASS" stands for `pass`, "-" for an
 * empty one. */
static const char *ask(enum rl_script script, const char *text, const char *pass, struct raw_reply *reply)
{
	struct raw_arg args[20] = {{"EVAL", 4}, {rl_scripts[script].text, rl_scripts[script].length}};
	size_t count = 2;
	for (size_t size; (size = strcspn(text, " ")) > 0; text += size + (text[size] == ' ')) {
		bool is_pass = size == 4 && memcmp(text, "PASS", size) == 0, empty = size == 1 && *text == '-';
		args[count++] = (struct raw_arg){is_pass ? pass : text, is_pass ? strlen(pass) : empty ? 0 : size};
	}
	return server_call(&servers.server[0], args, count, reply);
}

static const char *run(enum rl_script script, const char *text, const char *pass)
{
	static struct raw_reply reply;
	const char *ret = ask(script, text, pass, &reply);
	assert_int_not_equal(reply.type, '-');
	return ret;
}

/* Without the right to a command: the server's words, which tell the client why, and nothing of a claim. */
static void expect_refused(enum rl_script script, const char *text, const char *command)
{
	const struct server *s = &servers.server[0];
	struct raw_reply reply;
	char rule[16];
	snprintf(rule, sizeof rule, "-%s", command);
	server_must(s, "OK", "ACL", "SETUSER", "default", rule, NULL);
	enum redlock_vote_code vote = rl_answer_of_error(ask(script, text, "present", &reply));
	rule[0] = '+';
	server_must(s, "OK", "ACL", "SETUSER", "default", rule, NULL);
	assert_int_equal(reply.type, '-');
	assert_int_equal(vote, REDLOCK_VOTE_NOPERM);
	assert_false(server_has(s, "job") || server_has(s, "also"));
}

static void set_field(const char *field, const char *value)
{
	struct raw_reply reply;
	server_ask(&servers.server[0], &reply, "HSET", record, field, value, NULL);
	assert_int_not_equal(reply.type, '-');
}

/* ---- passes ---- */

#define FENCES "{job}:redlock:fence {also}:redlock:fence"
#define TWO "job also " FENCES " redlock:set t 30000 PASS - 1"
#define QUEUE "{job}:redlock:queue {job}:redlock:offers"

static const struct guarded {
	enum rl_script script;
	bool extends; /* what is there; else it is free */
	const char *words;
} guarded[] = {
    {RL_SCRIPT_ACQUIRE, false, "2 job redlock:set t 30000 PASS -"},
    {RL_SCRIPT_ACQUIRE, false, "3 job redlock:set {job}:redlock:fence t 30000 PASS -"},
    {RL_SCRIPT_GUARDED_CLAIM_ALL, false, "3 job also redlock:set t 30000 PASS - -"},
    {RL_SCRIPT_GUARDED_CLAIM_ALL, false, "5 " TWO},
    {RL_SCRIPT_GUARDED_ENTER, false,
     "5 job " QUEUE " redlock:set {job}:redlock:fence t 30000 - 5000 PASS - -"},
    {RL_SCRIPT_GUARDED_ENTER_ALL, false, "6 job " QUEUE " job also redlock:set t 30000 PASS - - 5000 -"},
    {RL_SCRIPT_GUARDED_EXTEND, true, "2 job redlock:set t 30000 PASS -"},
    {RL_SCRIPT_GUARDED_EXTEND_ALL, true, "3 job also redlock:set t 30000 PASS -"},
    {RL_SCRIPT_GUARDED_SLOT, false,
     "4 job {job}:redlock:slots {job}:redlock:slot:1 redlock:set t 30000 2 0 PASS -"},
    {RL_SCRIPT_GUARDED_SLOT_ENTER, false,
     "6 job " QUEUE " {job}:redlock:slots {job}:redlock:slot:1 redlock:set t 30000 2 0 - 5000 PASS -"},
    {RL_SCRIPT_RAISE, true, "3 job {job}:redlock:fence redlock:set t 2000 PASS"},
    {RL_SCRIPT_RAISE, true, "5 job also " FENCES " redlock:set t 2000 PASS"},
};

static void lay_out(const struct guarded *g)
{
	char left_ms[16];
	snprintf(left_ms, sizeof left_ms, "%d", LEFT_MS);
	server_must(&servers.server[0], "OK", "FLUSHALL", NULL);
	set_field("pass", "present");
	set_field("prev", "preceding");
	set_field("floor", "1000");
	set_field("gmax", "1000");
	for (const char *const *key = (const char *[]){"job", "also", NULL}; g->extends && *key != NULL; key++)
		server_must(&servers.server[0], "OK", "SET", *key, "t", "PX", left_ms, NULL);
}

/* A client with another pass, or without one, is told so, and nothing is changed. */
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
	assert_int_equal(sscanf(run(RL_SCRIPT_ACQUIRE, words, "present"), "1 %" SCNu64, &number), 1);
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
	set_field("gmax", "5000");
	set_field("floor", "5000");
	assert_int_equal(drawn(), 5001);
	assert_int_equal(drawn(), 5002);
	/* A counter that the record does not know of was never told; and no number follows the last one. */
	for (const char *const *odd =
	         (const char *[]){"9000", "9007199254740990", "9223372036854775000", "1e300", NULL};
	     *odd != NULL; odd++) {
		server_must(&servers.server[0], "OK", "SET", fence, *odd, NULL);
		uint64_t number = drawn();
		assert_in_range(number, 5003, 5006);
	}
	set_field("gmax", "9007199254740991");
	server_must(&servers.server[0], "OK", "SET", fence, "5", NULL);
	assert_int_equal(
	    atoi(run(RL_SCRIPT_ACQUIRE, "3 job redlock:set {job}:redlock:fence t 30000 PASS -", "present")), -2);
	assert_false(server_has(&servers.server[0], "job"));
	assert_int_equal(atoi(run(RL_SCRIPT_GUARDED_CLAIM_ALL, "5 " TWO, "present")), -2);
	assert_false(server_has(&servers.server[0], "job") || server_has(&servers.server[0], "also"));
}

static int raised(const char *words)
{
	return atoi(run(RL_SCRIPT_RAISE, words, "present"));
}

/* A record of which somebody has damaged or deleted a number is good for none: it would begin below what was
 * told. */
static void expect_no_number(const char *name, const char *value)
{
	const struct server *s = &servers.server[0];
	lay_out(&guarded[0]);
	server_must(s, "OK", "SET", fence, "2000", NULL);
	if (value != NULL)
		set_field(name, value);
	else
		server_must(s, "1", "HDEL", "redlock:set", name, NULL);
	const char *words = "3 job redlock:set {job}:redlock:fence t 30000 PASS -";
	assert_int_equal(atoi(run(RL_SCRIPT_ACQUIRE, words, "present")), -2);
	assert_int_equal(atoi(run(RL_SCRIPT_GUARDED_CLAIM_ALL, "5 " TWO, "present")), -2);
	assert_false(server_has(s, "job") || server_has(s, "also"));
}

/* Nor is the highest one mended by one that is told. */
TEST(a_number_of_the_record_that_cannot_be_read)
{
	static const char *const odd[] = {"x", "nan", "0x10", "1e300", "-5", "9007199254740992", "", NULL};
	const struct server *s = &servers.server[0];
	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
		expect_no_number("floor", odd[i]);
		expect_no_number("gmax", odd[i]);
		server_must(s, "OK", "SET", "job", "t", NULL);
		assert_int_equal(raised("3 job {job}:redlock:fence redlock:set t 3000 PASS"), -2);
		assert_true(server_has_value(s, fence, "2000"));
	}
	expect_no_number("floor", "1001"); /* no highest one is below it */
	expect_no_number("gmax", "999");
	expect_no_number("gmax", "9007199254740991"); /* no number follows it */
}

/* A user may lack the right to delete it. */
TEST(a_floor_of_before_is_not_admitted)
{
	const struct server *s = &servers.server[0];
	struct raw_reply reply;
	char id[64];
	for (int may_delete = 0; may_delete <= 1; may_delete++) {
		lay_out(&guarded[0]);
		snprintf(id, sizeof id, "%.40s",
		         strstr(server_ask(s, &reply, "INFO", "server", NULL), "run_id:") + 7);
		set_field("qrid", id);
		set_field("quntil", "1");
		set_field("qid", "q");
		server_must(s, "OK", "ACL", "SETUSER", "default", may_delete ? "+hdel" : "-hdel", NULL);
		int verdict = atoi(run(RL_SCRIPT_ADMIT, "1 redlock:set q s 1 c 9000 - m 2 n c", "-"));
		server_must(s, "OK", "ACL", "SETUSER", "default", "+hdel", NULL);
		assert_int_equal(verdict, 1);
		snprintf(id + 40, sizeof id - 40, ":c");
		const char *words = "3 job redlock:set {job}:redlock:fence t 30000 PASS -";
		assert_int_equal(atoi(run(RL_SCRIPT_ACQUIRE, words, id)), -2);
	}
}

/* A claim leaves no key where the counters may not be read. */
TEST(no_right_to_read_counters)
{
	lay_out(&guarded[0]);
	expect_refused(RL_SCRIPT_GUARDED_CLAIM_ALL, "5 " TWO, "mget");
}

static void expect_counter(const char *value)
{
	assert_true(server_has_value(&servers.server[0], fence, value));
}

/* Only for who has the key, and never down. */
TEST(a_counter_is_raised_for_the_holder)
{
	lay_out(&guarded[0]);
	server_must(&servers.server[0], "OK", "SET", "job", "t", NULL);
	assert_int_equal(raised("3 job {job}:redlock:fence redlock:set t 2000 PASS"), 1);
	expect_counter("2000");
	assert_int_equal(raised("3 job {job}:redlock:fence redlock:set t 1500 PASS"), 1);
	expect_counter("2000");
	server_must(&servers.server[0], "OK", "SET", fence, "1e300", NULL); /* since the claim */
	assert_int_equal(raised("3 job {job}:redlock:fence redlock:set t 2000 PASS"), 1);
	assert_int_equal(raised("3 job {job}:redlock:fence redlock:set another 3000 PASS"), 0);
	expect_counter("2000");
	server_must(&servers.server[0], "1", "DEL", "job", NULL);
	assert_int_equal(raised("3 job {job}:redlock:fence redlock:set t 3000 PASS"), 0);
	expect_counter("2000");
	assert_int_equal(drawn(), 2001);
}

/* The counters of several names are all raised, if all keys are there. */
TEST(all_counters_are_raised)
{
	static const char words[] = "5 job also " FENCES " redlock:set t 2000 PASS";
	const struct server *s = &servers.server[0];
	lay_out(&guarded[0]);
	server_must(s, "OK", "SET", "job", "t", NULL);
	assert_int_equal(raised(words), 0);
	assert_false(server_has(s, fence));
	server_must(s, "OK", "SET", "also", "t", NULL);
	server_must(s, "OK", "SET", "{also}:redlock:fence", "3000", NULL);
	set_field("gmax", "3000");
	assert_int_equal(raised(words), 1);
	expect_counter("2000");
	assert_true(server_has_value(s, "{also}:redlock:fence", "3000"));
	server_must(s, "OK", "SET", "{also}:redlock:fence", "1000", NULL);
	assert_int_equal(raised(words), 1);
	assert_true(server_has_value(s, "{also}:redlock:fence", "2000"));
}

/* ---- shared ---- */

/* A shared lock, with a member that ends before any TTL that is asked for. */
static const struct guarded shared_rows[] = {
    {RL_SCRIPT_GUARDED_SHARE, true, "4 job " QUEUE " redlock:set another 30000 - 5000 PASS"},
    {RL_SCRIPT_GUARDED_SHARE_EXTEND, true, "4 job " QUEUE " redlock:set t 30000 5000 1 PASS"},
    {RL_SCRIPT_GUARDED_UPGRADE, true, "2 job redlock:set t 30000 PASS"},
    {RL_SCRIPT_GUARDED_UPGRADE, true, "3 job {job}:redlock:fence redlock:set t 30000 PASS"},
};

static void share_job(void)
{
	const char *answer =
	    run(RL_SCRIPT_GUARDED_SHARE, "4 job " QUEUE " redlock:set t 9000 - 5000 PASS", "present");
	assert_int_equal(atoi(answer), 1);
}

TEST(a_pass_to_share)
{
	static const char *const passes[] = {"present", "preceding", "another", ""};
	const struct server *s = &servers.server[0];
	for (unsigned i = 0; i < 4 * sizeof shared_rows / sizeof shared_rows[0]; i++) {
		const struct guarded *g = &shared_rows[i / 4];
		bool right = i % 4 < 2;
		lay_out(&guarded[0]);
		share_job();
		int verdict = atoi(run(g->script, g->words, passes[i % 4]));
		bool changed = server_pttl(s, "job") > LEFT_MS;
		if (verdict != (right ? 1 : -2) || changed != right)
			fail_msg("%s, pass '%s': %d, %d", rl_scripts[g->script].name, passes[i % 4], verdict, changed);
	}
}

/* Each yes to an upgrade draws one, also to who has it; a no draws none, and changes nothing. */
TEST(an_upgrade_draws_a_number)
{
	static const char words[] = "3 job {job}:redlock:fence redlock:set t 30000 PASS";
	struct raw_reply reply;
	lay_out(&guarded[0]);
	share_job();
	for (unsigned number = 1001; number < 1003; number++) {
		unsigned told = 0;
		assert_int_equal(sscanf(run(RL_SCRIPT_GUARDED_UPGRADE, words, "present"), "1 %u", &told), 1);
		assert_int_equal(told, number);
		assert_true(server_has_value(&servers.server[0], "job", "t"));
	}
	server_must(&servers.server[0], "1", "DEL", "job", NULL);
	assert_int_equal(drawn(), 1003);
	share_job();
	server_ask(&servers.server[0], &reply, "ZADD", "job", "9999999999999", "other", NULL);
	assert_int_equal(atoi(run(RL_SCRIPT_GUARDED_UPGRADE, words, "present")), 0);
	server_ask(&servers.server[0], &reply, "ZREM", "job", "t", NULL);
	assert_int_equal(atoi(run(RL_SCRIPT_GUARDED_UPGRADE, words, "present")), -1);
	server_must(&servers.server[0], "1", "DEL", "job", NULL);
	assert_int_equal(drawn(), 1004);
	share_job();
	server_ask(&servers.server[0], &reply, "HDEL", record, "floor", NULL);
	assert_int_equal(atoi(run(RL_SCRIPT_GUARDED_UPGRADE, words, "present")), -3);
	assert_false(server_has_value(&servers.server[0], "job", "t"));
}

/* ---- numbers of several names ---- */

#define TWO_IN_LINE "job " QUEUE " job also " FENCES " redlock:set t 30000 PASS - - 5000 "

static const char also_fence[] = "{also}:redlock:fence";

/* By each of the two scripts that draw one; and the keys are gone again. */
static uint64_t drawn_by(bool in_line)
{
	uint64_t number = 0;
	if (in_line)
		assert_int_equal(sscanf(run(RL_SCRIPT_GUARDED_ENTER_ALL, "8 " TWO_IN_LINE "1", "present"),
		                        "1 0 %" SCNu64, &number),
		                 1);
	else
		assert_int_equal(sscanf(run(RL_SCRIPT_GUARDED_CLAIM_ALL, "5 " TWO, "present"), "1 %" SCNu64, &number),
		                 1);
	server_must(&servers.server[0], "2", "DEL", "job", "also", NULL);
	return number;
}

/* The number is above the counters of all names, which have it then, and above the number that was told. */
TEST(several_names_have_one_number)
{
	static const struct {
		const char *job, *also, *most;
		uint64_t number;
	} cases[] = {
	    {NULL, NULL, "1000", 1001},      {"1700", "1500", "1700", 1701}, {"1500", "1700", "1700", 1701},
	    {"1500", NULL, "1800", 1801},    {"5", "1200", "1200", 1201},    {"1500", "x", "1500", 1501},
	    {"1e300", "1500", "1500", 1501}, {"5", "7", "1000", 1001},
	};
	const struct server *s = &servers.server[0];
	for (unsigned i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
		lay_out(&guarded[0]);
		set_field("gmax", cases[i / 2].most);
		if (cases[i / 2].job != NULL)
			server_must(s, "OK", "SET", fence, cases[i / 2].job, NULL);
		if (cases[i / 2].also != NULL)
			server_must(s, "OK", "SET", also_fence, cases[i / 2].also, NULL);
		bool in_line = i % 2 == 1;
		uint64_t number = drawn_by(in_line);
		if (number != cases[i / 2].number || server_pttl(s, fence) <= 0 || server_pttl(s, also_fence) <= 0)
			fail_msg("case %u: %" PRIu64, i, number);
		assert_int_equal(drawn(), number + 1);
		assert_int_equal(drawn_by(in_line), number + 2);
	}
}

/* A node that cannot keep the number gives none of the names, and who does not know its counters neither. */
TEST(no_number_no_names)
{
	static const struct {
		enum rl_script script;
		const char *words;
		int verdict;
	} calls[] = {
	    {RL_SCRIPT_ACQUIRE, "3 job redlock:set {job}:redlock:fence t 30000 PASS -", -2},
	    {RL_SCRIPT_GUARDED_CLAIM_ALL, "5 " TWO, -2},
	    {RL_SCRIPT_GUARDED_ENTER_ALL, "8 " TWO_IN_LINE "1", 2},
	};
	const struct server *s = &servers.server[0];
	for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		lay_out(&guarded[0]);
		expect_refused(calls[i].script, calls[i].words, "hset");
		server_must(s, "1", "HDEL", record, "floor", NULL);
		assert_int_equal(atoi(run(calls[i].script, calls[i].words, "present")), calls[i].verdict);
		assert_false(server_has(s, "job") || server_has(s, "also"));
	}
}

/* ---- admission ---- */

/* The quarantine that is over is the one that was told of, of this process, and of no newer configuration. */
TEST(only_the_right_id_admits)
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
		int verdict = atoi(run(RL_SCRIPT_ADMIT, "1 redlock:set this s 1 c 30000 1000 members 2 node c", ""));
		bool admitted =
		    strcmp(server_ask(&servers.server[0], &reply, "HGET", record, "pass", NULL), "(nil)") != 0;
		if (verdict != cases[i].admits || admitted != cases[i].admits)
			fail_msg("%s %s: %d, %d", cases[i].field, cases[i].value, verdict, admitted);
	}
}

SERVER_TESTS(1)
