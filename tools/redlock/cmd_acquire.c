/* SPDX-License-Identifier: MIT */
/* redlock acquire NAME: takes the lock, prints its token, and leaves the key on the servers. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "message.h"
#include "report.h"
#include "session.h"
#include "signals.h"
#include "wait_view.h"

static const struct option_spec specs[] = {
    {0, "token", "VALUE", OPTION_TEXT, offsetof(struct settings, token), 0, 0,
     "use this value as the token, a new one for each acquire; one try"},
    {'E', "conflict-exit-code", "CODE", OPTION_NUMBER, offsetof(struct settings, busy_code), 1, 255,
     "exit code when busy (75); 0 is for a lock that is held"},
};
static const struct option_group acquire_options = {"Lock", specs, sizeof specs / sizeof specs[0]};
static const struct option_group *const groups[] = {
    &ttl_options,    &wait_options, &acquire_options, &names_options,
    &compat_options, &node_options, &output_options,  NULL};

struct grant {
	char token[REDLOCK_MAX_TOKEN + 1];
	size_t token_len;
	uint64_t fence; /* 0: none */
	unsigned slot;
	uint64_t ttl_ms;
	uint64_t validity_ms;
};

static void print_json(FILE *out, const struct report *report, const struct session *session,
                       const struct grant *grant)
{
	struct json json;
	json_init(&json, out);
	report_json_begin(report, &json);
	report_json_names(report, session->settings, &json);
	if (report->result == 0)
		json_bytes(&json, "token", grant->token, grant->token_len);
	else
		json_null(&json, "token");
	json_number_or_null(&json, "fence", grant->fence != 0, (int64_t)grant->fence);
	if (session->settings->slots > 0) {
		json_number(&json, "slots", (int64_t)session->settings->slots);
		json_number_or_null(&json, "slot", report->result == 0, grant->slot);
	}
	json_number(&json, "ttl_ms", (int64_t)grant->ttl_ms);
	json_number(&json, "validity_ms", (int64_t)grant->validity_ms);
	wait_view_json(session->view, &json);
	report_json_end(report, &json);
}

/* Waits for the reader as long as the lock is good for: a line that is printed later is of no use. A signal
 * ends the wait as well. */
static void await_reader(const redlock_lock *lock)
{
	uint64_t left_ms = redlock_remaining_ms(lock);
	(void)signals_await_fd(STDOUT_FILENO, POLLOUT, left_ms < INT_MAX ? (int)left_ms + 1 : INT_MAX);
}

/* Writes no more at a time than a pipe takes without waiting once it takes anything (pipe(7)). */
static bool write_while_held(const redlock_lock *lock, const char *text, size_t size)
{
	while (size > 0) {
		await_reader(lock);
		if (signals_caught() || redlock_remaining_ms(lock) == 0)
			return false;
		ssize_t written = write(STDOUT_FILENO, text, size < PIPE_BUF ? size : PIPE_BUF);
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		text += written > 0 ? written : 0;
		size -= written > 0 ? (size_t)written : 0;
	}
	return true;
}

/* The token is all that can release the key before its TTL. False: it did not reach the reader in time. */
static bool print_grant(const struct report *report, const struct session *session, const struct grant *grant,
                        const redlock_lock *lock)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (out == NULL)
		return false;
	if (session->settings->json) {
		print_json(out, report, session, grant);
	} else {
		fwrite(grant->token, 1, grant->token_len, out);
		if (grant->fence != 0)
			fprintf(out, " %llu", (unsigned long long)grant->fence);
		if (session->settings->slots > 0)
			fprintf(out, " %u", grant->slot);
		putc('\n', out);
	}
	bool printed = fclose(out) == 0 && write_while_held(lock, text, size);
	free(text);
	return printed;
}

/* Gives a lock back that nobody can use, because a signal came or because the token could not be printed. */
static void give_back(struct session *session, redlock_lock *lock, const char *name)
{
	redlock_release(lock);
	session_drain(session, lock);
	session_warn_lingering(session, name);
}

static int refused(struct session *session, redlock_lock *lock, struct report *report)
{
	const struct settings *settings = session->settings;
	const struct grant none = {.ttl_ms = session_ttl_ms(session, lock)};
	session_drain(session, lock);
	report->token = settings->token;
	report->slots = (unsigned)settings->slots;
	if (!settings->quiet || settings->json || settings->busy_code != EXIT_BUSY)
		report_find_holder(report, session, lock);
	if (report->has_standing)
		wait_view_date(session->view, &report->standing);
	if (settings->json)
		print_json(stdout, report, session, &none);
	if (settings->verbose)
		report_votes(report);
	if (report->result != REDLOCK_E_CANCELLED || !signals_caught())
		report_failure(report, settings);
	session_warn_lingering(session, report->name);
	if (signals_caught() && report->result == REDLOCK_E_CANCELLED)
		return EXIT_SIGNAL + signals_caught();
	bool ends = report->result == REDLOCK_E_BUSY && !report_is_stuck(report);
	return ends ? (int)settings->busy_code : report->outcome.code;
}

