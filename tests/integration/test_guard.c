/* SPDX-License-Identifier: MIT */
/* A guarded node set: who is refused, why, and how a node is repaired. (Nodes that have forgotten:
 * test_forget.c) */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "fixture.h"
#include "record.h"

enum { MAX_TTL_MS = 1500, NODE_TIMEOUT_MS = 1000 };

static redlock_client *open_guarded(unsigned count, int guard)
{
	struct redlock_options options = fixture_client(servers.urls, count);
	options.guard = guard;
	options.node_timeout_ms = NODE_TIMEOUT_MS;
	return fixture_open_with(&options);
}

TEST(a_lock_of_a_guarded_set)
{
	for (unsigned count = 3; count <= 5; count += 2) {
		record_write(&servers, count, MAX_TTL_MS, "1000");
		for (int guard = REDLOCK_GUARD_AUTO; guard <= REDLOCK_GUARD_REQUIRE; guard++) {
			own_client *client = open_guarded(count, guard);
			own_lock *lock = fixture_held(client, "job", MAX_TTL_MS, 0);
			own_lock *other = fixture_lock(client, "job", MAX_TTL_MS, 0);
			expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other));
			expect_ok(lock, redlock_extend(lock, 0));
			expect_ok(lock, redlock_release(lock));
			expect_pair(other);
			expect_settled(client, count, "job");
		}
		servers_heal(&servers);
	}
}

/* A program that leaves ttl_ms at its default. A TTL that it asks for is refused, also one of that length. */
TEST(a_ttl_that_nobody_asked_for_is_the_maximum_of_the_set)
{
	enum { TTL_MS = 10000, DEFAULT_MS = 30000 };
	char why[512];
	for (int guard = REDLOCK_GUARD_AUTO; guard <= REDLOCK_GUARD_REQUIRE; guard++) {
		struct redlock_lock_options options, asked, renewed;
		struct redlock_terms terms = {.size = sizeof terms};
		record_write(&servers, 3, TTL_MS, "1000");
		own_client *client = open_guarded(3, guard);
		redlock_lock_options_init(&options);
		asked = renewed = options;
		asked.ttl_ms = DEFAULT_MS;
		renewed.renew_ms = TTL_MS; /* a third of 30 s */
		own_lock *lock = fixture_lock_with(client, "job", &options);
		own_lock *longer = fixture_lock_with(client, "other", &asked);
		assert_int_equal(redlock_lock_terms(lock, &terms), 0);
		assert_int_equal(terms.ttl_ms, DEFAULT_MS);
		expect_ok(lock, redlock_acquire(lock));
		assert_true(redlock_remaining_ms(lock) < TTL_MS);
		assert_int_equal(redlock_lock_terms(lock, &terms), 0);
		assert_int_equal(terms.ttl_ms, TTL_MS);
		assert_true(terms.validity_ms < TTL_MS && terms.danger_ms == TTL_MS / 6);
		expect_ok(lock, redlock_extend(lock, 0));
		assert_int_equal(redlock_extend(lock, DEFAULT_MS), REDLOCK_E_NOQUORUM);
		assert_driven(client, fixture_vote(lock, 0) == REDLOCK_VOTE_LONG_TTL);
		expect_ok(lock, redlock_release(lock));
		expect_result(longer, REDLOCK_E_NOQUORUM, redlock_acquire(longer));
		assert_driven(client, fixture_vote(longer, 0) == REDLOCK_VOTE_LONG_TTL);
		renewed.min_validity_ms = TTL_MS; /* fits 30 s */
		own_lock *unfit = fixture_lock_with(client, "other", &renewed);
		expect_result(unfit, REDLOCK_E_NOQUORUM, redlock_acquire(unfit));
		(void)redlock_last_error(unfit, why, sizeof why);
		assert_non_null(strstr(why, "10000 ms are too few for this min_validity_ms or danger_ms"));
		renewed.min_validity_ms = 0;
		own_lock *later = fixture_lock_with(client, "job", &renewed);
		assert_int_equal(redlock_lock_terms(later, &terms), 0);
		assert_int_equal(terms.ttl_ms, TTL_MS);
		assert_int_equal(terms.renew_ms, TTL_MS / 3);
		servers_heal(&servers);
	}
}

