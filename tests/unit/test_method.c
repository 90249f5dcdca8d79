/* SPDX-License-Identifier: MIT */
/* By which commands a node is asked: what it has, what it refuses, and when that is forgotten. */
#include "proto/method.h"
#include "unit.h"

static const struct rl_request release = {.operation = REDLOCK_OP_RELEASE, .unqueued = true};
static const struct rl_request queued = {.operation = REDLOCK_OP_RELEASE};
static const struct rl_request enter = {.operation = RL_OP_ENTER};
static const struct rl_request extend = {.operation = REDLOCK_OP_EXTEND};
static const struct rl_request query = {.operation = REDLOCK_OP_QUERY};
static const struct rl_request acquire = {.operation = REDLOCK_OP_ACQUIRE};

#define NOPERM "NOPERM this user has no permissions to run the 'x' command"

static void expect(const struct rl_methods *m, enum rl_form for_release, enum rl_form for_extend,
                   enum rl_form for_query)
{
	assert_int_equal(rl_method_choose(m, &release), for_release);
	assert_int_equal(rl_method_choose(m, &extend), for_extend);
	assert_int_equal(rl_method_choose(m, &query), for_query);
	assert_int_equal(rl_method_choose(m, &acquire), RL_FORM_PLAIN); /* there is only one */
}

/* The answer to COMMAND INFO delex delifeq. */
static void probe(struct rl_methods *m, enum rl_reply_type delex, enum rl_reply_type delifeq)
{
	struct rl_reply reply = {.value.type = RL_REPLY_ARRAY, .count = 2};
	reply.items[0].type = delex;
	reply.items[1].type = delifeq;
	rl_method_probed(m, &reply);
}

TEST(scripts)
{
	struct rl_methods m = {0};
	expect(&m, RL_FORM_TEXT, RL_FORM_TEXT, RL_FORM_TEXT);
	m.knows = UINT64_C(1) << RL_SCRIPT_RELEASE | UINT64_C(1) << RL_SCRIPT_QUERY;
	expect(&m, RL_FORM_SHA, RL_FORM_TEXT, RL_FORM_SHA);
	struct rl_request own = release;
	own.own_value = true;
	assert_int_equal(rl_method_choose(&m, &own), RL_FORM_TEXT);
	assert_true(rl_method_refuse(&m, RL_FORM_SHA, NOPERM));
	expect(&m, RL_FORM_TEXT, RL_FORM_TEXT, RL_FORM_TEXT);
	assert_true(rl_method_refuse(&m, RL_FORM_TEXT, "ERR unknown command 'EVAL'"));
	expect(&m, RL_FORM_WATCH, RL_FORM_WATCH, RL_FORM_WATCH);
	rl_method_forgive(&m);
	expect(&m, RL_FORM_SHA, RL_FORM_TEXT, RL_FORM_SHA);
	rl_method_connect(&m);
	expect(&m, RL_FORM_TEXT, RL_FORM_TEXT, RL_FORM_TEXT);
}

