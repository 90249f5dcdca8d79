/* SPDX-License-Identifier: MIT */
/* Shared locks on real servers: who excludes whom, what is told, upgrades, and who waits for whom. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

enum { NODES = 5, QUORUM = 3 };

static redlock_client *open_client(void)
{
	return fixture_open(servers.urls, NODES, 0);
}

static redlock_lock *shared_with(redlock_client *client, const char *name, uint64_t ttl_ms, uint64_t wait_ms)
{
	struct redlock_lock_options options = fixture_options(ttl_ms);
	options.mode = REDLOCK_SHARED;
	options.wait_ms = wait_ms;
	return fixture_lock_with(client, name, &options);
}

static redlock_lock *reader(redlock_client *client, uint64_t wait_ms)
{
	return shared_with(client, "job", WAIT_LONG_TTL_MS, wait_ms);
}

static redlock_lock *writer(redlock_client *client, uint64_t wait_ms)
{
	return fixture_lock(client, "job", WAIT_LONG_TTL_MS, wait_ms);
}

/* Shares it by a value of its own. */
static redlock_lock *reader_with(redlock_client *client, const char *value)
{
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.mode = REDLOCK_SHARED;
	options.token = value;
	options.token_len = strlen(value);
	return fixture_lock_with(client, "job", &options);
}

/* On how many nodes so many share it. */
static unsigned nodes_with(const char *members)
{
	unsigned count = 0;
	struct raw_reply reply;
	for (unsigned i = 0; i < NODES; i++)
		count += strcmp(server_ask(&servers.server[i], &reply, "ZCARD", "job", NULL), members) == 0;
	return count;
}

static void flush_scripts(void)
{
	struct raw_reply reply;
	on_servers(0, NODES, server_ask(it, &reply, "SCRIPT", "FLUSH", NULL));
}

/* ---- one with the others ---- */

/* Any number of these, or one that is not; each with its own token. The servers forget the scripts between.
 */
TEST(many_share_it_or_one_has_it)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0), *b = reader(client, 0), *w = writer(client, 0);
	for (int turn = 0; turn < 3; turn++) {
		expect_ok(a, redlock_acquire(a));
		expect_ok(b, redlock_acquire(b));
		assert_string_not_equal(fixture_token(a).text, fixture_token(b).text);
		assert_driven(client, nodes_with("2") == NODES);
		expect_result(w, REDLOCK_E_BUSY, redlock_acquire(w));
		expect_ok(a, redlock_extend(a, 0));
		flush_scripts();
		expect_ok(a, redlock_query(a));
		expect_ok(a, redlock_release(a));
		expect_result(a, REDLOCK_E_GONE, redlock_query(a));
		expect_result(w, REDLOCK_E_BUSY, redlock_acquire(w));
		flush_scripts();
		expect_ok(b, redlock_extend(b, 0));
		expect_ok(b, redlock_release(b));
		expect_settled(client, NODES, "job");
		expect_ok(w, redlock_acquire(w));
		expect_result(a, REDLOCK_E_BUSY, redlock_acquire(a));
		expect_ok(w, redlock_release(w));
		expect_settled(client, NODES, "job");
	}
}

/* The key ends with the last of them, also when that one leaves before. */
TEST(the_key_ends_with_the_last_of_them)
{
	own_client *client = open_client();
	own_lock *brief = shared_with(client, "job", 2000, 0), *lasting = reader(client, 0);
	expect_ok(brief, redlock_acquire(brief));
	assert_driven(client, nodes_with("1") == NODES);
	for (unsigned i = 0; i < NODES; i++)
		assert_in_range(server_pttl(&servers.server[i], "job"), 1, 2000);
	expect_ok(lasting, redlock_acquire(lasting));
	assert_driven(client, nodes_with("2") == NODES);
	for (unsigned i = 0; i < NODES; i++)
		assert_in_range(server_pttl(&servers.server[i], "job"), 3000, WAIT_LONG_TTL_MS);
	expect_ok(lasting, redlock_release(lasting));
	assert_driven(client, nodes_with("1") == NODES);
	for (unsigned i = 0; i < NODES; i++)
		assert_in_range(server_pttl(&servers.server[i], "job"), 1, 2000);
	assert_driven(client, servers_with_key(&servers, NODES, "job") == 0);
	expect_result(brief, REDLOCK_E_LOST, redlock_extend(brief, 0));
	expect_result(brief, REDLOCK_E_GONE, redlock_release(brief));
}

