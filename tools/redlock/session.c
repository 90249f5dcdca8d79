/* SPDX-License-Identifier: MIT */
/* A client for the length of one command. */
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "cluster_dir.h"
#include "config.h"
#include "conflicts.h"
#include "exit_codes.h"
#include "holder.h"
#include "host.h"
#include "message.h"
#include "nodes.h"
#include "outcome.h"
#include "password.h"
#include "printable.h"
#include "secret.h"
#include "signals.h"
#include "streams.h"
#include "values.h"
#include "wait_view.h"

static void print_trace(void *user, const char *line)
{
	(void)user;
	if (streams_take_errors()) /* as say_now() */
		complain(MSG(TRACE), line);
}

/* host:pid, of the characters that an owner label may have. */
static void default_owner(char *buffer, size_t size)
{
	char host[REDLOCK_MAX_OWNER - 24];
	snprintf(buffer, size, "%s:%ld", host_name(host, sizeof host), (long)getpid());
}

static void fill_times(struct redlock_options *options, const struct settings *settings)
{
	redlock_options_init(options);
	options->node_timeout_ms = (uint32_t)settings->node_timeout_ms;
	if (settings->drift_ppm != UINT64_MAX)
		options->drift_ppm = (uint32_t)settings->drift_ppm;
}

/* If the settings do not say whether the set is guarded, the note of `redlock init` about the local cluster
 * does. A fencing number needs a guard. */
bool session_has_cluster(const struct session *session)
{
	struct redlock_node_status status = {.size = sizeof status};
	for (unsigned i = 0; i < redlock_node_count(session->client); i++)
		if (redlock_node_status(session->client, i, &status) == 0 &&
		    strstr(status.address, "+cluster://") != NULL)
			return true;
	return false;
}

uint64_t session_guard(const struct settings *settings)
{
	bool said = settings_source(settings, offsetof(struct settings, guard)) != NULL;
	bool local = !said && nodes_are_local(settings) && cluster_dir_is_guarded();
	bool needed = settings->fence && settings->guard != REDLOCK_GUARD_OFF;
	return local || needed ? REDLOCK_GUARD_REQUIRE : settings->guard;
}

/* The local cluster begins without records after each boot, and has a note of its own. */
static void recall(struct session *session, const struct text_list *urls)
{
	if (nodes_are_local(session->settings))
		return;
	session->members = guard_memory_members((const char *const *)urls->items, urls->count);
	session->remembered = session->members != NULL &&
	                      guard_memory_find(session->members, session->guarded_set, &session->guarded_ttl_ms);
}

static void keep(struct session *session, const char *set, uint64_t ttl_ms)
{
	session->remembered = true;
	snprintf(session->guarded_set, sizeof session->guarded_set, "%s", set);
	session->guarded_ttl_ms = ttl_ms;
	session->memory_error = guard_memory_keep(session->members, set, ttl_ms) ? 0 : errno;
	if (session->memory_error == 0 || !session->settings->verbose)
		return;
	char path[PATH_MAX];
	complain(MSG(GUARD_MEMORY), guard_memory_path(path), guard_memory_problem(session->memory_error));
}

void session_remember(struct session *session)
{
	struct redlock_guard_status guard = {.size = sizeof guard};
	if (session->members == NULL || redlock_guard_status(session->client, &guard) < 0)
		return;
	bool has_ttl = guard.max_ttl_ms == 0 || guard.max_ttl_ms == session->guarded_ttl_ms;
	bool known = session->remembered && strcmp(guard.set, session->guarded_set) == 0 && has_ttl;
	if (guard.state == REDLOCK_SET_GUARDED && guard.set[0] && !known)
		keep(session, guard.set, guard.max_ttl_ms);
	if (guard.state == REDLOCK_SET_PLAIN && session->remembered) {
		session->remembered = false;
		guard_memory_drop(session->members);
	}
	if (guard.state == REDLOCK_SET_PLAIN && guard.barred > 0 && session->settings->verbose)
		complain(MSG(GUARD_BARRED), guard.barred);
}