/* Also one that ends in thousands of years: what says so must be a number. */
TEST(a_key_of_somebody_else_with_a_long_life)
{
	struct raw_reply reply;
	record_write(&servers, 3, MAX_TTL_MS, "1000");
	own_client *client = open_guarded(3, REDLOCK_GUARD_REQUIRE);
	on_servers(0, 3, server_ask(it, &reply, "SET", "job", "x", "PX", "200000000000000", NULL));
	for (int fence = 0; fence <= 1; fence++) {
		struct redlock_lock_options options = fixture_options(MAX_TTL_MS);
		options.fence = fence;
		own_lock *lock = fixture_lock_with(client, "job", &options);
		expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
		for (unsigned i = 0; i < 3; i++)
			assert_driven(client, fixture_vote(lock, i) == REDLOCK_VOTE_NO);
	}
	servers_heal(&servers);
}

/* A look, which is a plain command, tells that there is no record. */
TEST(a_plain_set_runs_no_script_for_its_guard)
{
	struct raw_reply reply;
	on_servers(0, 3, server_must(it, "OK", "CONFIG", "RESETSTAT", NULL));
	own_client *client = open_guarded(3, REDLOCK_GUARD_AUTO);
	own_lock *lock = fixture_held(client, "job", MAX_TTL_MS, 0);
	assert_driven(client, fixture_votes_of_kind(lock, 3, REDLOCK_KIND_YES) == 3);
	for (unsigned i = 0; i < 3; i++) {
		const char *asked = server_ask(&servers.server[i], &reply, "INFO", "commandstats", NULL);
		assert_non_null(strstr(asked, "cmdstat_hmget:calls=1,"));
		assert_null(strstr(asked, "cmdstat_eval"));
	}
}

/* A look shows a record: to a request that has left by then and is void, and to one that only guarded nodes
 * may have, which waits for the record. */
TEST(a_look_that_shows_a_record_is_followed_by_all_of_it)
{
	for (unsigned fenced = 0; fenced < 2; fenced++) {
		struct redlock_lock_options options;
		redlock_lock_options_init(&options);
		options.ttl_ms = MAX_TTL_MS;
		options.fence = fenced == 1;
		record_write(&servers, 3, MAX_TTL_MS, "1000");
		own_client *client = open_guarded(3, REDLOCK_GUARD_AUTO);
		own_lock *lock = fixture_lock_with(client, "job", &options);
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, fixture_votes_of_kind(lock, 3, REDLOCK_KIND_YES) == 3);
		expect_ok(lock, redlock_release(lock));
		expect_settled(client, 3, "job");
		servers_heal(&servers);
	}
}

/* ---- a plain set becomes a guarded one ---- */

/* The request that looks is answered plainly by all, and all are asked again in time, by a new connection
 * where theirs has aged. No key of the plain request stays. */
TEST(the_request_that_notices_the_guard_succeeds)
{
	enum { ACQUIRE, EXTEND, UPGRADE, UPGRADE_FENCED, COUNT, LONGEST_MS = 40000, SHORT_MS = 10000 };
	for (unsigned i = 0; i < 4 * COUNT; i++) {
		unsigned operation = i % COUNT, is_aged = i / COUNT % 2, is_long = i / COUNT / 2;
		own_client *client = open_guarded(3, REDLOCK_GUARD_AUTO);
		struct redlock_lock_options options;
		redlock_lock_options_init(&options);
		options.mode = operation >= UPGRADE ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
		options.fence = operation == UPGRADE_FENCED;
		own_lock *lock = fixture_lock_with(client, "job", &options);
		expect_ok(lock, redlock_acquire(lock));
		assert_driven(client, fixture_votes_of_kind(lock, 3, REDLOCK_KIND_YES) == 3);
		if (operation == ACQUIRE)
			expect_ok(lock, redlock_release(lock));
		record_write(&servers, 3, is_long ? LONGEST_MS : SHORT_MS, "1000");
		client->nodes.look_ns = 0;
		for (unsigned node = 0; is_aged && node < 3; node++)
			client->nodes.list[node].link.begun_ns = 0;
		int result = operation == ACQUIRE  ? redlock_acquire(lock)
		             : operation == EXTEND ? redlock_extend(lock, 0)
		                                   : redlock_upgrade(lock);
		expect_ok(lock, result);
		own_client *rival = open_guarded(3, REDLOCK_GUARD_REQUIRE);
		own_lock *other = fixture_lock(rival, "job", SHORT_MS, 0);
		expect_result(other, REDLOCK_E_BUSY, redlock_acquire(other));
		assert_in_range(redlock_remaining_ms(lock), 1, is_long ? LONGEST_MS : SHORT_MS);
		expect_ok(lock, redlock_release(lock));
		expect_settled(client, 3, "job");
		expect_pair(other);
		servers_heal(&servers);
	}
}