/* One that has ended is taken out by whoever comes, and holds nobody up. */
TEST(who_has_ended_is_gone)
{
	own_client *client = open_client();
	own_lock *dead = shared_with(client, "job", 300, 0), *a = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	expect_ok(dead, redlock_acquire(dead));
	assert_driven(client, nodes_with("2") == NODES);
	assert_driven(client, redlock_deadline_ns(dead) == 0);
	wait_ms(50); /* what the allowance for drift was */
	expect_result(dead, REDLOCK_E_LOST, redlock_extend(dead, 0));
	expect_ok(a, redlock_upgrade(a));
	expect_ok(a, redlock_release(a));
	expect_result(dead, REDLOCK_E_GONE, redlock_release(dead));
}

/* Plain SET in another language, and keys that are no locks, among them sets of others with and without an
 * expiry. Nothing of them is touched. */
TEST(everybody_is_excluded)
{
	struct raw_reply reply;
	own_client *client = open_client();
	own_lock *a = reader(client, 0);
	static const char *const others[][5] = {
	    {"SET", "job", "x"}, {"HSET", "job", "f", "v"}, {"ZADD", "job", "7", "m"}, {"RPUSH", "job", "e"}};
	for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
		for (int expires = 0; expires < 2; expires++) {
			const char *const *o = others[i];
			on_servers(0, NODES, server_ask(it, &reply, o[0], o[1], o[2], o[3], NULL));
			if (expires)
				on_servers(0, NODES, server_must(it, "1", "PEXPIRE", "job", "60000", NULL));
			expect_result(a, REDLOCK_E_BUSY, redlock_acquire(a));
			expect_settled(client, 0, "job");
			if (i == 2)
				assert_int_equal(nodes_with("1"), NODES);
			on_servers(0, NODES, server_must(it, "1", "DEL", "job", NULL));
		}
	expect_ok(a, redlock_acquire(a));
	assert_driven(client, nodes_with("1") == NODES);
	on_servers(0, NODES, server_must(it, "(nil)", "SET", "job", "x", "NX", "PX", "9000", NULL));
	expect_ok(a, redlock_release(a));
	expect_settled(client, NODES, "job");
}

/* ---- upgrade and downgrade ---- */

TEST(one_upgrades_and_goes_back)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0), *b = reader(client, 0), *w = writer(client, 0);
	expect_result(a, REDLOCK_E_STATE, redlock_upgrade(a));
	expect_ok(w, redlock_acquire(w));
	expect_result(w, REDLOCK_E_STATE, redlock_upgrade(w));
	expect_ok(w, redlock_release(w));
	expect_settled(client, NODES, "job");
	expect_ok(a, redlock_acquire(a));
	expect_ok(a, redlock_upgrade(a));
	struct fixture_token token = fixture_token(a);
	assert_driven(client, servers_with_value(&servers, NODES, "job", token.text) == NODES);
	expect_result(b, REDLOCK_E_BUSY, redlock_acquire(b));
	expect_ok(a, redlock_upgrade(a)); /* it is already */
	expect_ok(a, redlock_extend(a, 0));
	expect_ok(a, redlock_query(a));
	expect_ok(a, redlock_downgrade(a));
	assert_driven(client, nodes_with("1") == NODES);
	expect_ok(b, redlock_acquire(b));
	expect_ok(a, redlock_extend(a, 0));
	expect_ok(a, redlock_query(a));
	/* Two of them: none gets it, and both go on. */
	expect_result(a, REDLOCK_E_BUSY, redlock_upgrade(a));
	expect_result(b, REDLOCK_E_BUSY, redlock_upgrade(b));
	expect_ok(a, redlock_extend(a, 0));
	expect_ok(b, redlock_release(b));
	assert_driven(client, nodes_with("1") == NODES);
	expect_ok(a, redlock_upgrade(a));
	expect_ok(a, redlock_release(a)); /* in either form */
	expect_settled(client, NODES, "job");
	expect_pair(w);
}

