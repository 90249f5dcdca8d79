/* SPDX-License-Identifier: MIT */
/* Which vote an answer stands for: texts of real servers, the same from a server of today, shapes. */
#include "fixture.h"
#include "proto/answer.h"
#include "scripts.h"
#include "unit.h"

/* As sent by redis-server 7.0.15 unless said otherwise. */
static const struct {
	const char *text;
	enum redlock_vote_code vote;
} texts[] = {
    {"WRONGTYPE Operation against a key holding the wrong kind of value", REDLOCK_VOTE_NO},
    {"WRONGTYPE Operation against a key holding the wrong kind of value script: "
     "cf0e94b2e9ffc7e04395cf88f7583fc309985910, on @user_script:1.",
     REDLOCK_VOTE_NO},
    /* Redis 6 */
    {"ERR Error running script (call to f_cf0e94b2e9ffc7e04395cf88f7583fc309985910): @user_script:1: "
     "WRONGTYPE "
     "Operation against a key holding the wrong kind of value",
     REDLOCK_VOTE_NO},
    {"LOADING Redis is loading the dataset in memory", REDLOCK_VOTE_LOADING},
    {"LOADING Valkey is loading the dataset in memory", REDLOCK_VOTE_LOADING}, /* Valkey 8 */
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     REDLOCK_VOTE_BLOCKED},
    {"BUSY Valkey is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
     REDLOCK_VOTE_BLOCKED},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
     REDLOCK_VOTE_BLOCKED},
    {"TRYAGAIN Multiple keys request during rehashing of slot", REDLOCK_VOTE_BLOCKED},
    {"CLUSTERDOWN Hash slot not served", REDLOCK_VOTE_CLUSTER},
    {"OOM command not allowed when used memory > 'maxmemory'.", REDLOCK_VOTE_OOM},
    {"OOM command not allowed when used memory > 'maxmemory'. script: "
     "cf0e94b2e9ffc7e04395cf88f7583fc309985910, on @user_script:1.",
     REDLOCK_VOTE_OOM},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. "
     "Commands "
     "that may modify the data set are disabled, because this instance is configured to report errors during "
     "writes if RDB snapshotting fails (stop-writes-on-bgsave-error option).",
     REDLOCK_VOTE_MISCONF},
    {"MISCONF Errors writing to the AOF file: No space left on device", REDLOCK_VOTE_MISCONF},
    {"NOREPLICAS Not enough good replicas to write.", REDLOCK_VOTE_REPLICAS},
    {"READONLY You can't write against a read only replica.", REDLOCK_VOTE_READONLY},
    {"READONLY You can't write against a read only replica. script: "
     "cf0e94b2e9ffc7e04395cf88f7583fc309985910, on @user_script:1.",
     REDLOCK_VOTE_READONLY},
    {"MOVED 3999 127.0.0.1:6381", REDLOCK_VOTE_CLUSTER},
    {"ASK 3999 127.0.0.1:6381", REDLOCK_VOTE_CLUSTER},
    {"CROSSSLOT Keys in request don't hash to the same slot", REDLOCK_VOTE_CLUSTER},
    {"ERR SELECT is not allowed in cluster mode", REDLOCK_VOTE_CLUSTER},
    {"NOAUTH Authentication required.", REDLOCK_VOTE_AUTH},
    {"WRONGPASS invalid username-password pair or user is disabled.", REDLOCK_VOTE_AUTH},
    {"ERR invalid password", REDLOCK_VOTE_AUTH}, /* Redis 5 */
    {"ERR AUTH <password> called without any password configured for the default user. Are you sure your "
     "configuration is correct?",
     REDLOCK_VOTE_AUTH},
    {"ERR Client sent AUTH, but no password is set", REDLOCK_VOTE_AUTH}, /* Redis 5 */
    {"DENIED Redis is running in protected mode because protected mode is enabled and no password is set for "
     "the default user.",
     REDLOCK_VOTE_AUTH},
    {"NOPERM this user has no permissions to run the 'set' command", REDLOCK_VOTE_NOPERM},
    {"NOPERM this user has no permissions to access one of the keys used as arguments", REDLOCK_VOTE_NOPERM},
    {"NOPERM User lim has no permissions to run the 'set' command", REDLOCK_VOTE_NOPERM}, /* Redis 7.2 */
    {"ERR The user executing the script can't run this command or subcommand script: "
     "cf0e94b2e9ffc7e04395cf88f7583fc309985910, on @user_script:1.",
     REDLOCK_VOTE_NOPERM},
    {"ERR ACL failure in script: User default has no permissions to run the 'del' command script: on "
     "@user_script:1.",
     REDLOCK_VOTE_NOPERM}, /* Valkey 9.1; with the script's digest before: Redis 7.2, Valkey 8 */
    {"ERR ACL failure in script: No permissions to access a key script: on @user_script:1.",
     REDLOCK_VOTE_NOPERM},
    {"ERR unknown command 'EVALSHA', with args beginning with: 'x' ", REDLOCK_VOTE_COMMAND},
    {"ERR unknown command `EVALSHA`, with args beginning with: ", REDLOCK_VOTE_COMMAND}, /* Redis 5, 6 */
    {"ERR DB index is out of range", REDLOCK_VOTE_DATABASE},
    {"ERR invalid DB index", REDLOCK_VOTE_DATABASE},
    {"ERR max number of clients reached", REDLOCK_VOTE_SERVER},
    {"ERR value is not an integer or out of range", REDLOCK_VOTE_SERVER},
    {"NOSCRIPT No matching script. Please use EVAL.", REDLOCK_VOTE_SERVER},
    {"ERR", REDLOCK_VOTE_SERVER},
    {"", REDLOCK_VOTE_SERVER},
    {"BUSYKEY Target key name already exists.", REDLOCK_VOTE_SERVER},
};