/* The question for the record follows requests whose answers are still to come, of a set that stays plain or
 * is guarded by then. */
TEST(requests_under_way_are_answered_when_the_set_is_looked_at_again)
{
	for (unsigned i = 0; i < 4; i++) {
		bool is_guarded = i & 1, is_aged = i & 2;
		own_client *client = open_guarded(3, REDLOCK_GUARD_AUTO);
		own_lock *first = fixture_held(client, "first", 30000, 0),
		         *second = fixture_held(client, "second", 30000, 0);
		expect_ok(first, redlock_query(first));
		if (is_guarded)
			record_write(&servers, 3, 40000, "1000");
		for (unsigned node = 0; is_aged && node < 3; node++)
			client->nodes.list[node].link.begun_ns = 0;
		own_lock *third =
		    fixture_lock(client, "third", 30000, 10000); /* an attempt begins anew by the record */
		expect_ok(first, redlock_start_extend(first, 0));
		expect_ok(third, redlock_start_acquire(third));
		expect_ok(first, redlock_process(client));
		client->nodes.look_ns = 0;
		expect_ok(second, redlock_start_extend(second, 0));
		struct redlock_event event = {.size = sizeof event};
		for (unsigned ends = 0; ends < 3; ends++) {
			assert_driven(client, redlock_next(client, &event) == 1);
			assert_int_equal(event.kind, REDLOCK_EVENT_DONE);
			expect_ok(event.lock, event.result);
		}
		expect_ok(first, redlock_release(first));
		expect_ok(second, redlock_release(second));
		expect_ok(third, redlock_release(third));
		expect_settled(client, 3, "third");
		servers_heal(&servers);
	}
}

/* ---- who is refused, and why ---- */

/* Node 0 votes so, and says why; an acquire has no quorum. */
static void expect_refused(const struct redlock_options *options, uint64_t ttl_ms,
                           enum redlock_vote_code vote, const char *why)
{
	own_client *client = fixture_open_with(options);
	own_lock *lock = fixture_lock(client, "job", ttl_ms, 0);
	assert_soon(redlock_acquire(lock) == REDLOCK_E_NOQUORUM && fixture_vote(lock, 0) == vote);
	if (strstr(fixture_status(client, 0).last_error, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, fixture_status(client, 0).last_error);
}

static void set_field(unsigned first, unsigned end, const char *field, const char *value)
{
	struct raw_reply reply;
	on_servers(first, end, server_ask(it, &reply, "HSET", "redlock:set", field, value, NULL));
}

TEST(a_foreign_client_is_told_why)
{
	static const struct {
		const char *field, *value; /* of the record of all nodes */
		unsigned nodes, quorum;
		uint64_t ttl_ms;
		enum redlock_vote_code vote;
		const char *why;
	} cases[] = {
	    {"mode", "guard", 4, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "other members"},
	    {"mode", "guard", 3, 3, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "another quorum"},
	    {"mode", "guard", 3, 0, MAX_TTL_MS + 1, REDLOCK_VOTE_LONG_TTL, " ms at most"},
	    {"mode", "plain", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_UNGUARDED, "taken back"},
	    {"mode", "removed", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "was removed"},
	    {"version", "2", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "newer version"},
	    {"node", "unix:/another/0", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "another member"},
	    {"pass", "-:8899aabbccddeeff", 3, 0, MAX_TTL_MS, REDLOCK_VOTE_FOREIGN, "no run_id"},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		servers_heal(&servers);
		record_write(&servers, 3, MAX_TTL_MS, "1000");
		set_field(0, 3, cases[i].field, cases[i].value);
		struct redlock_options options = fixture_client(servers.urls, cases[i].nodes);
		options.guard = REDLOCK_GUARD_REQUIRE;
		options.node_timeout_ms = NODE_TIMEOUT_MS;
		options.quorum = cases[i].quorum;
		expect_refused(&options, cases[i].ttl_ms, cases[i].vote, cases[i].why);
	}
}

TEST(a_set_without_records)
{
	struct redlock_options options = fixture_client(servers.urls, 3);
	options.guard = REDLOCK_GUARD_REQUIRE;
	expect_refused(&options, WAIT_LONG_TTL_MS, REDLOCK_VOTE_UNGUARDED, "redlock init");
	options.guard = REDLOCK_GUARD_AUTO;
	own_client *client = fixture_open_with(&options);
	own_lock *lock = fixture_lock(client, "job", WAIT_LONG_TTL_MS, 0);
	expect_pair(lock);
	on_servers(0, 3, assert_false(server_has(it, "redlock:set")));
}

/* Node 0 may be asked without the guard before another node has told its record. The client takes that key
 * back, perhaps after the acquire has returned at the quorum. */
TEST(a_record_is_seen_late)
{
	record_write(&servers, 3, MAX_TTL_MS, "1000");
	on_servers(0, 1, server_must(it, "OK", "FLUSHALL", NULL));
	own_client *client = open_guarded(3, REDLOCK_GUARD_AUTO);
	own_lock *lock = fixture_held(client, "job", MAX_TTL_MS, 0);
	assert_driven(client, !server_has(&servers.server[0], "job"));
	expect_ok(lock, redlock_release(lock));
}

static void *resume_later(void *server)
{
	wait_ms(NODE_TIMEOUT_MS / 4);
	server_resume(server);
	return NULL;
}

static void *resume_late(void *server)
{
	wait_ms(2 * NODE_TIMEOUT_MS);
	return resume_later(server);
}

/* A majority has lost its records, and the node that has the last one does not answer. */
static redlock_client *open_beside_the_last_record(void)
{
	record_write(&servers, 3, MAX_TTL_MS, "1000");
	on_servers(0, 2, server_must(it, "OK", "FLUSHALL", NULL));
	server_pause(&servers.server[2]);
	return open_guarded(3, REDLOCK_GUARD_REQUIRE);
}

static int acquire_while(void *(*resume)(void *), redlock_lock *lock)
{
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, resume, &servers.server[2]), 0);
	int result = redlock_acquire(lock);
	pthread_join(thread, NULL);
	return result;
}