/* An upgrade that reaches only some is taken back at once. */
TEST(what_was_upgraded_in_part_is_shared_again)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0), *b = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	assert_driven(client, nodes_with("1") == NODES);
	on_servers(0, QUORUM, server_must(it, "1", "ZADD", "job", "99999999999999", "other", NULL));
	on_servers(0, QUORUM, server_must(it, "1", "PEXPIREAT", "job", "99999999999999", NULL));
	expect_result(a, REDLOCK_E_BUSY, redlock_upgrade(a));
	assert_driven(client, nodes_with("2") == QUORUM && nodes_with("1") == NODES - QUORUM);
	expect_ok(b, redlock_acquire(b));
	/* And one that nobody has taken back, by the next extend. */
	expect_ok(b, redlock_release(b));
	struct fixture_token token = fixture_token(a);
	on_servers(QUORUM, NODES, server_must(it, "OK", "SET", "job", token.text, "PX", "60000", NULL));
	expect_ok(a, redlock_extend(a, 0));
	assert_driven(client, nodes_with("1") == NODES - QUORUM);
	/* Also by its release. */
	on_servers(QUORUM, NODES, server_must(it, "OK", "SET", "job", token.text, "PX", "60000", NULL));
	expect_ok(a, redlock_release(a));
	assert_driven(client, servers_with_key(&servers, NODES, "job") == QUORUM);
}

/* Without a quorum it stays what it was. */
TEST(an_upgrade_without_a_quorum)
{
	own_client *client = fixture_open(servers.urls, NODES, 300);
	own_lock *a = reader(client, 0), *b = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	assert_driven(client, nodes_with("1") == NODES);
	for (unsigned i = 0; i < QUORUM; i++)
		server_pause(&servers.server[i]);
	expect_result(a, REDLOCK_E_NOQUORUM, redlock_upgrade(a));
	assert_true(redlock_remaining_ms(a) > 0);
	for (unsigned i = 0; i < QUORUM; i++)
		server_resume(&servers.server[i]);
	assert_driven(client, nodes_with("1") == NODES);
	expect_ok(b, redlock_acquire(b));
	expect_ok(a, redlock_release(a));
	expect_ok(b, redlock_release(b));
	expect_settled(client, NODES, "job");
}

/* By many threads, each with a client: there is never one beside one that is alone, and none waits. */
enum { RIVALS = 4, TRIES = 40 };
static atomic_int alone, together;

static void *rival(void *unused)
{
	static char wrong[] = "two at once", failed[] = "an operation failed";
	(void)unused;
	own_client *client = open_client();
	own_lock *a = reader(client, REDLOCK_FOREVER);
	for (int i = 0; i < TRIES; i++) {
		if (redlock_acquire(a) != 0)
			return failed;
		atomic_fetch_add(&together, 1);
		int result = redlock_upgrade(a);
		if (result != 0 && result != REDLOCK_E_BUSY)
			return failed;
		if (result == 0 && (atomic_fetch_add(&alone, 1) != 0 || atomic_load(&together) != 1))
			return wrong;
		if (result == 0)
			atomic_fetch_sub(&alone, 1);
		if (result == 0 && redlock_downgrade(a) != 0)
			return failed;
		atomic_fetch_sub(&together, 1);
		if (redlock_release(a) != 0)
			return failed;
	}
	return NULL;
}

TEST(rivals_upgrade_one_at_a_time)
{
	pthread_t threads[RIVALS];
	for (int i = 0; i < RIVALS; i++)
		pthread_create(&threads[i], NULL, rival, NULL);
	for (int i = 0; i < RIVALS; i++) {
		void *problem;
		pthread_join(threads[i], &problem);
		if (problem != NULL)
			fail_msg("%s", (const char *)problem);
	}
}

/* ---- what is not possible ---- */

