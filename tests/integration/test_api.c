/* SPDX-License-Identifier: MIT */
/* Rules for every function of the header: NULL is an error and no crash, and pthread_cancel(3) ends no thread
 * inside. */
#include <glob.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include <redlock/ask.h>
#include <redlock/url.h>

#include "fixture.h"

enum { NODES = 3, WAITERS = 6 };

struct scene {
	redlock_client *client;
	redlock_client *to_close;
	redlock_asker *asker;
	redlock_lock *lock;
	redlock_lock *to_free;
	redlock_lock *to_leave;
	redlock_lock *made;
	struct redlock_options set;
	redlock_config *config;
};

static redlock_client *open_client(void)
{
	return fixture_open(servers.urls, NODES, FIXTURE_NODE_TIMEOUT_MS);
}

/* ---- the whole API ---- */

/* Space for what is written to, and for handles that are there but not used. */
static union {
	redlock_client *client;
	redlock_lock *lock;
	struct redlock_options options;
	struct redlock_lock_options lock_options;
	struct redlock_node_status status;
	struct redlock_guard_status guard;
	struct redlock_stats stats;
	struct redlock_node_stats node_stats;
	struct redlock_vote vote;
	struct redlock_finding finding;
	struct redlock_wait wait;
	struct redlock_event event;
	redlock_asker *asker;
	struct redlock_node_set node_set;
	const char *urls[REDLOCK_MAX_NODES];
	size_t size;
	char bytes[REDLOCK_MAX_TOKEN + 1];
} to;

static struct redlock_options usable(void)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	return options;
}

#define NOTHING(call) ((call), 0)

/* X(name, what a NULL gives, a call with a NULL, a call as it should be). A function with several pointers
 * has a row for each. */