static void fill_options(struct redlock_options *options, const struct session *session,
                         const struct text_list *urls, const char *owner, const char *password)
{
	const struct settings *settings = session->settings;
	fill_times(options, settings);
	options->urls = (const char *const *)urls->items;
	options->url_count = urls->count;
	options->user = settings->user;
	options->password = password;
	options->prefix = settings->prefix;
	options->owner = owner != NULL && *owner ? owner : NULL;
	options->quorum = (unsigned)settings->quorum;
	options->guard = (int)session_guard(settings);
	bool told = session->remembered && settings->guard != REDLOCK_GUARD_OFF;
	options->guarded_set = told ? session->guarded_set : NULL;
	options->trace = settings->trace ? print_trace : NULL;
	options->tls_ca_file = settings->ca_file;
	options->tls_ca_dir = settings->ca_dir;
	options->tls_cert_file = settings->cert_file;
	options->tls_key_file = settings->key_file;
	options->tls_name = settings->tls_name;
	options->tls_insecure = settings->insecure;
	options->interruptible = settings->interruptible;
}

/* Where the setting stands that the library refuses: a file and its line, a variable or an option. NULL:
 * unknown. */
static const char *refused_source(const struct settings *settings, int error, int node, const char *option)
{
	const struct option_spec *spec = option != NULL ? options_find(config_groups, option) : NULL;
	const struct setting_source *source = spec != NULL ? settings_source(settings, spec->field) : NULL;
	if (error == REDLOCK_E_URL && node >= 0)
		return nodes_source(settings, (unsigned)node);
	/* The command sets node timeout and drift alone of the default options of locks. */
	if (option != NULL && strcmp(option, "lock_options") == 0)
		source = settings_source(settings, offsetof(struct settings, node_timeout_ms));
	if (option != NULL && strcmp(option, "lock_options") == 0 && source == NULL)
		source = settings_source(settings, offsetof(struct settings, drift_ppm));
	return source != NULL ? source->where : NULL;
}

/* A URL as it may be quoted, "" if a part of the list may be a password that is not seen as one: a comma in
 * the password has cut its URL in two. */
static const char *quotable_url(const struct text_list *urls, int node)
{
	bool hidden = false;
	for (size_t i = 0; i < urls->count && !hidden; i++) {
		const char *scheme = strstr(urls->items[i], "://"), *at = strchr(urls->items[i], '@');
		hidden = at != NULL && (scheme == NULL || at < scheme);
	}
	return !hidden && node >= 0 && (size_t)node < urls->count ? urls->items[node] : "";
}

/* `url`: the URL that is wrong, whose password complain() hides; "": another cause, or it is not shown. */
static int refused(const char *where, int error, const char *url, const char *error_text)
{
	char shown[PRINTABLE_MAX * 4];
	complain(MSG(NODE_URL), where != NULL ? where : "", where != NULL ? ": " : "", url, *url ? ": " : "",
	         error_text[0] ? printable(error_text, strlen(error_text), shown, sizeof shown)
	                       : redlock_strerror(error));
	/* A wrong option is a mistake of usage, a wrong line one of configuration. */
	return error == REDLOCK_E_INVAL && where != NULL && where[0] != '-' ? EXIT_CONFIG
	                                                                    : outcome_of_error(error);
}

/* With --also, it ends in "+" and the number of the other names (holder_more_names()), where there is room.
 */
static void make_owner(const struct settings *settings, char *buffer, size_t size)
{
	char label[REDLOCK_MAX_OWNER + 1];
	default_owner(label, sizeof label);
	const char *owner = settings->owner != NULL ? settings->owner : label;
	int length =
	    settings->also.count > 0 ? snprintf(buffer, size, "%s+%zu", owner, settings->also.count) : -1;
	if (length < 0 || length > REDLOCK_MAX_OWNER)
		snprintf(buffer, size, "%s", owner);
}

static int open_client(struct session *session, const struct text_list *urls, const char *password)
{
	const struct settings *settings = session->settings;
	char owner[REDLOCK_MAX_OWNER + 2], error_text[512] = ""; /* one more: what is too long is refused */
	make_owner(settings, owner, sizeof owner);
	struct redlock_options options;
	fill_options(&options, session, urls, owner, password);
	options.error_text = error_text;
	options.error_text_size = sizeof error_text;
	int node = -1;
	options.error_node = &node;
	const char *option = NULL;
	options.error_option = &option;
	if (settings->insecure)
		say(settings, MSG(INSECURE));
	int error = redlock_open(&options, &session->client);
	if (error)
		return refused(refused_source(settings, error, node, option), error,
		               error == REDLOCK_E_URL ? quotable_url(urls, node) : "", error_text);
	struct redlock_terms terms;
	session_terms(settings, &terms);
	session->node_timeout_ms = terms.node_timeout_ms;
	return EXIT_OK;
}

static const char *password_source(const struct settings *settings)
{
	const struct setting_source *source = settings_source(settings, offsetof(struct settings, password_file));
	return source != NULL ? source->where : "--password-file";
}