TEST(what_is_refused)
{
	own_client *client = open_client();
	redlock_lock *lock = NULL;
	struct redlock_lock_options plain = fixture_options(WAIT_LONG_TTL_MS), o;
	plain.mode = REDLOCK_SHARED;
	o = plain, o.mode = 2;
	assert_int_equal(redlock_lock_new(client, "job", 3, &o, &lock), REDLOCK_E_INVAL);
	o = plain, o.fence = 1;
	assert_int_equal(redlock_lock_new(client, "job", 3, &o, &lock), REDLOCK_E_INVAL);
	o = plain, o.compat = REDLOCK_COMPAT_SETNX;
	assert_int_equal(redlock_lock_new(client, "job", 3, &o, &lock), REDLOCK_E_INVAL);
	o = plain, o.compat = REDLOCK_COMPAT_SETNX_SAFE;
	assert_int_equal(redlock_lock_new(client, "job", 3, &o, &lock), REDLOCK_E_INVAL);
	const struct redlock_name names[] = {{"a", 1}, {"b", 1}};
	assert_int_equal(redlock_lock_new_many(client, names, 2, &plain, &lock), REDLOCK_E_INVAL);
	struct redlock_options guarded = fixture_client(servers.urls, NODES);
	guarded.guard = REDLOCK_GUARD_AUTO;
	own_client *other = fixture_open_with(&guarded);
	assert_int_equal(redlock_lock_new(other, "job", 3, &plain, &lock), REDLOCK_E_INVAL);
}

/* Without scripts there is no other way: the missing right is the vote. Without the queue's keys there is. */
TEST(users_without_rights)
{
	struct raw_reply reply;
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.user = "some";
	options.password = "x";
	on_servers(0, NODES,
	           server_ask(it, &reply, "ACL", "SETUSER", "some", "on", ">x", "+@all", "-eval", "-evalsha",
	                      "~*", "&*", NULL));
	own_client *without = fixture_open_with(&options);
	own_lock *refused = reader(without, 0);
	expect_result(refused, REDLOCK_E_NOQUORUM, redlock_acquire(refused));
	assert_true(fixture_votes_of_kind(refused, NODES, REDLOCK_KIND_FATAL) >= QUORUM);
	on_servers(0, NODES,
	           server_ask(it, &reply, "ACL", "SETUSER", "some", "reset", "on", ">x", "+@all", "~job", NULL));
	own_client *some = fixture_open_with(&options);
	own_lock *valued = reader_with(some, "mine");
	expect_ok(valued, redlock_acquire(valued));
	own_lock *a = reader(some, 0), *b = reader(some, 0);
	expect_ok(a, redlock_acquire(a));
	expect_ok(valued, redlock_release(valued));
	expect_ok(b, redlock_acquire(b));
	expect_ok(a, redlock_extend(a, 0));
	expect_ok(a, redlock_release(a));
	expect_ok(b, redlock_upgrade(b));
	expect_ok(b, redlock_downgrade(b));
	expect_ok(b, redlock_release(b));
	expect_settled(some, NODES, "job");
}

/* The token of another process, or of the caller, will do. */
TEST(a_token_suffices)
{
	own_client *client = open_client();
	own_lock *a = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	struct fixture_token token = fixture_token(a);
	own_lock *same = reader_with(client, token.text);
	expect_ok(same, redlock_query(same));
	expect_result(same, REDLOCK_E_BUSY, redlock_acquire(same)); /* it is in use */
	expect_ok(same, redlock_extend(same, 0));
	expect_result(same, REDLOCK_E_STATE, redlock_upgrade(same));
	expect_ok(same, redlock_release(same));
	expect_result(a, REDLOCK_E_LOST, redlock_extend(a, 0));
	expect_settled(client, NODES, "job");
}

/* Who has the token alone does not make an exclusive lock a shared one, whosever it is. */
TEST(a_token_opens_no_exclusive_lock)
{
	own_client *client = open_client(), *other = open_client();
	own_lock *a = reader(client, 0), *w = writer(client, 0), *b = reader(other, 0);
	for (int upgraded = 0; upgraded < 2; upgraded++) {
		redlock_lock *held = upgraded ? a : w;
		expect_ok(held, redlock_acquire(held));
		if (upgraded)
			expect_ok(held, redlock_upgrade(held));
		struct fixture_token token = fixture_token(held);
		own_lock *same = reader_with(other, token.text);
		expect_result(same, REDLOCK_E_GONE, redlock_extend(same, 0));
		expect_result(b, REDLOCK_E_BUSY, redlock_acquire(b));
		expect_ok(held, redlock_extend(held, 0));
		expect_ok(held, redlock_release(held));
		expect_settled(client, NODES, "job");
	}
}

