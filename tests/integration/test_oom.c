/* SPDX-License-Identifier: MIT */
/*
 * Memory runs out at every possible place: at the k-th allocation alone, and at the k-th and all later ones,
 * for k from 1 until a whole run needs fewer. Whatever happens, nothing crashes, nothing leaks, each call
 * says what it could not do, and a key stays only where that was said.
 */
#include <poll.h>
#include <stdio.h>

#include <redlock/ask.h>

#include "client.h"
#include "failmalloc.h"
#include "fixture.h"
#include "os/secret.h"

enum { NODES = 3, TTL_MS = 20000, TIMEOUT_MS = 300, MAX_CALLS = 5000 };

struct outcome {
	int open, made, acquire, extend, query, release, drained;
	unsigned lingering;
	char why[256]; /* what `open` says */
};

typedef void scenario(redlock_client *client, redlock_lock *lock, struct outcome *outcome);

/* Passwords have pages of their own, which no malloc(3) makes: here it does, so that these are counted, too.
 */
char *copied_secret(const char *bytes, size_t size) __asm__("__wrap_rl_secret_copy");
void freed_secret(char *secret) __asm__("__wrap_rl_secret_free");

char *copied_secret(const char *bytes, size_t size)
{
	char *copy = malloc(size + 1);
	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

void freed_secret(char *secret)
{
	free(secret);
}

/* ---- scenarios ---- */

static void by_blocking_calls(redlock_client *client, redlock_lock *lock, struct outcome *outcome)
{
	(void)client;
	outcome->acquire = redlock_acquire(lock);
	outcome->query = redlock_query(lock);
	if (outcome->acquire != 0)
		return;
	outcome->extend = redlock_extend(lock, 0);
	outcome->release = redlock_release(lock);
}

static int finish(redlock_client *client, int started)
{
	struct redlock_event event = {.size = sizeof event};
	struct pollfd fd = {.fd = redlock_fd(client), .events = POLLIN};
	uint64_t start_ns = wait_now_ns();
	while (started == 0) {
		int result = redlock_process(client);
		if (result != 0)
			return result;
		if (redlock_next(client, &event) == 1 && event.kind == REDLOCK_EVENT_DONE)
			return event.result;
		if (wait_elapsed_ms(start_ns) > WAIT_SOON_MS)
			return 1; /* no answer and no error: what the test looks for */
		poll(&fd, 1, 1000);
	}
	return started;
}

static void by_event_loop(redlock_client *client, redlock_lock *lock, struct outcome *outcome)
{
	outcome->acquire = finish(client, redlock_start_acquire(lock));
	outcome->query = finish(client, redlock_start_query(lock));
	if (outcome->acquire != 0)
		return;
	outcome->extend = finish(client, redlock_start_extend(lock, 0));
	outcome->release = finish(client, redlock_start_release(lock));
}

/* Many handles at once, and freed while held: the tables inside grow. */
static void by_many_handles(redlock_client *client, redlock_lock *lock, struct outcome *outcome)
{
	enum { MANY = 40 };
	redlock_lock *many[MANY] = {NULL};
	(void)lock;
	for (int i = 0; i < MANY; i++) {
		char name[] = {'m', (char)('a' + i % 20), (char)('a' + i / 20)};
		int made = redlock_lock_new_bytes(client, name, sizeof name, NULL, &many[i]);
		if (made != 0)
			outcome->query = made;
		else if (redlock_start_acquire(many[i]) != 0)
			outcome->query = REDLOCK_E_NOMEM;
	}
	if (redlock_process(client) != 0)
		outcome->query = REDLOCK_E_SYSTEM;
	for (int i = 0; i < MANY; i++)
		redlock_lock_free(many[i]);
	outcome->acquire = REDLOCK_E_CANCELLED; /* nothing is held, so nothing but drain tells of what stays */
}

/* Each question of a round has a word of its own: a reply with another word is one of an earlier round. */
static int ask_round(redlock_asker *asker, struct redlock_question *q, unsigned round)
{
	enum { QUESTIONS = 2 * NODES };
	char words[QUESTIONS][8];
	const char *echo[QUESTIONS][2];
	for (unsigned i = 0; i < QUESTIONS; i++) {
		snprintf(words[i], sizeof words[i], "%u-%u", round, i);
		echo[i][0] = "ECHO";
		echo[i][1] = words[i];
		q[i].size = sizeof q[i];
		q[i].node = i % NODES;
		q[i].argc = 2;
		q[i].argv = echo[i];
	}
	int result = redlock_ask(asker, q, QUESTIONS, WAIT_SOON_MS);
	for (unsigned i = 0; i < QUESTIONS; i++)
		if (q[i].reply != NULL && strcmp(q[i].reply->text, words[i]) != 0)
			fail_msg("round %u returned %d: question %u has the reply %s", round, result, i,
			         q[i].reply->text);
	return result > 0 ? REDLOCK_E_NOQUORUM : result;
}

static void by_questions(redlock_client *client, redlock_lock *lock, struct outcome *outcome)
{
	struct redlock_question q[2 * NODES] = {{.size = 0}};
	redlock_asker *asker = NULL;
	(void)lock;
	outcome->query = redlock_asker_open(client, &asker);
	for (unsigned round = 0; round < 3 && asker != NULL; round++) {
		int result = ask_round(asker, q, round);
		outcome->query = result != 0 ? result : outcome->query;
	}
	redlock_asker_close(asker);
}

/* The server says each time that another one of the cluster has the key. */
static void by_questions_that_are_sent_on(redlock_client *client, redlock_lock *lock, struct outcome *outcome)
{
	char moved[96];
	snprintf(moved, sizeof moved, "return redis.error_reply('MOVED 1 127.0.0.1:%d')", servers.server[1].port);
	const char *const eval[] = {"EVAL", moved, "0"};
	struct redlock_question q = {.size = sizeof q, .argc = 3, .argv = eval};
	redlock_asker *asker = NULL;
	(void)lock;
	outcome->query = redlock_asker_open(client, &asker);
	for (unsigned round = 0; round < 2 && asker != NULL; round++) {
		int result = redlock_ask(asker, &q, 1, WAIT_SOON_MS);
		outcome->query = result > 0 ? REDLOCK_E_NOQUORUM : result != 0 ? result : outcome->query;
	}
	redlock_asker_close(asker);
}

static void by_making_a_handle(redlock_client *client, redlock_lock *lock, struct outcome *outcome)
{
	(void)client;
	(void)lock;
	outcome->acquire = REDLOCK_E_CANCELLED;
}

/* ---- options ---- */

static int load(const char *path, struct redlock_options *options)
{
	static const char *const names[] = {"url", "redis://h, redis://i", "user", "u", "ttl", "9s"};
	int error = redlock_options_load(options, NULL, path);
	for (unsigned i = 0; i < 6 && error == 0; i += 2)
		error = redlock_options_set(options, names[i], names[i + 1]);
	return error == 0 ? redlock_options_add_url(options, "redis://j") : error;
}

static bool has_one_set(const struct redlock_options *o)
{
	return o->url_count == 3 && strcmp(o->urls[2], "redis://j") == 0 && strcmp(o->user, "u") == 0 &&
	       strcmp(o->password, "pw") == 0 && strcmp(o->prefix, "p:") == 0 && o->lock_options->ttl_ms == 9000;
}

static int load_sets(const char *path, struct redlock_options *options)
{
	return redlock_options_load(options, "prod", path);
}

static bool has_sets(const struct redlock_options *o)
{
	return o->set_count == 3 && strcmp(o->sets[0].name, "a") == 0 && o->sets[0].url_count == 2 &&
	       strcmp(o->sets[0].urls[1], "redis://g") == 0 && o->sets[1].quorum == 2 &&
	       strcmp(o->sets[1].urls[1], "redis://i") == 0 && o->sets[1].joining == 0 &&
	       strcmp(o->sets[2].urls[0], "redis://j") == 0 && o->sets[2].joining == 1;
}

/* ---- one run ---- */

/* The servers are one node set, or three sets of one server each, of which the last joins the others. Or the
 * node is a cluster: none of its servers is there, or one is, which is no member. */
enum sets { ONE_SET, THREE_SETS, CLUSTER, CLUSTER_OF_ONE };

static struct redlock_options client_options(enum sets sets)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.node_timeout_ms = TIMEOUT_MS;
	options.prefix = "oom:";
	options.owner = "tester";
	if (sets == CLUSTER || sets == CLUSTER_OF_ONE) {
		static char text[64];
		static const char *const url = text;
		snprintf(text, sizeof text, "redis+cluster://127.0.0.1:%d/",
		         sets == CLUSTER ? 1 : servers.server[0].port);
		options.urls = &url;
		options.url_count = 1;
	}
	if (sets == THREE_SETS)
		fixture_spread(&options);
	return options;
}