#define API(X)                                                                                               \
	X(version, 1, redlock_version() != NULL, 0)                                                              \
	X(constant, 0, redlock_constant(NULL), redlock_constant("FOREVER") == REDLOCK_FOREVER)                   \
	X(constant_find, REDLOCK_E_INVAL, redlock_constant_find(NULL, &ms), 0)                                   \
	X(constant_find, REDLOCK_E_INVAL, redlock_constant_find("FOREVER", NULL),                                \
	  redlock_constant_find("FOREVER", &ms))                                                                 \
	X(strerror, 1, redlock_strerror(0) != NULL, 0)                                                           \
	X(error_name, 1, redlock_error_name(0) != NULL, 0)                                                       \
	X(vote_kind, 0, redlock_vote_kind(REDLOCK_VOTE_PENDING), 0)                                              \
	X(vote_name, 1, redlock_vote_name(REDLOCK_VOTE_PENDING) != NULL, 0)                                      \
	X(vote_text, 1, redlock_vote_text(REDLOCK_VOTE_PENDING) != NULL, 0)                                      \
	X(options_init, 0, NOTHING(redlock_options_init(NULL)), 0)                                               \
	X(options_init_sized, 0, NOTHING(redlock_options_init_sized(NULL, sizeof o)), 0)                         \
	X(options_init_sized, 0, NOTHING(redlock_options_init_sized(&o, sizeof o.size - 1)), 0)                  \
	X(lock_options_init, 0, NOTHING(redlock_lock_options_init(NULL)), 0)                                     \
	X(lock_options_init_sized, 0, NOTHING(redlock_lock_options_init_sized(NULL, sizeof o)), 0)               \
	X(options_set, REDLOCK_E_INVAL, redlock_options_set(NULL, "ttl", "1s"), 0)                               \
	X(options_set, REDLOCK_E_INVAL, redlock_options_set(&o, NULL, "1s"), 0)                                  \
	X(options_set, REDLOCK_E_INVAL, redlock_options_set(&o, "ttl", NULL),                                    \
	  redlock_options_set(&s->set, "url", "redis://h"))                                                      \
	X(options_add_url, REDLOCK_E_INVAL, redlock_options_add_url(NULL, "redis://h"), 0)                       \
	X(options_add_url, REDLOCK_E_INVAL, redlock_options_add_url(&o, NULL),                                   \
	  redlock_options_add_url(&s->set, "redis://h"))                                                         \
	X(lock_options_set, REDLOCK_E_INVAL, redlock_lock_options_set(NULL, "ttl", "1s", NULL, 0), 0)            \
	X(lock_options_set, REDLOCK_E_INVAL, redlock_lock_options_set(&l, NULL, "1s", NULL, 0), 0)               \
	X(lock_options_set, REDLOCK_E_INVAL, redlock_lock_options_set(&l, "ttl", NULL, NULL, 0),                 \
	  redlock_lock_options_set(&l, "ttl", "1s", NULL, 0))                                                    \
	X(option_is_duration, 0, redlock_option_is_duration(NULL), redlock_option_is_duration("url"))            \
	X(options_load, REDLOCK_E_INVAL, redlock_options_load(NULL, NULL, "/dev/null"),                          \
	  redlock_options_load(&s->set, NULL, "/dev/null"))                                                      \
	X(open_configured, REDLOCK_E_INVAL, redlock_open_configured("none", to.bytes, 9, NULL), 0)               \
	X(open_words, REDLOCK_E_INVAL, redlock_open_words("url\0redis://h\0", "", "", to.bytes, 9, NULL), 0)     \
	X(lock_new_words, REDLOCK_E_INVAL,                                                                       \
	  redlock_lock_new_words(NULL, &name, 1, NULL, NULL, 0, NULL, &to.lock), 0)                              \
	X(lock_new_words, REDLOCK_E_INVAL,                                                                       \
	  redlock_lock_new_words(s->client, NULL, 1, NULL, NULL, 0, NULL, &to.lock), 0)                          \
	X(lock_new_words, REDLOCK_E_INVAL,                                                                       \
	  redlock_lock_new_words(s->client, &name, 1, NULL, NULL, 0, NULL, NULL), 0)                             \
	X(options_set_error_text, 0, NOTHING(redlock_options_set_error_text(NULL, to.bytes, 9)),                 \
	  NOTHING(redlock_options_set_error_text(&o, to.bytes, 9)))                                              \
	X(options_set_trace, 0, NOTHING(redlock_options_set_trace(NULL, NULL, NULL)),                            \
	  NOTHING(redlock_options_set_trace(&o, NULL, NULL)))                                                    \
	X(options_clear, 0, NOTHING(redlock_options_clear(NULL)), NOTHING(redlock_options_clear(&s->set)))       \
	X(config_read, REDLOCK_E_INVAL, redlock_config_read(NULL, NULL, "/dev/null", &s->config), 0)             \
	X(config_read, REDLOCK_E_INVAL, redlock_config_read(&o, NULL, "/dev/null", NULL),                        \
	  redlock_config_read(&o, NULL, "/dev/null", &s->config))                                                \
	X(config_setting, REDLOCK_E_INVAL, redlock_config_setting(NULL, 0, &setting), 0)                         \
	X(config_setting, REDLOCK_E_INVAL, redlock_config_setting(s->config, 0, NULL), 0)                        \
	X(config_sets, REDLOCK_E_INVAL, redlock_config_sets(NULL, &o), 0)                                        \
	X(config_sets, REDLOCK_E_INVAL, redlock_config_sets(s->config, NULL), 0)                                 \
	X(nodes_of, REDLOCK_E_INVAL,                                                                             \
	  redlock_nodes_of(NULL, &(struct redlock_name){"a", 1}, 1, to.urls, &to.node_set), 0)                   \
	X(nodes_of, REDLOCK_E_INVAL, redlock_nodes_of(&o, NULL, 1, to.urls, &to.node_set), 0)                    \
	X(nodes_of, REDLOCK_E_INVAL,                                                                             \
	  redlock_nodes_of(&o, &(struct redlock_name){"a", 1}, 1, NULL, &to.node_set), 0)                        \
	X(nodes_of, REDLOCK_E_INVAL, redlock_nodes_of(&o, &(struct redlock_name){"a", 1}, 1, to.urls, NULL), 0)  \
	X(lock_client, 0, redlock_lock_client(NULL) != NULL, redlock_lock_client(s->lock) != s->client)          \
	X(config_cluster, 1, redlock_config_cluster(NULL, 0) == NULL, 0)                                         \
	X(config_free, 0, NOTHING(redlock_config_free(NULL)), NOTHING(redlock_config_free(s->config)))           \
	X(duration_parse, REDLOCK_E_INVAL, redlock_duration_parse(NULL, 0, 1, NULL, 0, &ms), 0)                  \
	X(duration_parse, REDLOCK_E_INVAL, redlock_duration_parse("1ms", 0, 1, NULL, 0, NULL),                   \
	  redlock_duration_parse("1ms", 0, 1, NULL, 0, &ms))                                                     \
	X(duration_text, 0, NOTHING(redlock_duration_text(1, NULL, 0)), 0)                                       \
	X(client_lock_options, REDLOCK_E_INVAL, redlock_client_lock_options(NULL, &l), 0)                        \
	X(client_lock_options, REDLOCK_E_INVAL, redlock_client_lock_options(s->client, NULL),                    \
	  redlock_client_lock_options(s->client, &l))                                                            \
	X(client_last_error, REDLOCK_E_INVAL, redlock_client_last_error(NULL, to.bytes, 9), 0)                   \
	X(client_last_error, REDLOCK_E_INVAL, redlock_client_last_error(s->client, NULL, 9),                     \
	  redlock_client_last_error(s->client, to.bytes, 9))                                                     \
	X(url_parse, REDLOCK_E_INVAL, redlock_url_parse(NULL, NULL, 0, &url), 0)                                 \
	X(url_parse, REDLOCK_E_INVAL, redlock_url_parse("redis://h", NULL, 0, NULL), 0)                          \
	X(url_parse, REDLOCK_E_INVAL, redlock_url_parse("redis://h", NULL, 0, &no_url),                          \
	  redlock_url_parse("redis://:p@h", to.bytes, sizeof to.bytes, &url))                                    \
	X(url_same_server, REDLOCK_E_INVAL, redlock_url_same_server(NULL, "redis://h"), 0)                       \
	X(url_same_server, REDLOCK_E_INVAL, redlock_url_same_server("redis://h", NULL),                          \
	  redlock_url_same_server("redis://h", "redis://i"))                                                     \
	X(terms, REDLOCK_E_INVAL, redlock_terms(NULL, NULL, NULL), 0)                                            \
	X(terms, REDLOCK_E_INVAL, redlock_terms(NULL, NULL, &no_terms), redlock_terms(NULL, NULL, &terms))       \
	X(client_terms, REDLOCK_E_INVAL, redlock_client_terms(NULL, NULL, &terms), 0)                            \
	X(client_terms, REDLOCK_E_INVAL, redlock_client_terms(s->client, NULL, NULL), 0)                         \
	X(client_terms, REDLOCK_E_INVAL, redlock_client_terms(s->client, NULL, &no_terms),                       \
	  redlock_client_terms(s->client, NULL, &terms))                                                         \
	X(lock_terms, REDLOCK_E_INVAL, redlock_lock_terms(NULL, &terms), 0)                                      \
	X(lock_terms, REDLOCK_E_INVAL, redlock_lock_terms(s->lock, NULL), 0)                                     \
	X(lock_terms, REDLOCK_E_INVAL, redlock_lock_terms(s->lock, &no_terms),                                   \
	  redlock_lock_terms(s->lock, &terms))                                                                   \
	X(open, REDLOCK_E_INVAL, redlock_open(NULL, &to.client), 0)                                              \
	X(open, REDLOCK_E_INVAL, redlock_open(&o, NULL), redlock_open(&o, &s->to_close))                         \
	X(release_all, 0, NOTHING(redlock_release_all(NULL)), NOTHING(redlock_release_all(s->to_close)))         \
	X(close, 0, NOTHING(redlock_close(NULL)), NOTHING(redlock_close(s->to_close)))                           \
	X(set_credentials, REDLOCK_E_INVAL, redlock_set_credentials(NULL, "", ""),                               \
	  redlock_set_credentials(s->client, NULL, NULL))                                                        \
	X(drain, REDLOCK_E_INVAL, redlock_drain(NULL, 0), redlock_drain(s->client, 0))                           \
	X(node_count, 0, redlock_node_count(NULL), redlock_node_count(s->client))                                \
	X(quorum, 0, redlock_quorum(NULL), redlock_quorum(s->client))                                            \
	X(acl_rights, REDLOCK_E_INVAL, redlock_acl_rights(1, NULL, 0),                                           \
	  redlock_acl_rights(1, to.bytes, sizeof to.bytes) - (int)strlen(to.bytes))                              \
	X(node_status, REDLOCK_E_INVAL, redlock_node_status(NULL, 0, &to.status), 0)                             \
	X(node_status, REDLOCK_E_INVAL, redlock_node_status(s->client, 0, NULL),                                 \
	  redlock_node_status(s->client, 0, &to.status))                                                         \
	X(lock_new, REDLOCK_E_INVAL, redlock_lock_new(NULL, "a", NULL, &to.lock), 0)                             \
	X(lock_new, REDLOCK_E_INVAL, redlock_lock_new(s->client, NULL, NULL, &to.lock), 0)                       \
	X(lock_new, REDLOCK_E_INVAL, redlock_lock_new(s->client, "a", NULL, NULL),                               \
	  redlock_lock_new(s->client, "a", NULL, &s->made))                                                      \
	X(lock_new_bytes, REDLOCK_E_INVAL, redlock_lock_new_bytes(NULL, "a", 1, NULL, &to.lock), 0)              \
	X(lock_new_bytes, REDLOCK_E_INVAL, redlock_lock_new_bytes(s->client, NULL, 1, NULL, &to.lock), 0)        \
	X(lock_new_bytes, REDLOCK_E_INVAL, redlock_lock_new_bytes(s->client, "a", 1, NULL, NULL), 0)             \
	X(lock_new_many, REDLOCK_E_INVAL, redlock_lock_new_many(NULL, list, 1, NULL, &to.lock), 0)               \
	X(lock_new_many, REDLOCK_E_INVAL, redlock_lock_new_many(s->client, NULL, 1, NULL, &to.lock), 0)          \
	X(lock_new_many, REDLOCK_E_INVAL, redlock_lock_new_many(s->client, &no_name, 1, NULL, &to.lock), 0)      \
	X(lock_new_many, REDLOCK_E_INVAL, redlock_lock_new_many(s->client, list, 1, NULL, NULL), 0)              \
	X(lock_new_many_bytes, REDLOCK_E_INVAL, redlock_lock_new_many_bytes(NULL, &name, 1, NULL, &to.lock), 0)  \
	X(lock_new_many_bytes, REDLOCK_E_INVAL, redlock_lock_new_many_bytes(s->client, NULL, 1, NULL, &to.lock), \
	  0)                                                                                                     \
	X(lock_new_many_bytes, REDLOCK_E_INVAL, redlock_lock_new_many_bytes(s->client, &name, 1, NULL, NULL), 0) \
	X(lock_obstacle, REDLOCK_E_INVAL, redlock_lock_obstacle(NULL, &number), 0)                               \
	X(lock_obstacle, REDLOCK_E_INVAL, redlock_lock_obstacle(s->lock, NULL),                                  \
	  redlock_lock_obstacle(s->lock, &number))                                                               \
	X(lock_slot, REDLOCK_E_INVAL, redlock_lock_slot(NULL, &number), 0)                                       \
	X(lock_slot, REDLOCK_E_INVAL, redlock_lock_slot(s->lock, NULL), redlock_lock_slot(s->lock, &number))     \
	X(lock_user, 0, redlock_lock_user(NULL) != NULL, redlock_lock_user(s->lock) != NULL)                     \
	X(lock_free, 0, NOTHING(redlock_lock_free(NULL)), NOTHING(redlock_lock_free(s->to_free)))                \
	X(lock_leave, 0, NOTHING(redlock_lock_leave(NULL)), NOTHING(redlock_lock_leave(s->to_leave)))            \
	X(acquire, REDLOCK_E_INVAL, redlock_acquire(NULL), redlock_acquire(s->lock))                             \
	X(extend, REDLOCK_E_INVAL, redlock_extend(NULL, 0), redlock_extend(s->lock, 0))                          \
	X(upgrade, REDLOCK_E_INVAL, redlock_upgrade(NULL), redlock_upgrade(s->lock))                             \
	X(downgrade, REDLOCK_E_INVAL, redlock_downgrade(NULL), redlock_downgrade(s->lock))                       \
	X(start_upgrade, REDLOCK_E_INVAL, redlock_start_upgrade(NULL), redlock_start_upgrade(s->lock))           \
	X(start_downgrade, REDLOCK_E_INVAL, redlock_start_downgrade(NULL), redlock_start_downgrade(s->lock))     \
	X(query, REDLOCK_E_INVAL, redlock_query(NULL), redlock_query(s->lock))                                   \
	X(probe, REDLOCK_E_INVAL, redlock_probe(NULL), redlock_probe(s->lock))                                   \
	X(release, REDLOCK_E_INVAL, redlock_release(NULL), redlock_release(s->lock))                             \
	X(cancel, REDLOCK_E_INVAL, redlock_cancel(NULL), redlock_cancel(s->lock))                                \
	X(lock_set_wait, REDLOCK_E_INVAL, redlock_lock_set_wait(NULL, 0), redlock_lock_set_wait(s->lock, 0))     \
	X(remaining_ms, 0, redlock_remaining_ms(NULL), redlock_remaining_ms(s->lock))                            \
	X(deadline_ns, 0, redlock_deadline_ns(NULL), redlock_deadline_ns(s->lock))                               \
	X(guard_status, REDLOCK_E_INVAL, redlock_guard_status(NULL, &to.guard), 0)                               \
	X(guard_status, REDLOCK_E_INVAL, redlock_guard_status(s->client, NULL),                                  \
	  (to.guard.size = sizeof to.guard, redlock_guard_status(s->client, &to.guard)))                         \
	X(stats, REDLOCK_E_INVAL, redlock_stats(NULL, &to.stats), 0)                                             \
	X(stats, REDLOCK_E_INVAL, redlock_stats(s->client, NULL), redlock_stats(s->client, &to.stats))           \
	X(node_stats, REDLOCK_E_INVAL, redlock_node_stats(NULL, 0, &to.node_stats), 0)                           \
	X(node_stats, REDLOCK_E_INVAL, redlock_node_stats(s->client, 0, NULL),                                   \
	  redlock_node_stats(s->client, 0, &to.node_stats))                                                      \
	X(leapt_ms, 0, redlock_leapt_ms(NULL), redlock_leapt_ms(s->client))                                      \
	X(lock_fence, 0, redlock_lock_fence(NULL), redlock_lock_fence(s->lock))                                  \
	X(lock_token, REDLOCK_E_INVAL, redlock_lock_token(NULL, to.bytes, sizeof to.bytes, &size), 0)            \
	X(lock_token, REDLOCK_E_INVAL, redlock_lock_token(s->lock, NULL, sizeof to.bytes, &size), 0)             \
	X(lock_token, REDLOCK_E_INVAL, redlock_lock_token(s->lock, to.bytes, sizeof to.bytes, NULL),             \
	  redlock_lock_token(s->lock, to.bytes, sizeof to.bytes, &size))                                         \
	X(lock_vote, REDLOCK_E_INVAL, redlock_lock_vote(NULL, 0, &to.vote), 0)                                   \
	X(lock_vote, REDLOCK_E_INVAL, redlock_lock_vote(s->lock, 0, NULL),                                       \
	  redlock_lock_vote(s->lock, 0, &to.vote))                                                               \
	X(last_error, REDLOCK_E_INVAL, redlock_last_error(NULL, to.bytes, sizeof to.bytes), 0)                   \
	X(last_error, REDLOCK_E_INVAL, redlock_last_error(s->lock, NULL, 1),                                     \
	  redlock_last_error(s->lock, to.bytes, sizeof to.bytes) > 0)                                            \
	X(lock_waiting, REDLOCK_E_INVAL, redlock_lock_waiting(NULL, &to.wait), 0)                                \
	X(lock_waiting, REDLOCK_E_INVAL, redlock_lock_waiting(s->lock, NULL),                                    \
	  redlock_lock_waiting(s->lock, &to.wait))                                                               \
	X(lock_finding, REDLOCK_E_INVAL, redlock_lock_finding(NULL, 0, &to.finding), 0)                          \
	X(lock_finding, REDLOCK_E_INVAL, redlock_lock_finding(s->lock, 0, NULL),                                 \
	  redlock_lock_finding(s->lock, 0, &to.finding))                                                         \
	X(start_acquire, REDLOCK_E_INVAL, redlock_start_acquire(NULL), redlock_start_acquire(s->lock))           \
	X(process, REDLOCK_E_INVAL, redlock_process(NULL), redlock_process(s->client))                           \
	X(start_extend, REDLOCK_E_INVAL, redlock_start_extend(NULL, 0), redlock_start_extend(s->lock, 0))        \
	X(start_query, REDLOCK_E_INVAL, redlock_start_query(NULL), redlock_start_query(s->lock))                 \
	X(start_probe, REDLOCK_E_INVAL, redlock_start_probe(NULL), redlock_start_probe(s->lock))                 \
	X(start_release, REDLOCK_E_INVAL, redlock_start_release(NULL), redlock_start_release(s->lock))           \
	X(start, REDLOCK_E_INVAL, redlock_start(NULL, REDLOCK_OP_QUERY, 0),                                      \
	  redlock_start(s->lock, REDLOCK_OP_QUERY, 0))                                                           \
	X(start, REDLOCK_E_INVAL, redlock_start(s->lock, REDLOCK_OP_NONE, 0), 0)                                 \
	X(turn, REDLOCK_E_INVAL, redlock_turn(NULL, 1, &to.event), 0)                                            \
	X(turn, REDLOCK_E_INVAL, redlock_turn(s->client, 1, NULL), redlock_turn(s->client, 1, &to.event))        \
	X(fd, REDLOCK_E_INVAL, redlock_fd(NULL), redlock_fd(s->client))                                          \
	X(timeout_ns, (long long)REDLOCK_NEVER_NS, redlock_timeout_ns(NULL), redlock_timeout_ns(s->client))      \
	X(notice_fd, REDLOCK_E_INVAL, redlock_notice_fd(NULL), redlock_notice_fd(s->client))                     \
	X(next, REDLOCK_E_INVAL, redlock_next(NULL, &to.event), 0)                                               \
	X(next, REDLOCK_E_INVAL, redlock_next(s->client, NULL), redlock_next(s->client, &to.event))              \
	X(asker_open, REDLOCK_E_INVAL, redlock_asker_open(NULL, &to.asker), 0)                                   \
	X(asker_open, REDLOCK_E_INVAL, redlock_asker_open(s->client, NULL),                                      \
	  redlock_asker_open(s->client, &s->asker))                                                              \
	X(asker_open_servers, REDLOCK_E_INVAL, redlock_asker_open_servers(NULL, 0, NULL, 0, &to.asker), 0)       \
	X(asker_open_servers, REDLOCK_E_INVAL,                                                                   \
	  redlock_asker_open_servers(s->client, 0, &(const char *){"a:1"}, 1, &to.asker), 0)                     \
	X(ask, REDLOCK_E_INVAL, redlock_ask(NULL, &question, 1, 0), 0)                                           \
	X(ask, REDLOCK_E_INVAL, redlock_ask(s->asker, NULL, 1, 0), redlock_ask(s->asker, &question, 1, 1000))    \
	X(question_vote, REDLOCK_VOTE_PENDING, redlock_question_vote(NULL), redlock_question_vote(&question))    \
	X(asker_close, 0, NOTHING(redlock_asker_close(NULL)), NOTHING(redlock_asker_close(s->asker)))            \
	X(keeper_start, REDLOCK_E_INVAL, redlock_keeper_start(NULL), redlock_keeper_start(s->client))            \
	X(keeper_stop, REDLOCK_E_INVAL, redlock_keeper_stop(NULL), redlock_keeper_stop(s->client))

