/* SPDX-License-Identifier: MIT */
/* The client without any server: tokens, handles, its thread, and that it prints nothing. */
#include <dirent.h>
#include <unistd.h>

#include "client.h"
#include "fixture.h"
#include "hear.h"
#include "operate.h"
#include "os/random.h"
#include "unit.h"

/* The linker leads the library's calls here (--wrap): the bytes are known, and can run out. */
int __wrap_rl_random_pool_take(struct rl_random_pool *pool, uint64_t now_ns, void *buffer, size_t size);

static unsigned char next_byte;
static bool no_random_bytes;

int __wrap_rl_random_pool_take(struct rl_random_pool *pool, uint64_t now_ns, void *buffer, size_t size)
{
	(void)pool, (void)now_ns;
	if (no_random_bytes)
		return -1;
	for (size_t i = 0; i < size; i++)
		((unsigned char *)buffer)[i] = next_byte++;
	return 0;
}

static redlock_client *open_client(const char *owner)
{
	static const char *const urls[] = {"unix:///nonexistent/redis.sock"};
	struct redlock_options options = fixture_client(urls, 1);
	options.node_timeout_ms = 0;
	options.owner = owner;
	return fixture_open_with(&options);
}

static redlock_lock *new_lock(redlock_client *client)
{
	return fixture_lock(client, "job", 30000, 0);
}

static void expect_token(const redlock_lock *lock, unsigned char first, const char *behind)
{
	char want[128];
	struct fixture_token token = fixture_token(lock);
	for (size_t i = 0; i < 20; i++)
		snprintf(want + 2 * i, 3, "%02x", (unsigned)(unsigned char)(first + i));
	snprintf(want + 40, sizeof want - 40, "%s", behind);
	assert_string_equal(token.text, want);
	assert_int_equal(token.length, strlen(want));
}

/* 20 random bytes, all of them used, and others for each attempt. */
TEST(tokens_are_random_bytes)
{
	own_client *client = open_client("host-7");
	own_lock *lock = new_lock(client);
	for (unsigned i = 0; i < 3; i++) {
		next_byte = (unsigned char)(50 * i + 3);
		assert_int_equal(redlock_acquire(lock), REDLOCK_E_NOQUORUM);
		expect_token(lock, (unsigned char)(50 * i + 3), "|host-7");
	}
}

/* From the middle, the front and the end of the queue: the others stay, in order. */
TEST(results_are_dropped_at_once)
{
	enum { MANY = 6 };
	static const unsigned freed[] = {3, 0, 5}, left[] = {1, 2, 4};
	redlock_lock *locks[MANY];
	own_client *client = open_client(NULL);
	struct redlock_event event = {.size = sizeof event};
	for (unsigned i = 0; i < MANY; i++) {
		locks[i] = new_lock(client);
		assert_int_equal(redlock_start_acquire(locks[i]), 0);
	}
	for (unsigned i = 0; i < 3; i++)
		redlock_lock_free(locks[freed[i]]);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(redlock_next(client, &event), 1);
		assert_ptr_equal(event.lock, locks[left[i]]);
		redlock_lock_free(locks[left[i]]);
	}
	assert_int_equal(redlock_next(client, &event), 0);
}

/* Without random bytes nothing is sent, and the handle can be used again. */
TEST(no_token_without_random_bytes)
{
	own_client *client = open_client(NULL);
	own_lock *lock = new_lock(client);
	no_random_bytes = true;
	assert_int_equal(redlock_acquire(lock), REDLOCK_E_SYSTEM);
	no_random_bytes = false;
	next_byte = 7;
	assert_int_equal(redlock_acquire(lock), REDLOCK_E_NOQUORUM);
	expect_token(lock, 7, "");
}

static unsigned count_threads(void)
{
	unsigned count = 0;
	DIR *tasks = opendir("/proc/self/task");
	assert_non_null(tasks);
	for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(tasks);
	return count;
}

TEST(close_ends_the_keeper)
{
	unsigned before = count_threads();
	redlock_client *client = open_client(NULL);
	assert_int_equal(redlock_keeper_start(client), 0);
	assert_int_equal(redlock_keeper_start(client), REDLOCK_E_STATE);
	assert_int_equal(count_threads(), before + 1);
	redlock_close(client);
	assert_int_equal(count_threads(), before);
}

TEST(each_handle_has_a_slot)
{
	enum { MANY = 100 };
	redlock_client *client = open_client(NULL);
	redlock_lock *locks[MANY];
	for (unsigned i = 0; i < MANY; i++)
		locks[i] = new_lock(client);
	for (unsigned i = 0; i < MANY; i += 3) {
		redlock_lock_free(locks[i]);
		locks[i] = new_lock(client);
	}
	for (unsigned i = 0; i < MANY; i++) {
		struct rl_tag tag = rl_registry_tag(&client->handles, locks[i]->slot, 0);
		assert_ptr_equal(rl_registry_find(&client->handles, tag), locks[i]);
	}
	redlock_close(client); /* handles outlive it */
	for (unsigned i = 0; i < MANY; i++)
		redlock_lock_free(locks[i]);
}