/* A name that is locked on the joining set and on another one. */
static const char *name_that_moves(const struct redlock_options *options)
{
	static char name[32];
	struct redlock_node_set set = {.size = sizeof set};
	const char *urls[REDLOCK_MAX_NODES];
	for (unsigned i = 0; !set.joining; i++) {
		struct redlock_name list = {name, (size_t)snprintf(name, sizeof name, "job-%u", i)};
		assert_int_equal(redlock_nodes_of(options, &list, 1, urls, &set), 0);
	}
	return name;
}

static struct outcome run(scenario *play, enum sets sets, const char *name)
{
	struct outcome outcome = {0};
	struct redlock_lock_options lock_options;
	struct redlock_node_status status = {.size = sizeof status};
	redlock_client *client = NULL;
	redlock_lock *lock = NULL;
	struct redlock_options options = client_options(sets);
	redlock_lock_options_init(&lock_options);
	lock_options.ttl_ms = TTL_MS;
	options.error_text = outcome.why;
	options.error_text_size = sizeof outcome.why;
	outcome.open = redlock_open(&options, &client);
	if (outcome.open != 0)
		return outcome;
	outcome.made = redlock_lock_new(client, name, &lock_options, &lock);
	if (outcome.made == 0)
		play(client, lock, &outcome);
	redlock_lock_free(lock);
	failmalloc_disarm(); /* memory is there again, and what is owed can be settled */
	outcome.drained = redlock_drain(client, WAIT_SOON_MS);
	for (unsigned i = 0; redlock_node_status(client, i, &status) == 0; i++)
		outcome.lingering += status.lingering;
	redlock_close(client);
	return outcome;
}