/* The last node answers late: it reports that there is a guard. */
TEST(the_last_record_is_waited_for)
{
	own_client *client = open_beside_the_last_record();
	own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, acquire_while(resume_later, lock));
	for (unsigned i = 0; i < 2; i++) {
		assert_vote(lock, i, REDLOCK_VOTE_QUARANTINE);
		struct raw_reply reply;
		assert_driven(
		    client, atoll(server_ask(&servers.server[i], &reply, "HGET", "redlock:set", "quntil", NULL)) > 0);
	}
}

/* A waiter waits longer for the lock than for an answer. */
TEST(the_last_record_may_be_late_for_who_waits)
{
	own_client *client = open_beside_the_last_record();
	own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, WAIT_SOON_MS);
	expect_ok(lock, acquire_while(resume_late, lock));
	expect_ok(lock, redlock_release(lock));
}

/* The wait for a quorum decides, also where a busy lock would be waited for much longer. */
TEST(the_last_record_is_awaited_no_longer_than_a_quorum)
{
	server_pause(&servers.server[2]);
	own_client *client = open_guarded(3, REDLOCK_GUARD_REQUIRE);
	struct redlock_lock_options options = fixture_options(MAX_TTL_MS);
	options.wait_ms = REDLOCK_FOREVER;
	options.noquorum_wait_ms = 4 * NODE_TIMEOUT_MS;
	own_lock *lock = NULL;
	assert_int_equal(redlock_lock_new(client, "job", &options, &lock), 0);
	assert_int_equal(redlock_acquire(lock), REDLOCK_E_NOQUORUM);
	assert_vote(lock, 0, REDLOCK_VOTE_UNGUARDED);
	servers_heal(&servers);
}

static bool is_in_quarantine(const struct server *server)
{
	struct raw_reply reply;
	return strcmp(server_ask(server, &reply, "EXISTS", "redlock:set", NULL), "1") == 0;
}

static void *acquire_in_thread(void *lock)
{
	int result = redlock_acquire(lock);
	return result == 0 && redlock_release(lock) == 0 ? lock : NULL;
}