TEST(rules_are_shared)
{
	enum { MANY = 40 };
	redlock_client *client = open_client(NULL);
	redlock_lock *locks[MANY];
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < MANY; i++) {
			locks[i] = fixture_lock(client, "job", 1000 + i / 4, 0);
			assert_true(locks[i]->core.rules->ttl_ns == rl_time_ms(1000 + i / 4));
			assert_true(i % 4 == 0 || locks[i]->core.rules == locks[i - 1]->core.rules);
		}
		for (unsigned i = 0; i < MANY; i++)
			redlock_lock_free(locks[(i * 7 + round) % MANY]);
	}
	locks[0] = fixture_lock(client, "job", 500, 0);
	locks[1] = fixture_lock(client, "job", 600, 0);
	redlock_close(client);
	redlock_lock_free(locks[0]);
	redlock_lock_free(locks[1]);
}

/* A hundred thousand held locks are a use that is meant: see also bench/scale. */
TEST(a_handle_is_small)
{
	assert_true(sizeof(struct redlock_lock) <= 376 && sizeof(struct rl_ballot) == 8);
}

/* A handle outlives its client, and can do nothing without it. */
TEST(calls_after_the_close)
{
	char token[64];
	size_t size;
	redlock_client *client = open_client(NULL);
	own_lock *lock = new_lock(client);
	redlock_close(client);
	assert_int_equal(redlock_acquire(lock), REDLOCK_E_STATE);
	assert_int_equal(redlock_extend(lock, 0), REDLOCK_E_STATE);
	assert_int_equal(redlock_start_extend(lock, 1), REDLOCK_E_STATE);
	assert_int_equal(redlock_query(lock), REDLOCK_E_STATE);
	assert_int_equal(redlock_lock_token(lock, token, sizeof token, &size), REDLOCK_E_STATE);
	assert_true(redlock_deadline_ns(lock) == 0);
}

TEST(error_text)
{
	static const char *const twice[] = {"unix:///nonexistent/a", "unix:///nonexistent/b",
	                                    "unix:///nonexistent/b"};
	char text[128] = "old";
	struct redlock_options options = fixture_client(twice, COUNT(twice));
	options.error_text = text;
	options.error_text_size = sizeof text;
	fixture_expect_open(&options, REDLOCK_E_DUPLICATE);
	assert_string_equal(text, "node 2 and node 3 are the same server, unix:///nonexistent/b");
	options.error_text_size = 0;
	fixture_expect_open(&options, REDLOCK_E_DUPLICATE);
	assert_int_equal(text[0], 'n'); /* no room: untouched */
	options.error_text = NULL;
	options.error_text_size = sizeof text;
	fixture_expect_open(&options, REDLOCK_E_DUPLICATE);
	options.url_count = 2;
	options.error_text = text;
	fixture_expect_open(&options, 0);
	assert_string_equal(text, "");
}

TEST(nothing_is_printed)
{
	FILE *said = tmpfile();
	assert_non_null(said);
	int saved[] = {dup(1), dup(2)};
	fflush(NULL);
	dup2(fileno(said), 1);
	dup2(fileno(said), 2);
	redlock_client *client = open_client(NULL);
	redlock_lock *lock = new_lock(client);
	int error = redlock_acquire(lock);
	redlock_lock_free(lock);
	redlock_close(client);
	fflush(NULL);
	for (int fd = 1; fd <= 2; fd++) {
		dup2(saved[fd - 1], fd);
		close(saved[fd - 1]);
	}
	assert_int_equal(error, REDLOCK_E_NOQUORUM);
	assert_int_equal(lseek(fileno(said), 0, SEEK_END), 0);
	fclose(said);
}

/* Two nodes are one server by identity; by address only where one of them tells no identity, and only when
 * both have had the time to: an address may be a gate to many servers. The vote of a node is that of the
 * server that it was then: the second one has voted at 150 ns. */