static const char *const names[] = {
#define NAME(name, want, null, real) #name,
    API(NAME)
#undef NAME
};

enum { ROWS = sizeof names / sizeof names[0] };

static long long call(unsigned row, bool null, struct scene *s)
{
	struct redlock_options o = usable();
	struct redlock_lock_options l;
	redlock_lock_options_init(&l);
	struct redlock_setting setting = {.size = sizeof setting};
	uint64_t ms;
	struct redlock_terms terms = {.size = sizeof terms};
	static const char *const list[] = {"a"};
	const struct redlock_name name = {"a", 1};
	static const char *const no_name = NULL;
	unsigned number = 0;
	struct redlock_terms no_terms = {.size = sizeof no_terms.size - 1};
	struct redlock_url url = {.size = sizeof url};
	struct redlock_url no_url = {.size = 0};
	static const char *const ping[] = {"PING"};
	struct redlock_question question = {.size = sizeof question, .argc = 1, .argv = ping};
	size_t size;
	unsigned at = 0;
	to.size = sizeof to; /* of whichever struct of it is written to */
#define CALL(name, want, null_call, real_call)                                                               \
	if (row == at++)                                                                                         \
		return null ? (long long)(null_call) : (long long)(real_call);
	API(CALL)
#undef CALL
	return -1;
}