TEST(texts_of_real_servers)
{
	unsigned wrong = 0;
	for (unsigned i = 0; i < COUNT(texts); i++) {
		enum redlock_vote_code vote = rl_answer_of_error(texts[i].text);
		if (vote == texts[i].vote)
			continue;
		print_error("%.70s: %s, not %s\n", texts[i].text, redlock_vote_name(vote),
		            redlock_vote_name(texts[i].vote));
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/* ---- a server of today ---- */

#define ask_vote(want, ...)                                                                                  \
	do {                                                                                                     \
		struct raw_reply reply_;                                                                             \
		server_ask(&servers.server[0], &reply_, __VA_ARGS__, NULL);                                          \
		assert_int_equal(reply_.type, '-');                                                                  \
		if (rl_answer_of_error(reply_.text) != (want))                                                       \
			fail_msg("%s: not %s", reply_.text, redlock_vote_name(want));                                    \
	} while (0)

#define must_set(...) server_must(&servers.server[0], "OK", __VA_ARGS__, NULL)

TEST(errors_of_a_server)
{
	const char *release = rl_scripts[RL_SCRIPT_RELEASE].text;
	server_must(&servers.server[0], "1", "LPUSH", "list", "x", NULL);
	ask_vote(REDLOCK_VOTE_NO, "EVAL", release, "1", "list", "token");
	ask_vote(REDLOCK_VOTE_COMMAND, "NOSUCH", "token");
	ask_vote(REDLOCK_VOTE_DATABASE, "SELECT", "99999");
	ask_vote(REDLOCK_VOTE_AUTH, "AUTH", "secret");
	ask_vote(REDLOCK_VOTE_AUTH, "AUTH", "user", "secret");
	must_set("CONFIG", "SET", "maxmemory", "1");
	ask_vote(REDLOCK_VOTE_OOM, "SET", "k", "v", "NX", "PX", "1000");
	must_set("CONFIG", "SET", "maxmemory", "0");
	must_set("CONFIG", "SET", "min-replicas-to-write", "1");
	ask_vote(REDLOCK_VOTE_REPLICAS, "SET", "k", "v", "NX", "PX", "1000");
	must_set("CONFIG", "SET", "min-replicas-to-write", "0");
	must_set("SET", "k", "token");
	must_set("CONFIG", "SET", "replica-serve-stale-data", "yes");
	must_set("REPLICAOF", "127.0.0.1", "1");
	ask_vote(REDLOCK_VOTE_READONLY, "SET", "l", "v", "NX", "PX", "1000");
	ask_vote(REDLOCK_VOTE_READONLY, "EVAL", release, "1", "k", "token");
	must_set("CONFIG", "SET", "replica-serve-stale-data", "no");
	ask_vote(REDLOCK_VOTE_BLOCKED, "EVAL", release, "1", "k", "token");
	must_set("REPLICAOF", "NO", "ONE");
	must_set("ACL", "SETUSER", "default", "-del");
	ask_vote(REDLOCK_VOTE_NOPERM, "EVAL", release, "1", "k", "token");
	must_set("ACL", "SETUSER", "default", "-set", "+del");
	ask_vote(REDLOCK_VOTE_NOPERM, "SET", "l", "v", "NX", "PX", "1000");
	must_set("ACL", "SETUSER", "default", "+set");
	must_set("CONFIG", "SET", "requirepass", "pw");
	ask_vote(REDLOCK_VOTE_AUTH, "SET", "l", "v", "NX", "PX", "1000");
	strcpy(servers.server[0].password, "pw"); /* for what empties it */
}

/* ---- shapes ---- */

static const struct rl_reply_value ok = {.type = RL_REPLY_STATUS, .text = "OK", .kept = 2, .length = 2};
static const struct rl_reply_value text = {.type = RL_REPLY_STRING, .text = "OK", .kept = 2, .length = 2};
static const struct rl_reply_value number = {.type = RL_REPLY_INTEGER, .integer = 1};
static const struct rl_reply_value nil = {.type = RL_REPLY_NIL};

static enum redlock_vote_code vote_of_reply(unsigned operation, const struct rl_reply *reply)
{
	struct rl_vote vote;
	rl_answer_read(rl_ops[operation].outcomes, reply, &vote);
	return vote.code;
}

static enum redlock_vote_code vote_of(unsigned operation, struct rl_reply_value value)
{
	struct rl_reply reply = {.value = value};
	return vote_of_reply(operation, &reply);
}

TEST(shapes_of_set)
{
	struct rl_reply_value queued = {.type = RL_REPLY_STATUS, .text = "QUEUED", .kept = 6, .length = 6};
	struct rl_reply_value okay = {.type = RL_REPLY_STATUS, .text = "OKAY", .kept = 4, .length = 4};
	assert_int_equal(vote_of(REDLOCK_OP_ACQUIRE, ok), REDLOCK_VOTE_YES);
	assert_int_equal(vote_of(REDLOCK_OP_ACQUIRE, nil), REDLOCK_VOTE_NO);
	assert_int_equal(vote_of(REDLOCK_OP_ACQUIRE, text), REDLOCK_VOTE_GARBAGE); /* an old value: not SET NX */
	assert_int_equal(vote_of(REDLOCK_OP_ACQUIRE, number), REDLOCK_VOTE_GARBAGE);
	assert_int_equal(vote_of(REDLOCK_OP_ACQUIRE, queued), REDLOCK_VOTE_GARBAGE);
	assert_int_equal(vote_of(REDLOCK_OP_ACQUIRE, okay), REDLOCK_VOTE_GARBAGE);
	assert_int_equal(vote_of(REDLOCK_OP_PROBE, nil), REDLOCK_VOTE_YES);
	assert_int_equal(vote_of(REDLOCK_OP_PROBE, ok), REDLOCK_VOTE_GARBAGE); /* there was a key */
}

TEST(shapes_of_scripts)
{
	static const enum redlock_operation operations[] = {REDLOCK_OP_EXTEND, REDLOCK_OP_RELEASE};
	static const int64_t odd[] = {3, -2, INT64_MAX, INT64_MIN};
	struct rl_reply_value two = {.type = RL_REPLY_INTEGER, .integer = 2};
	assert_int_equal(vote_of(REDLOCK_OP_EXTEND, two), REDLOCK_VOTE_GARBAGE);
	assert_int_equal(vote_of(REDLOCK_OP_RELEASE, two), REDLOCK_VOTE_YES); /* and somebody waits */
	two.integer = -1;
	assert_int_equal(vote_of(REDLOCK_OP_EXTEND, two), REDLOCK_VOTE_GARBAGE);
	assert_int_equal(vote_of(REDLOCK_OP_RELEASE, two), REDLOCK_VOTE_NO); /* the same */
	for (unsigned i = 0; i < COUNT(operations); i++) {
		struct rl_reply_value zero = {.type = RL_REPLY_INTEGER};
		assert_int_equal(vote_of(operations[i], number), REDLOCK_VOTE_YES);
		assert_int_equal(vote_of(operations[i], zero), REDLOCK_VOTE_NO);
		assert_int_equal(vote_of(operations[i], ok), REDLOCK_VOTE_GARBAGE);
		assert_int_equal(vote_of(operations[i], text), REDLOCK_VOTE_GARBAGE);
		assert_int_equal(vote_of(operations[i], nil), REDLOCK_VOTE_GARBAGE);
		for (unsigned n = 0; n < COUNT(odd); n++) {
			struct rl_reply_value value = {.type = RL_REPLY_INTEGER, .integer = odd[n]};
			assert_int_equal(vote_of(operations[i], value), REDLOCK_VOTE_GARBAGE);
		}
	}
}

/* The vote has the fields of the answer; an answer to a request that was not executed has none. */
TEST(shapes_of_enter)
{
	struct rl_reply_value one = {.type = RL_REPLY_INTEGER, .integer = 1}, none = {.type = RL_REPLY_INTEGER};
	struct rl_reply r = {
	    .value = {.type = RL_REPLY_ARRAY}, .count = 6, .items = {one, number, number, number, text, text}};
	struct rl_vote vote;
	rl_answer_read(rl_ops[RL_OP_ENTER].outcomes, &r, &vote);
	assert_int_equal(vote.code, REDLOCK_VOTE_YES);
	assert_int_equal(vote.told, RL_TOLD(VERDICT) | RL_TOLD(WAITING) | RL_TOLD(TOKEN) | RL_TOLD(OFFER));
	r.items[0] = none;
	assert_int_equal(vote_of_reply(RL_OP_ENTER, &r), REDLOCK_VOTE_NO);
	r.items[0].integer = -1;
	assert_int_equal(vote_of_reply(RL_OP_ENTER, &r), REDLOCK_VOTE_GARBAGE);
	r.items[0] = one;
	r.count = 5;
	assert_int_equal(vote_of_reply(RL_OP_ENTER, &r), REDLOCK_VOTE_GARBAGE);
	static const struct {
		const char *text;
		enum redlock_vote_code vote;
	} errors[] = {
	    {"NOSCRIPT No matching script.", REDLOCK_VOTE_NO},
	    {"ERR unknown command 'EVAL', with args beginning with: ", REDLOCK_VOTE_NOPERM},
	    {"ERR Unknown Redis command called from script script: x, on @user_script:1.", REDLOCK_VOTE_NOPERM},
	    {"NOPERM No permissions to access a key", REDLOCK_VOTE_NOPERM},
	    {"OOM command not allowed when used memory > 'maxmemory'.", REDLOCK_VOTE_OOM},
	};
	for (unsigned i = 0; i < COUNT(errors); i++) {
		struct rl_reply error = {.value = {.type = RL_REPLY_ERROR, .text = errors[i].text}};
		rl_answer_read(rl_ops[RL_OP_ENTER].outcomes, &error, &vote);
		assert_int_equal(vote.code, errors[i].vote);
		assert_int_equal(vote.told, 0);
	}
}

static enum redlock_vote_code vote_of_words(const char *words, struct rl_vote *ret)
{
	struct rl_reply r = {
	    .value = {.type = RL_REPLY_STRING, .text = words, .kept = strlen(words), .length = strlen(words)}};
	rl_answer_read(rl_ops[RL_OP_ACQUIRE].guard_outcomes, &r, ret);
	return ret->code;
}

/* The numbers of an array, and the text after them, as one text. */
TEST(words_of_a_claim)
{
	static const char *const bad[] = {"",           "1",          "1 7 0 12",    "1 7 0 12t",  "x 7 0 0 t",
	                                  "1  7 0 0 t", "1 7 0 t",    "-3 0 0 0 t",  "2 7 0 12 t", "+1 7 0 0 t",
	                                  " 1 7 0 0 t", "1 7 0 0\tt", "1 7 0 0.5 t", "1 7 0 0x1 t"};
	struct rl_vote vote;
	assert_int_equal(vote_of_words("1 7 0 1795412707135 a token", &vote), REDLOCK_VOTE_YES);
	assert_true(vote.verdict == 1 && vote.number == 7 && vote.time_ms == INT64_C(1795412707135));
	assert_true(rl_slice_same(vote.token, (struct rl_slice){"a token", 7}));
	assert_int_equal(vote_of_words("0 0 -1 0 t", &vote), REDLOCK_VOTE_NO);
	assert_int_equal(vote.pttl_ms, -1);
	assert_int_equal(vote_of_words("-2 0 0 0 ", &vote), REDLOCK_VOTE_UNCOUNTED);
	assert_true(rl_vote_tells(&vote, RL_FIELD_TOKEN) && vote.token.size == 0);
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_int_equal(vote_of_words(bad[i], &vote), REDLOCK_VOTE_GARBAGE);
}

TEST(shapes_of_inspect)
{
	struct rl_reply good = {
	    .value = {.type = RL_REPLY_ARRAY}, .count = 4, .items = {text, number, number, text}};
	struct rl_vote vote;
	rl_answer_read(rl_ops[REDLOCK_OP_QUERY].outcomes, &good, &vote);
	assert_int_equal(vote.code, REDLOCK_VOTE_YES);
	assert_int_equal(vote.told, RL_TOLD(TYPE) | RL_TOLD(PTTL) | RL_TOLD(SIZE) | RL_TOLD(VALUE));
	assert_int_equal(vote.size, 1);
	assert_int_equal(vote.value.size, text.kept);
	for (unsigned i = 0; i < 4; i++) {
		struct rl_reply bad = good;
		bad.items[i] = nil;
		assert_int_equal(vote_of_reply(REDLOCK_OP_QUERY, &bad), REDLOCK_VOTE_GARBAGE);
	}
	good.count = 3;
	assert_int_equal(vote_of_reply(REDLOCK_OP_QUERY, &good), REDLOCK_VOTE_GARBAGE);
	good.count = 5;
	assert_int_equal(vote_of_reply(REDLOCK_OP_QUERY, &good), REDLOCK_VOTE_GARBAGE);
	assert_int_equal(vote_of(REDLOCK_OP_QUERY, number), REDLOCK_VOTE_GARBAGE);
	assert_int_equal(vote_of(REDLOCK_OP_QUERY, nil), REDLOCK_VOTE_GARBAGE);
}

TEST(errors_of_every_operation)
{
	struct rl_reply_value error = {.type = RL_REPLY_ERROR, .text = "READONLY x", .kept = 10, .length = 10};
	for (unsigned operation = REDLOCK_OP_ACQUIRE; operation < RL_OP_COUNT; operation++)
		assert_int_equal(vote_of((enum redlock_operation)operation, error), REDLOCK_VOTE_READONLY);
}

SERVER_TESTS(1)