/* ---- waiting ---- */

#define SOMEBODY "abcdefabcdefabcd"

/* Somebody stands in line at each node: who listens, or who does not any more. */
static void stand_in_line(const char *kind)
{
	char entry[40];
	snprintf(entry, sizeof entry, "1%s%-27s ;", kind, SOMEBODY ".7");
	on_servers(0, NODES, server_must(it, "OK", "SET", "{job}:redlock:queue", entry, "PX", "60000", NULL));
}

static void listen_everywhere(struct raw ears[NODES])
{
	static const char channel[] = "redlock:wake:" SOMEBODY;
	struct raw_reply reply;
	struct raw_arg subscribe[] = {{"SUBSCRIBE", 9}, {channel, sizeof channel - 1}};
	for (unsigned i = 0; i < NODES; i++) {
		assert_int_equal(raw_open(&ears[i], servers.server[i].socket, WAIT_SOON_MS), 0);
		assert_int_equal(raw_send(&ears[i], subscribe, 2), 0);
		assert_int_equal(raw_receive(&ears[i], &reply), 0);
	}
}

/* Who waits for an exclusive lock keeps out those that come later, unless nobody hears its messages. One that
 * waits for a shared one does not. */
TEST(a_waiter_keeps_out_who_comes_later)
{
	struct raw ears[NODES];
	own_client *client = open_client();
	own_lock *a = reader(client, 0), *b = reader(client, 0), *valued = reader_with(client, "mine");
	expect_ok(a, redlock_acquire(a));
	expect_ok(valued, redlock_acquire(valued));
	expect_ok(valued, redlock_release(valued));
	listen_everywhere(ears);
	stand_in_line("w");
	expect_result(b, REDLOCK_E_BUSY, redlock_acquire(b));
	expect_result(valued, REDLOCK_E_BUSY, redlock_acquire(valued));
	expect_settled(client, 0, "job");
	assert_int_equal(nodes_with("1"), NODES);
	expect_ok(a, redlock_extend(a, 0)); /* whoever has it keeps it */
	stand_in_line("r");
	expect_ok(b, redlock_acquire(b));
	expect_ok(b, redlock_release(b));
	for (unsigned i = 0; i < NODES; i++)
		raw_close(&ears[i]);
	stand_in_line("w");
	expect_ok(b, redlock_acquire(b));
	expect_ok(b, redlock_release(b));
	expect_ok(a, redlock_release(a));
	expect_settled(client, NODES, "job");
}

/* Without a message they would come by themselves, later: who is told is heard by somebody else. */
TEST(all_that_share_at_the_head_of_the_line_are_told)
{
	static const char *const heard[] = {SOMEBODY "\n7", SOMEBODY "\n8", "pong"};
	struct raw ears[NODES];
	struct raw_reply reply;
	struct raw_arg ping = {"PING", 4};
	char line[128];
	own_client *client = open_client();
	own_lock *a = reader(client, 0);
	expect_ok(a, redlock_acquire(a));
	expect_ok(a, redlock_upgrade(a));
	listen_everywhere(ears);
	snprintf(line, sizeof line, "1r%-27s ;1r%-27s ;1w%-27s ;", SOMEBODY ".7", SOMEBODY ".8", SOMEBODY ".9");
	on_servers(0, NODES, server_must(it, "OK", "SET", "{job}:redlock:queue", line, "PX", "60000", NULL));
	expect_ok(a, redlock_downgrade(a));
	for (unsigned i = 0; i < NODES; i++) {
		for (unsigned k = 0; k < 3; k++) {
			if (k == 2)
				assert_int_equal(raw_send(&ears[i], &ping, 1), 0);
			assert_int_equal(raw_receive(&ears[i], &reply), 0);
			assert_non_null(strstr(reply.text, heard[k]));
		}
		raw_close(&ears[i]);
	}
	expect_ok(a, redlock_release(a));
	expect_settled(client, NODES, "job");
}