static void open_scene(struct scene *s)
{
	*s = (struct scene){.client = open_client()};
	redlock_options_init(&s->set);
	s->lock = fixture_lock(s->client, "lock", WAIT_LONG_TTL_MS, 0);
	s->to_free = fixture_lock(s->client, "free", WAIT_LONG_TTL_MS, 0);
	s->to_leave = fixture_lock(s->client, "leave", WAIT_LONG_TTL_MS, 0);
}

TEST(null_is_an_error)
{
	static const long long want[] = {
#define WANT(name, want, null, real) want,
	    API(WANT)
#undef WANT
	};
	struct scene s;
	open_scene(&s);
	for (unsigned i = 0; i < ROWS; i++) {
		long long got = call(i, true, &s);
		if (got != want[i])
			fail_msg("row %u, redlock_%s: %lld, not %lld", i, names[i], got, want[i]);
	}
	redlock_lock_free(s.lock);
	redlock_lock_free(s.to_free);
	redlock_lock_free(s.to_leave);
	redlock_close(s.client);
}

/* Calls `found` for each place in the headers that the expression describes, with its first two groups.
 * Returns their number. */
static unsigned search_headers(const char *expression, void (*found)(const char *first, const char *second))
{
	unsigned count = 0;
	glob_t headers;
	regex_t wanted;
	regmatch_t match[3];
	static char text[1 << 17];
	assert_int_equal(regcomp(&wanted, expression, REG_EXTENDED | REG_NEWLINE), 0);
	assert_int_equal(glob(HEADERS "/*.h", 0, NULL, &headers), 0);
	for (size_t i = 0; i < headers.gl_pathc; i++) {
		FILE *header = fopen(headers.gl_pathv[i], "r");
		assert_non_null(header);
		text[fread(text, 1, sizeof text - 1, header)] = '\0';
		fclose(header);
		for (char *at = text; regexec(&wanted, at, 3, match, 0) == 0; count++) {
			char *next = at + match[0].rm_eo + 1;
			at[match[1].rm_eo] = at[match[2].rm_eo] = '\0';
			found(at + match[1].rm_so, at + match[2].rm_so);
			at = next;
		}
	}
	globfree(&headers);
	regfree(&wanted);
	return count;
}