TEST(one_server_or_two)
{
	enum { BEGUN_NS = 100, TRIP_NS = 50, LATER_NS = 200 };
	static const char *const urls[] = {"unix:///nonexistent/1", "unix:///nonexistent/2"};
	static const struct {
		const char *run_ids[2], *left; /* the one that the second was before `left_ns` */
		uint64_t left_ns;
		bool same_address;
		bool greeting; /* the second one has not told its identity, or that it does not */
		bool twins;
	} cases[] = {
	    {{"x", "x"}, "", 0, false, false, true},
	    {{"x", "x"}, "", 0, true, false, true},
	    {{"x", "y"}, "", 0, true, false, false},
	    {{"x", "y"}, "", 0, false, false, false},
	    {{"", ""}, "", 0, true, false, true},
	    {{"x", ""}, "", 0, true, false, true},
	    {{"", ""}, "", 0, false, false, false},
	    {{"x", ""}, "", 0, true, true, false},
	    {{"x", "x"}, "", 0, false, true, true}, /* when it has voted again, it may be another one */
	    {{"x", "y"}, "x", LATER_NS, false, false, true},
	    {{"x", "y"}, "x", BEGUN_NS, false, false, false},
	    {{"x", "x"}, "y", LATER_NS, false, false, false},
	    {{"x", "x"}, "y", BEGUN_NS, false, false, true},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		own_client *client = fixture_open(urls, 2, 0);
		own_lock *lock = new_lock(client);
		lock->core.round.t0_ns = BEGUN_NS;
		lock->core.votes[1].rtt_ns = TRIP_NS;
		for (unsigned k = 0; k < 2; k++) {
			struct rl_node *n = &client->nodes.list[k];
			n->link.setup.count = k == 1 && cases[i].greeting ? 1 : 0;
			snprintf(n->link.facts.run_id, sizeof n->link.facts.run_id, "%s", cases[i].run_ids[k]);
			snprintf(n->link.facts.left, sizeof n->link.facts.left, "%s", k == 1 ? cases[i].left : "");
			n->link.facts.run_id_known = n->link.facts.run_id[0] != '\0' && n->link.setup.count == 0;
			n->link.dial.peer =
			    (struct rl_address){.length = 1, .bytes = {cases[i].same_address ? 7 : (unsigned char)k}};
			n->identified = n->duplicate = true;
			n->left_ns = k == 1 ? cases[i].left_ns : 0;
		}
		rl_operate_answer(client, &client->nodes.list[0],
		                  &(struct rl_answer){.tag = {.slot = lock->slot, .generation = 99}});
		assert_false(client->nodes.list[0].identified || client->nodes.list[0].duplicate);
		assert_true(client->nodes.shared || !cases[i].twins);
		assert_int_equal(rl_nodes_twins(&client->nodes, 0, &lock->core, rl_handle_name(lock)),
		                 cases[i].twins ? 2 : 0);
		client->nodes.list[1].link.setup.count = 0;
	}
}

/* Only of the lock that it names, and not by the second name of a server. */
TEST(a_message_that_it_is_handed_over)
{
	static const struct {
		const char *name, *token;
		bool duplicate, held;
	} cases[] = {{"job", NULL, true, false},
	             {"jot", NULL, false, false},
	             {"job", "x", false, false},
	             {"job", NULL, false, true}};
	own_client *client = open_client(NULL);
	own_lock *lock = fixture_lock(client, "job", 30000, 30000);
	assert_int_equal(redlock_start_acquire(lock), 0);
	lock->core.queue.offered_ns = client->loop.now_ns;
	struct rl_heard heard = {.number = lock->slot * RL_CALLS + lock->core.queue.call,
	                         .handed = true,
	                         .offered_ns = client->loop.now_ns};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		heard.name = rl_slice_of(cases[i].name);
		heard.token = cases[i].token != NULL ? rl_slice_of(cases[i].token) : rl_handle_token(lock);
		client->nodes.list[0].duplicate = cases[i].duplicate;
		rl_hear_message(client, &heard, 0);
		assert_int_equal(lock->core.phase == RL_HELD, cases[i].held);
	}
}

/* A release of the token is on its way to the node that handed the lock over: the release may come after the
 * hand-over, so the message is no vote. A release of another token does not matter. */
TEST(a_message_of_a_lock_that_may_be_released)
{
	static const struct {
		const char *token; /* NULL: that of the lock */
		bool held;
	} cases[] = {{NULL, false}, {"x", true}};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		own_client *client = open_client(NULL);
		own_lock *lock = fixture_lock(client, "job", 30000, 30000);
		assert_int_equal(redlock_start_acquire(lock), 0);
		lock->core.queue.offered_ns = client->loop.now_ns;
		struct rl_heard heard = {.number = lock->slot * RL_CALLS + lock->core.queue.call,
		                         .handed = true,
		                         .offered_ns = client->loop.now_ns,
		                         .name = rl_slice_of("job"),
		                         .token = rl_handle_token(lock)};
		struct rl_request release = {.operation = RL_OP_LEAVE,
		                             .tag = rl_registry_nobody(),
		                             .name = heard.name,
		                             .token = heard.token,
		                             .owed = 1};
		if (cases[i].token != NULL)
			release.token = rl_slice_of(cases[i].token);
		rl_nodes_submit(&client->nodes, &release, 1, client->loop.now_ns);
		rl_hear_message(client, &heard, 0);
		assert_int_equal(lock->core.phase == RL_HELD, cases[i].held);
	}
}

/* Where a node does not say who it is: what it refused, and has all the same, it took under another name. Not
 * if the answer is that to a release of the token before. */
TEST(has_what_it_refused)
{
	enum { BEFORE = 4, CLAIM, LATER };
	own_client *client = open_client(NULL);
	own_lock *lock = new_lock(client);
	struct rl_node *n = &client->nodes.list[0];
	lock->core.claim.seq = CLAIM;
	lock->core.claim.refused = 1;
	struct rl_answer answer = {.operation = REDLOCK_OP_RELEASE,
	                           .vote.code = REDLOCK_VOTE_YES,
	                           .tag = rl_registry_tag(&client->handles, lock->slot, BEFORE)};
	rl_operate_answer(client, n, &answer);
	assert_false(n->duplicate);
	answer.tag.seq = LATER;
	rl_operate_answer(client, n, &answer);
	assert_true(n->duplicate);
}

TESTS()