/* Before all others, where somebody may wait; what is barred for the queue is not for the lock. */
TEST(queue)
{
	struct rl_methods m = {.has = RL_FORM_BIT(RL_FORM_DELEX)};
	assert_int_equal(rl_method_choose(&m, &queued), RL_FORM_QUEUE_TEXT);
	assert_int_equal(rl_method_choose(&m, &enter), RL_FORM_QUEUE_TEXT);
	assert_int_equal(rl_method_choose(&m, &release), RL_FORM_DELEX);
	struct rl_request own = queued;
	own.own_value = true;
	assert_int_equal(rl_method_choose(&m, &own), RL_FORM_DELEX);
	own.operation = RL_OP_LEAVE; /* nothing follows it that would find the value's next key */
	m.knows = UINT64_C(1) << RL_SCRIPT_LEAVE;
	assert_int_equal(rl_method_choose(&m, &own), RL_FORM_QUEUE_TEXT);
	m.knows = 0;
	rl_method_learn(&m, &rl_ops[REDLOCK_OP_RELEASE], RL_FORM_QUEUE_TEXT, NULL);
	rl_method_learn(&m, &rl_ops[RL_OP_ENTER], RL_FORM_QUEUE_TEXT, "WRONGTYPE x");
	assert_int_equal(m.knows, UINT64_C(1) << RL_SCRIPT_VACATE | UINT64_C(1) << RL_SCRIPT_ENTER);
	assert_int_equal(rl_method_choose(&m, &queued), RL_FORM_QUEUE_SHA);
	assert_int_equal(rl_method_choose(&m, &enter), RL_FORM_QUEUE_SHA);
	assert_false(rl_method_forget(&m, &rl_ops[RL_OP_ENTER], RL_FORM_QUEUE_TEXT, "NOSCRIPT x"));
	assert_true(rl_method_forget(&m, &rl_ops[RL_OP_ENTER], RL_FORM_QUEUE_SHA, "NOSCRIPT x"));
	rl_method_learn(&m, &rl_ops[RL_OP_ENTER], RL_FORM_QUEUE_SHA, "NOSCRIPT x");
	assert_int_equal(rl_method_choose(&m, &enter), RL_FORM_QUEUE_TEXT);
	assert_int_equal(rl_method_choose(&m, &queued), RL_FORM_QUEUE_SHA);
	assert_true(rl_method_may_queue(&m));
	assert_true(rl_method_refuse(&m, RL_FORM_QUEUE_SHA, "NOPERM No permissions to access a key"));
	assert_false(rl_method_may_queue(&m));
	assert_int_equal(rl_method_choose(&m, &queued), RL_FORM_DELEX);
	rl_method_meet(&m, false);
	assert_true(rl_method_may_queue(&m));
}

TEST(native)
{
	struct rl_methods m = {0};
	probe(&m, RL_REPLY_ARRAY, RL_REPLY_NIL);
	expect(&m, RL_FORM_DELEX, RL_FORM_TEXT, RL_FORM_TEXT);
	probe(&m, RL_REPLY_NIL, RL_REPLY_ARRAY);
	expect(&m, RL_FORM_DELIFEQ, RL_FORM_TEXT, RL_FORM_TEXT);
	probe(&m, RL_REPLY_ARRAY, RL_REPLY_ARRAY);
	assert_true(rl_method_refuse(&m, RL_FORM_DELEX, NOPERM));
	expect(&m, RL_FORM_DELIFEQ, RL_FORM_TEXT, RL_FORM_TEXT);
	assert_true(rl_method_refuse(&m, RL_FORM_DELIFEQ, "ERR wrong number of arguments for 'delifeq' command"));
	expect(&m, RL_FORM_TEXT, RL_FORM_TEXT, RL_FORM_TEXT);
	rl_method_forgive(&m);
	assert_true(rl_method_refuse(&m, RL_FORM_TEXT, NOPERM));
	expect(&m, RL_FORM_DELEX, RL_FORM_WATCH, RL_FORM_WATCH);
	probe(&m, RL_REPLY_NIL, RL_REPLY_NIL);
	expect(&m, RL_FORM_WATCH, RL_FORM_WATCH, RL_FORM_WATCH);
}

TEST(odd_probes)
{
	struct rl_methods m = {0};
	struct rl_reply error = {.value = {.type = RL_REPLY_ERROR, .text = NOPERM}};
	struct rl_reply one = {.value.type = RL_REPLY_ARRAY, .count = 1, .items = {{.type = RL_REPLY_ARRAY}}};
	struct rl_reply text = {.value = {.type = RL_REPLY_STRING, .text = "delex"}};
	const struct rl_reply *const replies[] = {&error, &one, &text};
	for (unsigned i = 0; i < COUNT(replies); i++) {
		probe(&m, RL_REPLY_ARRAY, RL_REPLY_ARRAY);
		rl_method_probed(&m, replies[i]);
		expect(&m, RL_FORM_TEXT, RL_FORM_TEXT, RL_FORM_TEXT);
	}
	probe(&m, RL_REPLY_STRING, RL_REPLY_INTEGER);
	expect(&m, RL_FORM_TEXT, RL_FORM_TEXT, RL_FORM_TEXT);
}