static void expect_row(const char *name, const char *unused)
{
	unsigned row = 0;
	(void)unused;
	while (row < ROWS && strcmp(names[row], name) != 0)
		row++;
	if (row == ROWS)
		fail_msg("redlock_%s has no row", name);
}

TEST(table_is_complete)
{
	assert_in_range(search_headers("^REDLOCK_API [^()]*[ *\n]redlock_([a-z_]+)(\\()", expect_row), ROWS / 2,
	                ROWS);
}

static void expect_constant(const char *name, const char *value)
{
	uint64_t want = strcmp(value, "UINT64_MAX") == 0 ? UINT64_MAX : strtoull(value, NULL, 10);
	if (want == 0 || redlock_constant(name) != want)
		fail_msg("redlock_constant(\"%s\") is not %s", name, value);
}

static void expect_number(const char *name, const char *want)
{
	uint64_t value;
	if (redlock_constant_find(name, &value) != 0 || (int64_t)value != strtoll(want, NULL, 10))
		fail_msg("redlock_constant_find(\"%s\") does not find %s", name, want);
}

/* A row of the errors, which are negative, or of the votes. */
static void expect_code(const char *name, const char *want)
{
	char whole[64];
	snprintf(whole, sizeof whole, "%s%s", *want == '-' ? "E_" : "VOTE_", name);
	expect_number(whole, want);
}