struct waiter {
	pthread_t thread;
	redlock_lock *lock;
	int result;
};

static void *wait_for_it(void *argument)
{
	struct waiter *w = argument;
	w->result = redlock_acquire(w->lock);
	return NULL;
}

/* A connection may be open too late for the quorum; and it may be the one to the node at which others wait.
 */
static void expect_on_all(redlock_client *client)
{
	assert_driven(client, servers_with_key(&servers, NODES, "job") == NODES);
}

static void begin_to_wait(struct waiter *w, redlock_lock *lock)
{
	struct redlock_wait wait = {.size = sizeof wait};
	*w = (struct waiter){.lock = lock};
	pthread_create(&w->thread, NULL, wait_for_it, w);
	assert_soon(redlock_lock_waiting(lock, &wait) == 0 && wait.place > 0);
}

static void end_of_wait(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	expect_ok(w->lock, w->result);
}

/* Of one client and of two, behind one that is exclusive: all of them have it at the same time. Then one that
 * waits for an exclusive lock goes before the shared one that came behind it. */
TEST(who_waits_together_enters_together)
{
	own_client *one = open_client(), *two = open_client(), *three = open_client();
	own_lock *w = writer(one, 0), *a = reader(two, WAIT_SOON_MS), *b = reader(two, WAIT_SOON_MS),
	         *c = reader(three, WAIT_SOON_MS), *next = writer(one, WAIT_SOON_MS),
	         *late = reader(three, WAIT_SOON_MS);
	struct waiter readers[3], exclusive, last;
	expect_ok(w, redlock_acquire(w));
	expect_on_all(one);
	begin_to_wait(&readers[0], a);
	begin_to_wait(&readers[1], b);
	begin_to_wait(&readers[2], c);
	begin_to_wait(&exclusive, next);
	begin_to_wait(&last, late);
	expect_ok(w, redlock_release(w));
	for (int i = 0; i < 3; i++)
		end_of_wait(&readers[i]);
	assert_int_equal(redlock_deadline_ns(next), 0);
	assert_int_equal(redlock_deadline_ns(late), 0);
	expect_ok(a, redlock_release(a));
	expect_ok(b, redlock_release(b));
	expect_ok(c, redlock_release(c));
	end_of_wait(&exclusive);
	assert_int_equal(redlock_deadline_ns(late), 0);
	expect_ok(next, redlock_release(next));
	end_of_wait(&last);
	expect_ok(late, redlock_release(late));
	expect_settled(three, NODES, "job");
}

/* A value of the caller's own has no place, and its release tells the next one all the same. */
TEST(who_shares_by_an_own_value_wakes_who_waits)
{
	struct raw ears[NODES];
	struct raw_reply reply;
	own_client *client = open_client();
	own_lock *valued = reader_with(client, "mine");
	expect_ok(valued, redlock_acquire(valued));
	assert_driven(client, nodes_with("1") == NODES);
	listen_everywhere(ears);
	stand_in_line("w");
	expect_ok(valued, redlock_release(valued));
	for (unsigned i = 0; i < NODES; i++) {
		assert_int_equal(raw_receive(&ears[i], &reply), 0);
		assert_non_null(strstr(reply.text, SOMEBODY "\n7"));
		raw_close(&ears[i]);
	}
	on_servers(0, NODES, server_must(it, "1", "DEL", "{job}:redlock:queue", NULL));
	expect_settled(client, NODES, "job");
}