/* All records are gone, and a client that has seen them heals the set: one that begins now waits for that. */
TEST(a_set_that_is_healed_is_waited_for)
{
	pthread_t thread;
	void *healed;
	record_write(&servers, 3, MAX_TTL_MS, "1000");
	own_client *healer = open_guarded(3, REDLOCK_GUARD_REQUIRE);
	own_lock *theirs = fixture_held(healer, "theirs", MAX_TTL_MS, WAIT_SOON_MS);
	expect_ok(theirs, redlock_release(theirs));
	on_servers(0, 3, server_must(it, "OK", "FLUSHALL", NULL));
	assert_int_equal(pthread_create(&thread, NULL, acquire_in_thread, theirs), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_soon(is_in_quarantine(&servers.server[i]));
	for (int waits = 0; waits < 2; waits++) {
		own_client *client = open_guarded(3, REDLOCK_GUARD_REQUIRE);
		struct redlock_lock_options options = fixture_options(MAX_TTL_MS);
		options.quarantine_wait_ms = waits ? REDLOCK_FOREVER : 0;
		own_lock *lock = fixture_lock_with(client, "job", &options);
		int result = redlock_acquire(lock);
		if (!waits) {
			expect_result(lock, REDLOCK_E_NOQUORUM, result);
			assert_driven(client, fixture_vote(lock, 0) == REDLOCK_VOTE_QUARANTINE);
		} else {
			expect_ok(lock, result);
		}
	}
	pthread_join(thread, &healed);
	assert_ptr_equal(healed, theirs);
}

/* But not of a node that is down, nor with one attempt for longer than for any other answer. */
TEST(a_set_without_records_and_a_node_that_is_lost)
{
	for (int is_down = 0; is_down <= 1; is_down++) {
		if (is_down)
			server_kill(&servers.server[2]);
		else
			server_pause(&servers.server[2]);
		own_client *client = open_guarded(3, REDLOCK_GUARD_REQUIRE);
		own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
		uint64_t begun_ns = wait_now_ns();
		expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
		assert_vote(lock, 0, REDLOCK_VOTE_UNGUARDED);
		assert_vote(lock, 1, REDLOCK_VOTE_UNGUARDED);
		uint64_t limit_ms = is_down ? NODE_TIMEOUT_MS : 3 * NODE_TIMEOUT_MS;
		assert_true(wait_elapsed_ms(begun_ns) < limit_ms || wait_is_slow());
		servers_heal(&servers);
	}
}

/* A user who may not read the record sees no guard, and none may be sure of one. */
TEST(a_record_out_of_reach)
{
	record_write(&servers, 3, MAX_TTL_MS, "1000");
	on_servers(0, 3,
	           server_must(it, "OK", "ACL", "SETUSER", "jobs", "on", "nopass", "~job*", "&*", "+@all", NULL));
	struct redlock_options options = fixture_client(servers.urls, 3);
	options.user = "jobs";
	options.password = "x";
	options.guard = REDLOCK_GUARD_REQUIRE;
	expect_refused(&options, WAIT_LONG_TTL_MS, REDLOCK_VOTE_NOPERM,
	               "to read the record of the guarded node set it needs ~redlock:set +eval");
}

/* A user who may run no script by its digest runs each by its text, as without a guard. */
TEST(a_user_without_evalsha)
{
	record_write(&servers, 3, MAX_TTL_MS, "1000");
	on_servers(
	    0, 3,
	    server_must(it, "OK", "ACL", "SETUSER", "texts", "on", ">x", "~*", "&*", "+@all", "-evalsha", NULL));
	struct redlock_options options = fixture_client(servers.urls, 3);
	options.user = "texts";
	options.password = "x";
	options.guard = REDLOCK_GUARD_REQUIRE;
	options.node_timeout_ms = NODE_TIMEOUT_MS;
	own_client *client = fixture_open_with(&options);
	own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
	for (int i = 0; i < 3; i++) {
		expect_ok(lock, redlock_acquire(lock));
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
	}
}

/* ---- repair ---- */

static void flush(const struct server *server)
{
	server_must(server, "OK", "FLUSHALL", NULL);
}

static const char *field_of(const struct server *server, const char *field)
{
	static struct raw_reply reply;
	return server_ask(server, &reply, "HGET", "redlock:set", field, NULL);
}

/* The counters of five nodes are read from three that were never away; of three nodes one is too few. */
TEST(counters_are_repaired_from_a_quorum)
{
	for (unsigned count = 3; count <= 5; count += 2) {
		servers_heal(&servers);
		record_write(&servers, count, MAX_TTL_MS, "1000");
		set_field(count - 1, count, "gmax", "5000");
		own_client *client = open_guarded(count, REDLOCK_GUARD_REQUIRE);
		on_servers(0, 2, flush(it));
		own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
		for (unsigned i = 0; i < 2; i++)
			assert_soon((redlock_acquire(lock) != 0 || redlock_release(lock) == 0) &&
			            fixture_vote(lock, i) == REDLOCK_VOTE_YES);
		for (unsigned i = 0; i < 2; i++) {
			/* asked again a second later where answers came late */
			assert_soon((redlock_acquire(lock) != 0 || redlock_release(lock) == 0) &&
			            strcmp(field_of(&servers.server[i], "floor"), count == 5 ? "5000" : "(nil)") == 0);
			assert_string_equal(field_of(&servers.server[i], "gmax"), count == 5 ? "5000" : "(nil)");
			assert_int_equal(strcmp(field_of(&servers.server[i], "qid"), "(nil)") == 0, count == 5);
		}
	}
}

/* A node whose counters are half damaged gives no number to go on from: it may have given higher ones. */
TEST(counters_are_not_repaired_from_damaged_ones)
{
	static const struct {
		const char *field, *value; /* NULL: deleted */
	} cases[] = {{"gmax", NULL}, {"gmax", "-5"}, {"gmax", "999"}, {"floor", "9007199254740992"}};
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		servers_heal(&servers);
		record_write(&servers, 3, MAX_TTL_MS, "1000");
		set_field(2, 3, "gmax", "5000"); /* confirmed with node 0 */
		if (cases[i].value == NULL)
			server_must(&servers.server[2], "1", "HDEL", "redlock:set", cases[i].field, NULL);
		else
			set_field(2, 3, cases[i].field, cases[i].value);
		own_client *client = open_guarded(3, REDLOCK_GUARD_REQUIRE);
		flush(&servers.server[0]);
		own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
		assert_soon((redlock_acquire(lock) != 0 || redlock_release(lock) == 0) &&
		            fixture_vote(lock, 0) == REDLOCK_VOTE_YES);
		assert_string_equal(field_of(&servers.server[0], "floor"), "(nil)");
		struct redlock_lock_options options = fixture_options(MAX_TTL_MS);
		options.fence = 1;
		own_lock *fenced = fixture_lock_with(client, "job", &options);
		assert_soon(redlock_acquire(fenced) == REDLOCK_E_NOQUORUM &&
		            fixture_vote(fenced, 0) == REDLOCK_VOTE_UNCOUNTED &&
		            fixture_vote(fenced, 2) == REDLOCK_VOTE_UNCOUNTED);
	}
}