static bool is_allowed(int result)
{
	return result == 0 || result == REDLOCK_E_NOMEM || result == REDLOCK_E_NOQUORUM ||
	       result == REDLOCK_E_SYSTEM;
}

static void judge(const struct outcome *o, unsigned long k, bool all_behind)
{
	const char *how = all_behind ? "and all later" : "alone";
	if (failmalloc_outstanding() != 0)
		fail_msg("failure %lu %s: %ld blocks leaked", k, how, failmalloc_outstanding());
	if (!is_allowed(o->open) || !is_allowed(o->made) || !is_allowed(o->extend) || !is_allowed(o->release) ||
	    (!is_allowed(o->acquire) && o->acquire != REDLOCK_E_CANCELLED) ||
	    (!is_allowed(o->query) && o->query != REDLOCK_E_GONE))
		fail_msg("failure %lu %s: open %d, new %d, acquire %d, query %d, extend %d, release %d", k, how,
		         o->open, o->made, o->acquire, o->query, o->extend, o->release);
	if (o->open == REDLOCK_E_NOMEM && strstr(o->why, "out of memory") == NULL)
		fail_msg("failure %lu %s: the client does not open, because of '%s'", k, how, o->why);
	bool said = o->release != 0 || o->lingering > 0 || o->drained != 0;
	for (unsigned i = 0; i < NODES; i++) {
		if (server_key_count(&servers.server[i]) > 0 && !said)
			fail_msg("failure %lu %s: a key stays on node %u, and nothing said so (acquire %d)", k, how, i,
			         o->acquire);
		server_must(&servers.server[i], "OK", "FLUSHALL", NULL);
	}
}

static void sweep_sets(scenario *play, bool all_behind, enum sets sets)
{
	if (!failmalloc_works()) {
		print_message("allocations cannot be made to fail under ThreadSanitizer or valgrind\n");
		skip();
	}
	struct redlock_options options = client_options(sets);
	const char *name = sets != THREE_SETS ? "job" : name_that_moves(&options);
	unsigned long complete = 0;
	for (unsigned long k = 1; k < MAX_CALLS; k++) {
		failmalloc_arm(k, all_behind);
		struct outcome outcome = run(play, sets, name);
		judge(&outcome, k, all_behind);
		if (failmalloc_failures() == 0) {
			complete = k;
			break;
		}
	}
	assert_in_range(complete, 10, MAX_CALLS); /* a run without a failure came, and not at once */
	print_message("%lu places where memory may run out\n", complete - 1);
}

static void sweep(scenario *play, bool all_behind)
{
	sweep_sets(play, all_behind, ONE_SET);
}

TEST(blocking_one_failure)
{
	sweep(by_blocking_calls, false);
}

TEST(blocking_no_memory_from_then_on)
{
	sweep(by_blocking_calls, true);
}

TEST(loop_one_failure)
{
	sweep(by_event_loop, false);
}