static bool read_password(const struct settings *settings, struct redlock_options *login)
{
	char why[256] = "", warning[256] = "";
	const char *where = password_source(settings);
	login->error_text = why;
	login->error_text_size = sizeof why;
	login->warning_text = warning;
	login->warning_text_size = sizeof warning;
	bool loaded = password_load(settings->password_file, login);
	if (!loaded)
		complain(MSG(LOGIN), where, *where == '-' ? " " : ": ", password_problem(login));
	if (*warning)
		say(settings, MSG(PASSWORD_WARNS), warning);
	return loaded;
}

static bool ask_password(struct redlock_options *login)
{
	char *password = password_ask();
	bool ok = password != NULL && redlock_options_set(login, "password", password) == 0;
	secret_free(password);
	return ok;
}

/* False: it was asked for and not had. */
static bool find_password(const struct settings *settings, struct redlock_options *login)
{
	if (settings->ask_password)
		return ask_password(login);
	if (settings->password_file != NULL)
		return read_password(settings, login);
	return settings->password == NULL || redlock_options_set(login, "password", settings->password) == 0;
}

/* The client has the passwords now. Later readers of the settings need no password. */
static void forget_secrets(struct session *session)
{
	const struct text_list *urls = &session->settings->urls;
	for (size_t i = 0; i < urls->count; i++)
		if (secret_blank_urls(urls->items[i]))
			session->has_password = true;
	if (session->settings->password != NULL)
		explicit_bzero(session->settings->password, strlen(session->settings->password));
	secret_wipe_environment(false);
	if (session->has_password)
		secret_wipe_stack();
}

int session_open(struct session *session, const struct settings *settings)
{
	struct text_list urls = {NULL, 0};
	struct redlock_options login; /* only its password is used */
	redlock_options_init(&login);
	int code;
	session->settings = settings;
	session->client = NULL;
	session->begin_ns = clock_ns();
	session->has_password = session->has_user = session->value_returns = false;
	session->told = session->told_late = session->keyless = 0;
	session->view = NULL;
	session->members = NULL;
	session->remembered = false;
	session->memory_error = 0;
	session->guarded_set[0] = '\0';
	code = nodes_find(settings, &urls);
	if (code != EXIT_OK)
		goto out;
	recall(session, &urls);
	session->has_user = nodes_have_user(&urls);
	nodes_user(&urls, settings->user, session->user, sizeof session->user);
	if (session->user[0] == '\0')
		snprintf(session->user, sizeof session->user, "USER");
	if (!find_password(settings, &login)) {
		code = signals_caught() ? EXIT_SIGNAL + signals_caught() : EXIT_CONFIG;
		goto out;
	}
	session->has_password = login.password != NULL;
	code = open_client(session, &urls, login.password);
out:
	redlock_options_clear(&login);
	text_list_free(&urls);
	forget_secrets(session);
	return code;
}

/* Whether the library takes these options with another name. */
static bool is_name_refused(struct session *session, const struct redlock_lock_options *options)
{
	redlock_lock *lock = NULL;
	int error = redlock_lock_new(session->client, "a", options, &lock);
	redlock_lock_leave(lock);
	return error == 0;
}

/* Whether a Redis Cluster cannot have the names of the handle that was refused last. The library says how to
 * write them. */
static bool is_refused_for_cluster(struct session *session, char *why, size_t size)
{
	static const char begin[] = "a node is a cluster";
	return redlock_client_last_error(session->client, why, size) > 0 &&
	       strncmp(why, begin, sizeof begin - 1) == 0;
}

static int explain_short_ttl(const struct settings *settings)
{
	const char *ttl = conflicts_place(settings, offsetof(struct settings, ttl_ms));
	const char *timeout = conflicts_place(settings, offsetof(struct settings, node_timeout_ms));
	complain(MSG(TTL_SHORT), ttl != NULL ? " of " : "", ttl != NULL ? ttl : "", timeout != NULL ? " of " : "",
	         timeout != NULL ? timeout : "");
	return conflicts_code_of_times(settings);
}

/* Why the library refuses a handle: the rules are those of redlock_lock_new(). Pairs of options were looked
 * at before; here the guard may be configured, or be that of the local cluster. Returns an exit code. */