/* A downgrade lets in those who wait, and one who gives up lets in those behind it. */
TEST(others_enter_when_they_can)
{
	own_client *one = open_client(), *two = open_client(), *three = open_client();
	own_lock *a = reader(one, 0), *b = reader(two, WAIT_SOON_MS), *w = writer(two, WAIT_SOON_MS),
	         *c = reader(three, WAIT_SOON_MS);
	struct waiter waits, gives_up, behind;
	expect_ok(a, redlock_acquire(a));
	expect_on_all(one);
	expect_ok(a, redlock_upgrade(a));
	begin_to_wait(&waits, b);
	expect_ok(a, redlock_downgrade(a));
	end_of_wait(&waits);
	begin_to_wait(&gives_up, w);
	begin_to_wait(&behind, c);
	expect_ok(w, redlock_cancel(w));
	pthread_join(gives_up.thread, NULL);
	expect_result(w, REDLOCK_E_CANCELLED, gives_up.result);
	end_of_wait(&behind);
	expect_ok(a, redlock_release(a));
	expect_ok(b, redlock_release(b));
	expect_ok(c, redlock_release(c));
	expect_settled(three, NODES, "job");
}

/* Those that keep coming, without a pause between two turns; and what they may not do. */
enum { CROWD_READERS = 4, CROWD_WRITERS = 2, CROWD_MS = 3000, HOLD_MS = 4 };

struct member {
	pthread_t thread;
	bool shares;
	int turns;
	uint64_t longest_ms;
	const char *problem;
};

static atomic_int readers_in, writers_in, most_readers;
static atomic_bool crowd_ends;

static void *take_turns(void *argument)
{
	struct member *m = argument;
	own_client *client = open_client();
	own_lock *lock = m->shares ? reader(client, WAIT_SOON_MS) : writer(client, WAIT_SOON_MS);
	while (!atomic_load(&crowd_ends) && m->problem == NULL) {
		uint64_t since = wait_now_ns();
		if (redlock_acquire(lock) != 0) {
			m->problem = "no turn in time";
			break;
		}
		uint64_t took = wait_elapsed_ms(since);
		m->longest_ms = took > m->longest_ms ? took : m->longest_ms;
		int in = atomic_fetch_add(m->shares ? &readers_in : &writers_in, 1) + 1;
		if (atomic_load(&writers_in) > (m->shares ? 0 : 1) || (!m->shares && atomic_load(&readers_in) > 0))
			m->problem = "one is not alone";
		if (m->shares && in > atomic_load(&most_readers))
			atomic_store(&most_readers, in);
		wait_ms(HOLD_MS);
		atomic_fetch_sub(m->shares ? &readers_in : &writers_in, 1);
		if (redlock_release(lock) != 0)
			m->problem = "not released";
		m->turns++;
	}
	return NULL;
}

/* Neither starves the other: each has a turn again within some rounds of all of them. */
TEST(readers_and_writers_take_turns)
{
	struct member crowd[CROWD_READERS + CROWD_WRITERS] = {{.turns = 0}};
	enum { ALL = sizeof crowd / sizeof crowd[0] };
	int turns[2] = {0, 0};
	uint64_t longest_ms = 0;
	for (int i = 0; i < ALL; i++) {
		crowd[i].shares = i < CROWD_READERS;
		pthread_create(&crowd[i].thread, NULL, take_turns, &crowd[i]);
	}
	wait_ms(CROWD_MS);
	atomic_store(&crowd_ends, true);
	for (int i = 0; i < ALL; i++)
		pthread_join(crowd[i].thread, NULL);
	for (int i = 0; i < ALL; i++) {
		if (crowd[i].problem != NULL)
			fail_msg("%s", crowd[i].problem);
		turns[crowd[i].shares] += crowd[i].turns;
		longest_ms = crowd[i].longest_ms > longest_ms ? crowd[i].longest_ms : longest_ms;
		printf("%s %d turns, longest wait %llu ms\n", crowd[i].shares ? "reader" : "writer", crowd[i].turns,
		       (unsigned long long)crowd[i].longest_ms);
	}
	printf("most readers at once %d\n", atomic_load(&most_readers));
	for (int i = 0; i < ALL; i++)
		assert_true(crowd[i].turns >=
		            turns[crowd[i].shares] / (crowd[i].shares ? CROWD_READERS : CROWD_WRITERS) / 4);
	assert_true(atomic_load(&most_readers) > 1);
	assert_true(longest_ms < CROWD_MS / 2 || wait_is_slow());
}

SERVER_TESTS(NODES)