TEST(loop_no_memory_from_then_on)
{
	sweep(by_event_loop, true);
}

TEST(many_handles_one_failure)
{
	sweep(by_many_handles, false);
}

TEST(questions_one_failure)
{
	sweep(by_questions, false);
}

TEST(questions_that_are_sent_on_one_failure)
{
	sweep_sets(by_questions_that_are_sent_on, false, CLUSTER_OF_ONE);
}

TEST(handle_of_a_cluster_one_failure)
{
	sweep_sets(by_making_a_handle, false, CLUSTER);
}

TEST(several_sets_one_failure)
{
	sweep_sets(by_blocking_calls, false, THREE_SETS);
}

TEST(several_sets_no_memory_from_then_on)
{
	sweep_sets(by_blocking_calls, true, THREE_SETS);
}

TEST(several_sets_in_a_loop_one_failure)
{
	sweep_sets(by_event_loop, false, THREE_SETS);
}

TEST(handles_of_several_sets_one_failure)
{
	sweep_sets(by_many_handles, false, THREE_SETS);
}

static const char *write_file(const char *name, const char *text)
{
	static char path[128];
	snprintf(path, sizeof path, "%s/%s", servers.dir, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* Options that are read from a file, and what they must be. */
struct loading {
	int (*load)(const char *path, struct redlock_options *options);
	bool (*is_whole)(const struct redlock_options *options);
	const char *path;
};

/* Either the options have all that was asked for, or the call says that there is no memory. */
static void judge_load(const struct loading *l, const struct redlock_options *o, int error, unsigned long k)
{
	if (error != 0 && error != REDLOCK_E_NOMEM)
		fail_msg("failure %lu: %s", k, redlock_error_name(error));
	if (error != 0)
		assert_string_equal(o->error_text, "out of memory");
	else if (!l->is_whole(o))
		fail_msg("failure %lu: success, but options are missing", k);
}

static void sweep_load(const struct loading *l, bool all_behind)
{
	char text[512];
	unsigned long k = 1;
	for (; k < MAX_CALLS && (k == 1 || failmalloc_failures() > 0); k++) {
		struct redlock_options options;
		redlock_options_init(&options);
		text[0] = '\0';
		options.error_text = text;
		options.error_text_size = sizeof text;
		failmalloc_arm(k, all_behind);
		int error = l->load(l->path, &options);
		failmalloc_disarm();
		judge_load(l, &options, error, k);
		redlock_options_clear(&options);
		if (failmalloc_outstanding() != 0)
			fail_msg("failure %lu: %ld blocks leaked", k, failmalloc_outstanding());
		if (!failmalloc_works())
			break;
	}
	assert_in_range(k, failmalloc_works() ? 10 : 1, MAX_CALLS);
}

static struct loading of_one_set(void)
{
	char lines[512];
	snprintf(lines, sizeof lines,
	         "cluster = a\n[cluster a]\nurl = redis://f\nurl = redis://g\nprefix = p:\npassword-file = %s\n",
	         write_file("password", "pw\n"));
	return (struct loading){load, has_one_set, write_file("redlock.conf", lines)};
}

static struct loading of_several_sets(void)
{
	return (struct loading){load_sets, has_sets,
	                        write_file("sets.conf", "[cluster a]\nurl = redis://f\nurl = redis://g\n"
	                                                "[cluster b]\nurl = redis://h, redis://i\nquorum = 2\n"
	                                                "[cluster c]\nurl = redis://j\n"
	                                                "[cluster prod]\nquorums = a b\njoining = c\n")};
}

TEST(options_one_failure)
{
	struct loading loading = of_one_set();
	sweep_load(&loading, false);
}

TEST(options_no_memory_from_then_on)
{
	struct loading loading = of_one_set();
	sweep_load(&loading, true);
}

TEST(options_of_several_sets_one_failure)
{
	struct loading loading = of_several_sets();
	sweep_load(&loading, false);
}

TEST(options_of_several_sets_no_memory_from_then_on)
{
	struct loading loading = of_several_sets();
	sweep_load(&loading, true);
}

TEST(client_of_the_configuration_one_failure)
{
	char why[256];
	unsigned long k = 1;
	assert_int_equal(setenv("REDLOCK_CONFIG", write_file("redlock.conf", "url = redis://127.0.0.1:1\n"), 1),
	                 0);
	for (; k < MAX_CALLS && (k == 1 || failmalloc_failures() > 0); k++) {
		redlock_client *client = NULL;
		failmalloc_arm(k, false);
		int error = redlock_open_configured(NULL, why, sizeof why, &client);
		failmalloc_disarm();
		if (error != (client != NULL ? 0 : REDLOCK_E_NOMEM))
			fail_msg("failure %lu: %s", k, redlock_error_name(error));
		assert_string_equal(why, error == 0 ? "" : "out of memory");
		redlock_close(client);
		assert_int_equal(failmalloc_outstanding(), 0);
		if (!failmalloc_works())
			break;
	}
	assert_in_range(k, failmalloc_works() ? 10 : 1, MAX_CALLS);
	assert_int_equal(unsetenv("REDLOCK_CONFIG"), 0);
}

/* ---- new credentials ---- */

/* Three sets, of which the last joins. One has a cluster that has two servers, one a node whose URL has a
 * password. Nobody is there. */
static redlock_client *open_sets_without_servers(void)
{
	static const char *const a[] = {"redis+cluster://127.0.0.1:1,127.0.0.1:2"};
	static const char *const b[] = {"redis://127.0.0.1:3", "redis://own:own@127.0.0.1:4"};
	static const char *const c[] = {"redis://127.0.0.1:5"};
	static const struct redlock_node_set sets[] = {
	    {.size = sizeof sets[0], .name = "a", .urls = a, .url_count = 1},
	    {.size = sizeof sets[0], .name = "b", .urls = b, .url_count = 2},
	    {.size = sizeof sets[0], .name = "c", .urls = c, .url_count = 1, .joining = 1}};
	struct redlock_options options = fixture_client(NULL, 0);
	options.sets = sets;
	options.set_count = sizeof sets / sizeof sets[0];
	options.user = "worker";
	options.password = "old";
	return fixture_open_with(&options);
}

/* How many servers of all sets are asked with this password. */
static unsigned count_with(const redlock_client *client, const char *password)
{
	unsigned count = 0;
	for (unsigned i = 0; i < rl_client_count(client); i++) {
		const struct rl_nodes *nodes = &rl_client_part(client, i)->nodes;
		for (unsigned k = 0; k < nodes->count; k++)
			count += strcmp(nodes->list[k].link.endpoint.password, password) == 0;
		for (unsigned k = 0; k < rl_cluster_count(nodes->clusters); k++)
			count += strcmp(nodes->clusters->servers[k]->link.endpoint.password, password) == 0;
	}
	return count;
}

static void sweep_credentials(bool all_behind)
{
	enum { LENT = 8, OWN = 2 }; /* of each set alone, and of the first two with the one that joins */
	unsigned long k = 1;
	for (bool done = false; !done && k < MAX_CALLS; k++) {
		failmalloc_arm(0, false);
		redlock_client *client = open_sets_without_servers();
		long live = failmalloc_outstanding();
		failmalloc_arm(k, all_behind);
		int error = redlock_set_credentials(client, "else", "new");
		failmalloc_disarm();
		done = failmalloc_failures() == 0;
		if (error != 0 && error != REDLOCK_E_NOMEM)
			fail_msg("failure %lu: %s", k, redlock_error_name(error));
		assert_true(!done || error == 0);
		if (count_with(client, error == 0 ? "new" : "old") != LENT)
			fail_msg("failure %lu: %s, but %u have the old password and %u the new one", k,
			         redlock_error_name(error), count_with(client, "old"), count_with(client, "new"));
		assert_int_equal(count_with(client, "own"), OWN);
		redlock_close(client);
		assert_int_equal(live + failmalloc_outstanding(), 0);
	}
	assert_in_range(k, failmalloc_works() ? 2 * LENT + 2 : 2, MAX_CALLS - 1);
}

TEST(new_credentials_one_failure)
{
	sweep_credentials(false);
}

TEST(new_credentials_no_memory_from_then_on)
{
	sweep_credentials(true);
}

/* Without a failure everything works, or the tests above would prove nothing. */
TEST(no_failure)
{
	failmalloc_arm(0, false);
	struct outcome outcome = run(by_blocking_calls, ONE_SET, "job");
	assert_int_equal(outcome.open, 0);
	expect_ok(NULL, outcome.acquire);
	expect_ok(NULL, outcome.query);
	expect_ok(NULL, outcome.extend);
	expect_ok(NULL, outcome.release);
	assert_int_equal(outcome.drained, 0);
	assert_int_equal(failmalloc_outstanding(), 0);
	if (failmalloc_works())
		assert_in_range(failmalloc_calls(), 10, MAX_CALLS);
}

SERVER_TESTS(NODES)