/* The lock was granted, and this process could not report it in time: the process was stopped, or the machine
 * was. */
static int too_late(struct session *session, redlock_lock *lock, struct report *report)
{
	redlock_release(lock);
	report_conclude(report, REDLOCK_E_LOST);
	report->outcome.code = EXIT_LOST;
	return refused(session, lock, report);
}

/* Returns the exit code for a lock whose token the reader did not get, or not all of it. */
static int not_told(struct session *session, redlock_lock *lock, const char *name)
{
	const bool ended = redlock_remaining_ms(lock) == 0;
	if (!signals_caught() && ended)
		complain(MSG(TOKEN_LATE));
	else if (!signals_caught())
		complain(MSG(TOKEN_UNREAD));
	give_back(session, lock, name);
	if (signals_caught())
		return EXIT_SIGNAL + signals_caught();
	return ended ? EXIT_LOST : EXIT_INTERNAL;
}

static int granted(struct session *session, redlock_lock *lock, struct report *report)
{
	const struct settings *settings = session->settings;
	struct grant grant = {.ttl_ms = session_ttl_ms(session, lock)};
	if (redlock_lock_token(lock, grant.token, sizeof grant.token, &grant.token_len) < 0) {
		complain(MSG(TOKEN_UNKNOWN));
		give_back(session, lock, report->name);
		return EXIT_INTERNAL;
	}
	messages_never_wait(); /* a lock that is held must be told of, whether or not anybody reads stderr */
	await_reader(lock);
	if (signals_caught())
		return not_told(session, lock, report->name);
	grant.fence = redlock_lock_fence(lock);
	if (settings->slots > 0 && redlock_lock_slot(lock, &grant.slot) < 0)
		return too_late(session, lock, report); /* it was lost meanwhile */
	grant.validity_ms = redlock_remaining_ms(lock);
	if (grant.validity_ms == 0)
		return too_late(session, lock, report);
	if (!print_grant(report, session, &grant, lock))
		return not_told(session, lock, report->name);
	report_duplicates(report, settings);
	if (settings->verbose) {
		report_votes(report);
		say(settings, MSG(VALID), (unsigned long long)grant.validity_ms);
	}
	return EXIT_OK;
}

/* One name with a token of its own or the caller's, one of its slots, or several names. */
static int make(struct session *session, const char *name, redlock_lock **ret)
{
	const struct settings *settings = session->settings;
	struct redlock_lock_options options;
	if (settings->also.count == 0 && settings->slots == 0)
		return session_lock(session, name, settings->token, ret);
	session_lock_options(settings, &options);
	options.slots = (uint32_t)settings->slots;
	options.token = settings->token;
	options.token_len = settings->token != NULL ? strlen(settings->token) : 0;
	return session_lock_all(session, name, &options, ret);
}

static int run(const struct settings *settings, int argc, char **argv)
{
	struct session session;
	redlock_lock *lock = NULL;
	int code = session_open(&session, settings);
	(void)argc;
	if (code == EXIT_OK)
		code = make(&session, argv[0], &lock);
	struct report report;
	struct wait_view view;
	if (code == EXIT_OK) {
		wait_view_begin(&view, settings, argv[0]);
		session.view = &view;
		int result = session_run(&session, lock, REDLOCK_OP_ACQUIRE);
		report_collect(&report, "acquire", argv[0], result, &session, lock);
		if (result == REDLOCK_E_LOST)
			code = too_late(&session, lock, &report);
		else
			code = result == 0 ? granted(&session, lock, &report) : refused(&session, lock, &report);
		redlock_lock_leave(lock);
	}
	session_close(&session);
	return code;
}

const struct command cmd_acquire = {
    .name = "acquire",
    .arguments = "NAME",
    .summary = "take the lock, print its token, leave it held",
    .details =
        "The token is the only output: T=$(redlock acquire job). Nothing renews the lock: it ends after its "
        "TTL, "
        "or by redlock release job \"$T\". With --fence or --slots the number follows the token on the same "
        "line: "
        "read T F. "
        "Without -w and -n, acquire waits for a busy lock without limit.\n",
    .groups = groups,
    .takes_name = true,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