static int explain_refused_lock(struct session *session, const char *name,
                                const struct redlock_lock_options *options)
{
	const struct settings *settings = session->settings;
	const char *token = options->token;
	size_t key = strlen(name) + (settings->prefix != NULL ? strlen(settings->prefix) : 0);
	const struct setting_source *guard = settings_source(settings, offsetof(struct settings, guard));
	bool guarded = session_guard(settings) == REDLOCK_GUARD_REQUIRE;
	char why[256];
	if (is_refused_for_cluster(session, why, sizeof why))
		complain(MSG(NAMES_IN_CLUSTER), why);
	else if (!*name)
		complain(MSG(NAME_EMPTY));
	else if (key > REDLOCK_MAX_NAME)
		complain(MSG(NAME_LONG), key, REDLOCK_MAX_NAME);
	else if (token != NULL && (!*token || strlen(token) > REDLOCK_MAX_TOKEN))
		complain(MSG(TOKEN_LENGTH), strlen(token), REDLOCK_MAX_TOKEN);
	else if (settings->fence && !guarded)
		complain(MSG(FENCE_UNGUARDED));
	else if (guarded && settings->compat == REDLOCK_COMPAT_SETNX)
		complain(MSG(SETNX_GUARDED), guard != NULL ? guard->where : "the local cluster");
	else if (is_name_refused(session, options))
		complain(MSG(NAME_SIDE));
	else
		return explain_short_ttl(settings);
	return EXIT_USAGE;
}

void session_lock_options(const struct settings *settings, struct redlock_lock_options *options)
{
	redlock_lock_options_init(options);
	bool asked = settings_source(settings, offsetof(struct settings, ttl_ms)) != NULL;
	options->ttl_ms = asked ? settings->ttl_ms : REDLOCK_DEFAULT_TTL;
	options->wait_ms = settings->wait_ms;
	/* A busy lock is waited for without limit, servers that do not answer are not. */
	options->noquorum_wait_ms = settings->wait_ms == REDLOCK_FOREVER ? 10000 : REDLOCK_FOREVER;
	/* A job after a weekend of reboots must not fail; but a time that was given is not exceeded. */
	bool limited = settings->wait_ms > 0 && settings->wait_ms < REDLOCK_FOREVER;
	options->quarantine_wait_ms = limited ? 0 : REDLOCK_FOREVER;
	options->danger_ms = 0;
	options->fence = settings->fence;
	options->compat = (int)settings->compat;
	options->mode = settings->shared ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
}

void session_terms(const struct settings *settings, struct redlock_terms *ret)
{
	struct redlock_options options;
	fill_times(&options, settings);
	struct redlock_lock_options lock_options;
	session_lock_options(settings, &lock_options);
	*ret = (struct redlock_terms){.size = sizeof *ret};
	if (redlock_terms(&options, &lock_options, ret) < 0)
		ret->ttl_ms = 0; /* out of its range: no lock handle can be made of it */
}

int session_lock_with(struct session *session, const char *name, const struct redlock_lock_options *options,
                      redlock_lock **ret_lock)
{
	int error = redlock_lock_new(session->client, name, options, ret_lock);
	if (error == REDLOCK_E_INVAL)
		return explain_refused_lock(session, name, options);
	if (error)
		complain(MSG(LIBRARY), redlock_strerror(error));
	return error ? outcome_of_error(error) : EXIT_OK;
}

/* An error of one name alone, or of the times, is reported for that name. */
static bool work_alone(struct session *session, const char *name, const struct redlock_lock_options *options)
{
	const struct text_list *also = &session->settings->also;
	int code = EXIT_OK;
	for (size_t i = 0; code == EXIT_OK && i <= also->count; i++) {
		redlock_lock *lock = NULL;
		code = session_lock_with(session, i == 0 ? name : also->items[i - 1], options, &lock);
		redlock_lock_free(lock);
	}
	return code == EXIT_OK;
}

int session_lock_all(struct session *session, const char *name, const struct redlock_lock_options *options,
                     redlock_lock **ret_lock)
{
	const struct text_list *also = &session->settings->also;
	const char *names[REDLOCK_MAX_NAMES] = {name};
	size_t count = 1;
	if (also->count == 0)
		return session_lock_with(session, name, options, ret_lock);
	if (conflicts_of_names(session->settings, name))
		return EXIT_USAGE;
	for (; count <= also->count; count++)
		names[count] = also->items[count - 1];
	char why[256];
	int error = redlock_lock_new_many(session->client, names, count, options, ret_lock);
	if (error == REDLOCK_E_INVAL && is_refused_for_cluster(session, why, sizeof why))
		complain(MSG(NAMES_IN_CLUSTER), why);
	else if (error == REDLOCK_E_INVAL && work_alone(session, name, options))
		complain(MSG(NAMES_LONG), REDLOCK_MAX_NAME);
	else if (error != REDLOCK_E_INVAL && error != 0)
		complain(MSG(LIBRARY), redlock_strerror(error));
	return error ? outcome_of_error(error) : EXIT_OK;
}