/* Limits and marks, the version, and the enums. */
TEST(constants_by_name)
{
	unsigned count =
	    search_headers("^#define REDLOCK_([A-UW-Z][A-Z_]*) ([0-9]+|UINT64_MAX)", expect_constant);
	assert_in_range(count, 11, 40);
	assert_in_range(search_headers("^#define REDLOCK_(VERSION_[A-Z]+) ([0-9]+)", expect_number), 3, 3);
	assert_in_range(search_headers("REDLOCK_([A-Z_]+) = (-?[0-9]+)", expect_number), 30, 60);
	assert_in_range(search_headers("^\tX\\(([A-Z_]+), (-?[0-9]+),", expect_code), 50, 99);
	uint64_t value = 7;
	assert_int_equal(redlock_constant_find("E_BUSI", &value), REDLOCK_E_INVAL);
	assert_int_equal(value, 7);
	assert_int_equal(redlock_constant("MAX"), 0);
	assert_int_equal(redlock_constant(""), 0);
}

/* ---- pthread_cancel ---- */

struct cancelled {
	struct scene *scene;
	unsigned row;
	bool returned;
};

static void *call_with_cancel_pending(void *argument)
{
	struct cancelled *c = argument;
	pthread_cancel(pthread_self());
	call(c->row, false, c->scene);
	c->returned = true;
	pthread_testcancel();
	return NULL;
}

