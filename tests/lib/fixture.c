/* SPDX-License-Identifier: MIT */
/* Short forms over the public API. See fixture.h. */
#include "fixture.h"

#include <poll.h>

struct servers servers;
static struct group own; /* hooks of the program */
static unsigned count_of_servers;

static void start(void)
{
	servers_start(&servers, count_of_servers, NULL);
	group_hook(own.start);
}

static void stop(void)
{
	group_hook(own.stop);
	servers_stop(&servers);
}

static void heal(void)
{
	group_hook(own.after);
	servers_heal(&servers);
}

void fixture_wrap(struct group *group_, unsigned server_count)
{
	own = *group_;
	count_of_servers = server_count;
	group_->start = start;
	group_->stop = stop;
	group_->after = heal;
}

void fixture_free(redlock_lock **lock)
{
	redlock_lock_free(*lock);
}

void fixture_close(redlock_client **client)
{
	redlock_close(*client);
}

void fixture_spread(struct redlock_options *options)
{
	static const char *const names[] = {"a", "b", "c"};
	enum { SETS = sizeof names / sizeof names[0] };
	static struct redlock_node_set list[SETS];
	for (unsigned i = 0; i < SETS; i++)
		list[i] = (struct redlock_node_set){.size = sizeof list[i],
		                                    .name = names[i],
		                                    .urls = &servers.urls[i],
		                                    .url_count = 1,
		                                    .joining = i == SETS - 1};
	options->urls = NULL;
	options->url_count = 0;
	options->sets = list;
	options->set_count = SETS;
}

struct redlock_options fixture_client(const char *const *urls, size_t count)
{
	struct redlock_options options;
	redlock_options_init(&options);
	options.urls = urls;
	options.url_count = count;
	options.node_timeout_ms = FIXTURE_NODE_TIMEOUT_MS;
	return options;
}

redlock_client *fixture_open_with(const struct redlock_options *options)
{
	char text[256] = "";
	redlock_client *client = NULL;
	struct redlock_options copy = *options;
	copy.error_text = text;
	copy.error_text_size = sizeof text;
	int result = redlock_open(&copy, &client);
	if (result != 0)
		fail_msg("redlock_open: %s (%s)", redlock_error_name(result), text);
	return client;
}

redlock_client *fixture_open(const char *const *urls, unsigned count, uint32_t node_timeout_ms)
{
	struct redlock_options options = fixture_client(urls, count);
	options.node_timeout_ms = node_timeout_ms;
	return fixture_open_with(&options);
}

struct redlock_lock_options fixture_options(uint64_t ttl_ms)
{
	struct redlock_lock_options options;
	redlock_lock_options_init(&options);
	options.ttl_ms = ttl_ms;
	return options;
}

redlock_lock *fixture_lock_with(redlock_client *client, const char *name,
                                const struct redlock_lock_options *options)
{
	redlock_lock *lock = NULL;
	int result = redlock_lock_new(client, name, options, &lock);
	if (result != 0)
		fail_msg("redlock_lock_new(%s): %s", name, redlock_error_name(result));
	return lock;
}

redlock_lock *fixture_lock(redlock_client *client, const char *name, uint64_t ttl_ms, uint64_t wait_ms_)
{
	struct redlock_lock_options options = fixture_options(ttl_ms);
	options.wait_ms = wait_ms_;
	return fixture_lock_with(client, name, &options);
}

redlock_lock *fixture_held(redlock_client *client, const char *name, uint64_t ttl_ms, uint64_t wait_ms_)
{
	redlock_lock *lock = fixture_lock(client, name, ttl_ms, wait_ms_);
	expect_ok(lock, redlock_acquire(lock));
	return lock;
}

redlock_lock *fixture_value_lock(redlock_client *client, const char *name, uint64_t ttl_ms, const char *value)
{
	struct redlock_lock_options options = fixture_options(ttl_ms);
	options.token = value;
	options.token_len = strlen(value);
	return fixture_lock_with(client, name, &options);
}

struct fixture_token fixture_token(const redlock_lock *lock)
{
	struct fixture_token token;
	expect_ok(lock, redlock_lock_token(lock, token.text, sizeof token.text, &token.length));
	return token;
}

enum redlock_vote_code fixture_vote(const redlock_lock *lock, unsigned index)
{
	struct redlock_vote vote = {.size = sizeof vote};
	int result = redlock_lock_vote(lock, index, &vote);
	if (result != 0)
		fail_msg("redlock_lock_vote: %s", redlock_error_name(result));
	return vote.code;
}

unsigned fixture_votes_of_kind(const redlock_lock *lock, unsigned count, enum redlock_vote_kind kind)
{
	unsigned found = 0;
	for (unsigned i = 0; i < count; i++)
		found += redlock_vote_kind(fixture_vote(lock, i)) == kind;
	return found;
}

struct redlock_node_status fixture_status(redlock_client *client, unsigned node)
{
	struct redlock_node_status status = {.size = sizeof status};
	expect_ok(NULL, redlock_node_status(client, node, &status));
	return status;
}

struct redlock_event fixture_next_notice(redlock_client *client)
{
	struct redlock_event event = {.size = sizeof event};
	struct pollfd fd = {.fd = redlock_notice_fd(client), .events = POLLIN};
	assert_true(fd.fd >= 0);
	int got = 0;
	while (got == 0) {
		assert_int_equal(poll(&fd, 1, WAIT_SOON_MS), 1);
		got = redlock_next(client, &event);
	}
	assert_int_equal(got, 1);
	return event;
}

bool fixture_no_notice(redlock_client *client)
{
	struct redlock_event event = {.size = sizeof event};
	struct pollfd fd = {.fd = redlock_notice_fd(client), .events = POLLIN};
	return poll(&fd, 1, 0) == 0 && redlock_next(client, &event) == 0;
}

void fixture_expect_open(struct redlock_options *options, int want)
{
	redlock_client *client = NULL;
	int got = redlock_open(options, &client);
	if (got != want)
		print_error("%s\n", options->error_text != NULL ? options->error_text : "");
	assert_true((got == 0) == (client != NULL));
	redlock_close(client);
	expect_result(NULL, want, got);
}

void fixture_expect(const redlock_lock *lock, int got, int want, const char *what, const char *file, int line)
{
	struct redlock_vote vote = {.size = sizeof vote};
	if (got == want)
		return;
	print_error("%s: %s and not %s\n", what, redlock_error_name(got), redlock_error_name(want));
	for (unsigned i = 0; lock != NULL && redlock_lock_vote(lock, i, &vote) == 0; i++)
		print_error("  node %u: %s after %llu us\n", i, redlock_vote_name(vote.code),
		            (unsigned long long)vote.rtt_ns / 1000);
	_fail(file, line);
}