const char *session_busy_name(const struct settings *settings, const redlock_lock *lock, const char *name)
{
	unsigned index;
	bool told = settings->also.count > 0 && redlock_lock_obstacle(lock, &index) == 0;
	return told && index > 0 ? settings->also.items[index - 1] : name;
}

static void token_options(struct session *session, const char *token, struct redlock_lock_options *options)
{
	session_lock_options(session->settings, options);
	session->value_returns = token != NULL && !holder_made_here(token, strlen(token));
	options->token = token;
	options->token_len = token != NULL ? strlen(token) : 0;
	if (token != NULL && token != session->settings->token && options->compat == REDLOCK_COMPAT_SETNX_SAFE)
		options->compat = REDLOCK_COMPAT_OFF; /* it is there already */
}

int session_lock(struct session *session, const char *name, const char *token, redlock_lock **ret_lock)
{
	struct redlock_lock_options options;
	token_options(session, token, &options);
	return session_lock_with(session, name, &options, ret_lock);
}

int session_lock_slot(struct session *session, const char *name, const char *token, unsigned slot,
                      redlock_lock **ret_lock)
{
	struct redlock_lock_options options;
	token_options(session, token, &options);
	options.slots = (uint32_t)session->settings->slots;
	options.slot = slot;
	return session_lock_with(session, name, &options, ret_lock);
}

/* How long an acquire waits is in the options of its handle. */
static int start(redlock_lock *lock, enum redlock_operation operation)
{
	return operation == REDLOCK_OP_ACQUIRE ? redlock_start_acquire(lock) : redlock_start(lock, operation, 0);
}

/* Looks for the end of the operation. True when it has ended, or when the client cannot go on. */
static bool ended(struct session *session, redlock_lock *lock, int *ret_result)
{
	struct redlock_event event = {.size = sizeof event};
	int more = redlock_process(session->client);
	while (more >= 0 && (more = redlock_next(session->client, &event)) > 0)
		if (event.lock == lock && event.kind == REDLOCK_EVENT_DONE) {
			*ret_result = event.result;
			return true;
		}
	*ret_result = more;
	return more < 0;
}

/* Tells of a wait. Returns for how long there is nothing more to tell, for poll(2). */
static int tell_wait(struct wait_view *view, const redlock_lock *lock)
{
	if (view == NULL)
		return -1;
	view->name = session_busy_name(view->settings, lock, view->first);
	wait_view_look(view, lock);
	wait_view_show(view);
	uint64_t due_ns = wait_view_due_ns(view), now_ns = clock_ns();
	if (due_ns == UINT64_MAX)
		return -1;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / 1000000) + 1 : 0;
}

/* Waits for the end of the operation, or for a signal and then for the end of the cancelled operation. */
static int wait_for_end(struct session *session, redlock_lock *lock)
{
	struct pollfd watched[2] = {{.fd = redlock_fd(session->client), .events = POLLIN},
	                            {.fd = signals_fd(), .events = POLLIN}};
	int result;
	while (!ended(session, lock, &result)) {
		if (signals_caught() && watched[1].fd >= 0) {
			redlock_cancel(lock);
			watched[1].fd = -1; /* once is enough */
			continue;
		}
		if (poll(watched, 2, tell_wait(session->view, lock)) < 0 && errno != EINTR)
			return REDLOCK_E_SYSTEM;
	}
	return result;
}

int session_run(struct session *session, redlock_lock *lock, enum redlock_operation operation)
{
	int result = start(lock, operation);
	if (result == 0)
		result = wait_for_end(session, lock);
	if (session->view != NULL)
		wait_view_end(session->view);
	session_await_votes(session, lock, operation, result);
	session_remember(session);
	return result;
}

uint64_t session_ttl_ms(const struct session *session, const redlock_lock *lock)
{
	const struct settings *settings = session->settings;
	struct redlock_terms terms = {.size = sizeof terms};
	char text[32];
	if (redlock_lock_terms(lock, &terms) < 0 || terms.ttl_ms >= settings->ttl_ms)
		return settings->ttl_ms;
	redlock_duration_text(terms.ttl_ms, text, sizeof text);
	if (settings->verbose)
		say(settings, MSG(TTL_MAXIMUM), text);
	return terms.ttl_ms;
}

void session_close(struct session *session)
{
	if (session->client != NULL)
		session_remember(session);
	redlock_close(session->client);
	session->client = NULL;
	free(session->members);
	session->members = NULL;
}