TEST(no_call_is_left_in_the_middle)
{
	struct scene s;
	open_scene(&s);
	for (unsigned i = 0; i < ROWS; i++) {
		struct cancelled c = {.scene = &s, .row = i};
		pthread_t thread;
		void *end = NULL;
		assert_int_equal(pthread_create(&thread, NULL, call_with_cancel_pending, &c), 0);
		pthread_join(thread, &end);
		if (!c.returned)
			fail_msg("redlock_%s did not return", names[i]);
		assert_ptr_equal(end, PTHREAD_CANCELED);
	}
	redlock_lock_free(s.lock);
	redlock_lock_free(s.made);
	redlock_close(s.client);
}

static void *acquire(void *lock)
{
	int result = redlock_acquire(lock);
	pthread_testcancel();
	return result == 0 ? NULL : lock;
}

/* Threads that are cancelled while they lead or sleep do not take the others with them, and are not torn out
 * of their own call either: they have the lock when they end. */
static void expect_others_go_on(bool keeper)
{
	own_client *client = open_client();
	redlock_lock *locks[WAITERS];
	pthread_t threads[WAITERS];
	char name[] = "busy-0";
	if (keeper)
		expect_ok(NULL, redlock_keeper_start(client));
	for (unsigned i = 0; i < WAITERS; i++, name[5]++) {
		on_servers(0, NODES, server_must(it, "OK", "SET", name, "x", NULL));
		locks[i] = fixture_lock(client, name, WAIT_LONG_TTL_MS, REDLOCK_FOREVER);
		assert_int_equal(pthread_create(&threads[i], NULL, acquire, locks[i]), 0);
		wait_ms(20); /* so that the first one leads */
	}
	wait_ms(100);
	for (unsigned i = 0; i < WAITERS; i += 2)
		pthread_cancel(threads[i]);
	wait_ms(100);
	servers_heal(&servers);
	for (unsigned i = 0; i < WAITERS; i++) {
		void *end = NULL;
		assert_soon(redlock_remaining_ms(locks[i]) > 0);
		pthread_join(threads[i], &end);
		assert_ptr_equal(end, i % 2 == 0 ? PTHREAD_CANCELED : NULL);
		redlock_lock_free(locks[i]);
	}
}

TEST(others_go_on)
{
	expect_others_go_on(false);
	expect_others_go_on(true);
}

/* ---- results of programs that were built against another header ---- */

static redlock_lock *sized_lock;

static int event_of(redlock_client *client, void *ret)
{
	if (fixture_no_notice(client)) /* the event of a call that was refused is still there */
		expect_ok(NULL, redlock_start_query(sized_lock));
	assert_soon(redlock_process(client) == 0 && !fixture_no_notice(client));
	int got = redlock_next(client, ret);
	return got == 1 ? 0 : got;
}