static void configure(const char *step, const char *members, const char *config, const char *pass)
{
	set_field(1, 2, "step", step);
	set_field(1, 2, "members", members);
	set_field(1, 2, "config", config);
	set_field(1, 2, "pass", pass);
}

static bool is_repaired(void)
{
	return strcmp(field_of(&servers.server[0], "config"), "(nil)") != 0;
}

/* Members have changed since this client met the second node: it learns so when it reads the numbers there,
 * also if the third one knows nothing of it. A client that never learns so repairs. */
TEST(a_client_with_an_older_configuration_repairs_nothing)
{
	enum { QUARANTINE_MS = MAX_TTL_MS + 1000 + MAX_TTL_MS / 100 + 2 };
	for (unsigned count = 2; count <= 3; count++) {
		char members[512], pass[128];
		servers_heal(&servers);
		record_write(&servers, count, MAX_TTL_MS, "1000");
		snprintf(members, sizeof members, "%s", field_of(&servers.server[1], "members"));
		snprintf(pass, sizeof pass, "%s", field_of(&servers.server[1], "pass"));
		own_client *client = open_guarded(count, REDLOCK_GUARD_REQUIRE);
		own_lock *lock = fixture_lock(client, "job", MAX_TTL_MS, 0);
		assert_soon(redlock_acquire(lock) == 0 && redlock_release(lock) == 0);
		flush(&servers.server[0]);
		assert_soon((redlock_acquire(lock) != 0 || redlock_release(lock) == 0) &&
		            strcmp(field_of(&servers.server[0], "qid"), "(nil)") != 0);
		expect_result(lock, REDLOCK_E_GONE, redlock_query(lock));    /* takes in what is said of it */
		(void)(redlock_acquire(lock) == 0 && redlock_release(lock)); /* wants its vote */
		configure("2", "others", "newer", "newer:newer");
		wait_ms(QUARANTINE_MS + 20);
		for (unsigned i = 0; i < 20; i++) {
			expect_result(lock, REDLOCK_E_GONE, redlock_query(lock));
			wait_ms(2);
		}
		assert_false(is_repaired());
		configure("1", members, "8899aabbccddeeff", pass);
		own_client *other = open_guarded(count, REDLOCK_GUARD_REQUIRE);
		own_lock *wanted = fixture_lock(other, "job", MAX_TTL_MS, 0);
		assert_soon((redlock_acquire(wanted) != 0 || redlock_release(wanted) == 0) && is_repaired());
	}
}

SERVER_TESTS(5)