/* A refusal is about the command. An error about the key or the server's state is a vote. */
TEST(refusals_and_votes)
{
	enum {
		NATIVE = 1 << RL_FORM_DELEX | 1 << RL_FORM_DELIFEQ,
		QUEUE = RL_FORMS_QUEUE,
		SCRIPTS = (RL_FORMS_SHA | RL_FORMS_TEXT) & ~RL_FORMS_GUARD,
		ALL = NATIVE | SCRIPTS
	};
	static const struct {
		const char *error;
		unsigned forms; /* that it refuses */
	} cases[] = {
	    {"ERR unknown command 'EVAL', with args beginning with: ", ALL},
	    {"NOPERM this user has no permissions to run the 'eval' command or its subcommand", ALL},
	    {"NOPERM User default has no permissions to run the 'delex' command", ALL},
	    {"ERR This Redis command is not allowed from script script: x", SCRIPTS},
	    {"ERR wrong number of arguments for 'delex' command", NATIVE},
	    {"ERR syntax error", NATIVE},
	    {"OOM command not allowed when used memory > 'maxmemory'.", 0},
	    {"NOPERM this user has no permissions to access one of the keys used as arguments", QUEUE},
	    {"NOPERM No permissions to access a key", QUEUE},
	    {"ERR The user executing the script can't run this command or subcommand script: x", QUEUE},
	    {"ERR ACL failure in script: User u has no permissions to run the 'mget' command script: x", QUEUE},
	    {"ERR Unknown Redis command called from script script: x, on @user_script:1.", QUEUE},
	    {"ERR Unknown command called from script script: on @user_script:1.", QUEUE}, /* Valkey */
	    {"ERR Error running script (call to f_x): @user_script:1: @user_script: 1: The user executing the "
	     "script "
	     "can't access at least one of the keys mentioned in the command arguments",
	     QUEUE}, /* Redis 6 */
	    {"READONLY You can't write against a read only replica.", 0},
	    {"MISCONF x", 0},
	    {"LOADING x", 0},
	    {"NOSCRIPT No matching script.", 0},
	    {"WRONGTYPE x", 0},
	    {"", 0},
	};
	for (unsigned i = 0; i < COUNT(cases); i++)
		for (unsigned form = RL_FORM_QUEUE_SHA; form < RL_FORM_GUARD_SHA; form++) {
			struct rl_methods m = {0};
			bool refused = rl_method_refuse(&m, (enum rl_form)form, cases[i].error);
			assert_int_equal(refused, cases[i].forms >> form & 1);
			uint32_t same = cases[i].forms == QUEUE            ? QUEUE
			                : (RL_FORMS_SHA >> form & 1) != 0  ? RL_FORMS_SHA
			                : (RL_FORMS_TEXT >> form & 1) != 0 ? RL_FORMS_TEXT
			                                                   : RL_FORM_BIT(form);
			assert_int_equal(m.refused, refused ? same : 0);
		}
}

TEST(another_server)
{
	struct rl_methods m = {0};
	rl_method_meet(&m, false);
	probe(&m, RL_REPLY_ARRAY, RL_REPLY_NIL);
	assert_true(rl_method_refuse(&m, RL_FORM_TEXT, NOPERM));
	rl_method_connect(&m);
	rl_method_meet(&m, true);
	expect(&m, RL_FORM_DELEX, RL_FORM_WATCH, RL_FORM_WATCH);
	rl_method_meet(&m, false);
	expect(&m, RL_FORM_TEXT, RL_FORM_TEXT, RL_FORM_TEXT);
	assert_true(rl_method_refuse(&m, RL_FORM_TEXT, NOPERM));
	rl_method_meet(&m, false); /* it does not tell */
	expect(&m, RL_FORM_TEXT, RL_FORM_TEXT, RL_FORM_TEXT);
	assert_true(rl_method_refuse(&m, RL_FORM_TEXT, NOPERM));
	rl_method_meet(&m, false);
	expect(&m, RL_FORM_TEXT, RL_FORM_TEXT, RL_FORM_TEXT);
}

TESTS()