static int call_sized(unsigned row, redlock_client *client, void *ret)
{
	switch (row) {
	case 0:
		return redlock_node_status(client, 0, ret);
	case 1:
		return redlock_lock_vote(sized_lock, 0, ret);
	case 2:
		return redlock_lock_finding(sized_lock, 0, ret);
	case 3:
		return redlock_lock_terms(sized_lock, ret);
	case 4:
		return redlock_url_parse("redis://host/3", NULL, 0, ret);
	default:
		return event_of(client, ret);
	}
}

TEST(results_of_other_sizes)
{
	static const size_t known[] = {sizeof(struct redlock_node_status), sizeof(struct redlock_vote),
	                               sizeof(struct redlock_finding),     sizeof(struct redlock_terms),
	                               sizeof(struct redlock_url),         sizeof(struct redlock_event)};
	static union {
		size_t size;
		unsigned char bytes[4096];
	} all, result;
	own_client *client = open_client();
	own_lock *lock = fixture_held(client, "sized", WAIT_LONG_TTL_MS, 0);
	sized_lock = lock;
	expect_ok(lock, redlock_query(lock));
	assert_driven(client, fixture_status(client, 0).waiting == 0);
	for (unsigned row = 0; row < sizeof known / sizeof known[0]; row++) {
		const size_t sizes[] = {sizeof(size_t), sizeof(size_t) + 4, known[row] - 1,
		                        known[row],     known[row] + 1,     sizeof result};
		static const size_t unset[] = {0, sizeof(size_t) - 1, 65537, SIZE_MAX};
		all.size = sizeof all;
		assert_int_equal(call_sized(row, client, &all), 0);
		for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
			memset(&result, 0xaa, sizeof result);
			result.size = sizes[i];
			assert_int_equal(call_sized(row, client, &result), 0);
			assert_int_equal(result.size, sizes[i]);
			if (sizes[i] < known[row])
				assert_int_equal(result.bytes[sizes[i]], 0xaa);
			if (sizes[i] > sizeof(size_t)) /* the first bytes of the first field */
				assert_memory_equal(result.bytes + sizeof(size_t), all.bytes + sizeof(size_t), 4);
			for (size_t at = known[row]; at < sizeof result; at++)
				assert_int_equal(result.bytes[at], at < sizes[i] ? 0 : 0xaa);
		}
		for (unsigned i = 0; i < sizeof unset / sizeof unset[0]; i++) {
			memset(&result, 0xaa, sizeof result);
			result.size = unset[i];
			assert_int_equal(call_sized(row, client, &result), REDLOCK_E_INVAL);
			assert_int_equal(result.bytes[sizeof(size_t)], 0xaa);
		}
		if (known[row] == sizeof(struct redlock_event))
			assert_int_equal(call_sized(row, client, (all.size = sizeof all, &all)), 0);
	}
}

/* ---- URLs that are alike ---- */

TEST(urls_of_one_server)
{
	assert_int_equal(redlock_url_same_server("redis://user:word@h", "valkeys://H:6379/5"), 1);
	assert_int_equal(redlock_url_same_server("unix:///a", "unix:///a?db=1"), 1);
	assert_int_equal(redlock_url_same_server("redis://h", "redis://h:6380"), 0);
	assert_int_equal(redlock_url_same_server("redis://h", "redis://i"), 0);
	assert_int_equal(redlock_url_same_server("redis://h", "unix:///h"), 0);
	assert_int_equal(redlock_url_same_server("unix:///a", "unix:///A"), 0);
	assert_int_equal(redlock_url_same_server("redis://h", "local"), REDLOCK_E_URL);
	assert_int_equal(redlock_url_same_server("local", "redis://h"), REDLOCK_E_URL);
}

/* ---- handles that are alike ---- */

static void *extend_idle(void *lock)
{
	for (int i = 0; i < 2000; i++)
		if (redlock_extend(lock, WAIT_LONG_TTL_MS) != REDLOCK_E_STATE)
			return lock;
	return NULL;
}

/* They have one copy of their options, which each reads on its own thread: TSan sees who writes it. */
TEST(handles_that_are_alike)
{
	own_client *client = open_client();
	own_lock *lock = fixture_lock(client, "alike", WAIT_LONG_TTL_MS, 0);
	pthread_t thread;
	void *end = NULL;
	assert_int_equal(pthread_create(&thread, NULL, extend_idle, lock), 0);
	for (int i = 0; i < 2000; i++)
		redlock_lock_free(fixture_lock(client, "alike", WAIT_LONG_TTL_MS, 0));
	pthread_join(thread, &end);
	assert_null(end);
}

SERVER_TESTS(NODES)
