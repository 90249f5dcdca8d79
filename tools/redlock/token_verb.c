/* SPDX-License-Identifier: MIT */
/* Runs extend, release and check. */
#include "token_verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conflicts.h"
#include "exit_codes.h"
#include "holder.h"
#include "message.h"
#include "report.h"
#include "session.h"
#include "signals.h"
#include "status_slots.h"

/* Whether the node's key is gone for certain: it answered, or the release that follows is settled. */
static bool is_settled(const struct node_report *node)
{
	const struct redlock_node_status *status = &node->status;
	if (!node->detail[0])
		return true;
	return status->connected && status->waiting + status->owed + status->lingering == 0;
}

/* Nodes that deleted the key. One that says that it has none confirms nothing. */
static unsigned confirmed_count(const struct report *report)
{
	unsigned count = 0;
	for (unsigned i = 0; i < report->nodes; i++)
		count += is_settled(&report->node[i]) && report->node[i].vote.code != REDLOCK_VOTE_NO;
	return count;
}

/* The subjects of the command and their results: the name and those of --also. */
struct errand {
	const struct token_verb *verb;
	const struct settings *settings;
	const char *name, *token;
	int slot; /* -1: none */
	int results[1 + REDLOCK_MAX_NAMES];
	uint64_t ttl_ms;      /* that was asked for */
	uint64_t validity_ms; /* of all of them */
};

static void print_names(const struct errand *e, struct json *json)
{
	const struct text_list *also = &e->settings->also;
	if (also->count == 0)
		return;
	json_open(json, "also", '[');
	for (size_t i = 0; i < also->count; i++) {
		json_open(json, NULL, '{');
		json_bytes(json, "name", also->items[i], strlen(also->items[i]));
		json_text(json, "result", redlock_error_name(e->results[i + 1]));
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* How many names of the token were not given. */
static unsigned names_left(const struct errand *e)
{
	unsigned more = holder_more_names(e->token, strlen(e->token)), given = (unsigned)e->settings->also.count;
	return more > given ? more - given : 0;
}

/* A lock of several names is asked for name by name: what was not given stays as it is. */
static void say_names_left(const struct errand *e)
{
	unsigned left = names_left(e);
	if (left > 0 && e->verb->operation != REDLOCK_OP_QUERY)
		say(e->settings, MSG(TOKEN_MORE), e->verb->name, e->name, left, left == 1 ? "" : "s",
		    !e->verb->deletes ? "not extended"
		    : left == 1       ? "held until it is released or its TTL ends"
		                      : "held until they are released or their TTL ends",
		    left == 1 ? "it" : "them");
}

static void print_json(const struct errand *e, const struct report *report)
{
	struct json json;
	json_init(&json, stdout);
	report_json_begin(report, &json);
	print_names(e, &json);
	json_bytes(&json, "token", e->token, strlen(e->token));
	if (names_left(e) > 0)
		json_number(&json, "names_left", names_left(e));
	if (e->settings->slots > 0) {
		json_number(&json, "slots", (int64_t)e->settings->slots);
		json_number_or_null(&json, "slot", e->slot >= 0, e->slot);
	}
	if (e->verb->has_validity) {
		json_number(&json, "ttl_ms", (int64_t)e->ttl_ms);
		json_number(&json, "validity_ms", (int64_t)e->validity_ms);
	}
	if (e->verb->deletes)
		json_number(&json, "confirmed", confirmed_count(report));
	report_json_end(report, &json);
}

static void say_unconfirmed(const struct report *report, const struct settings *settings)
{
	unsigned count = confirmed_count(report);
	say(settings, MSG(CONFIRMED), count, report->nodes);
	for (unsigned i = 0; i < report->nodes; i++)
		if (!is_settled(&report->node[i]))
			say(settings, MSG(UNCONFIRMED), i + 1, report->node[i].status.address, report->node[i].detail);
}

static void print_result(const struct errand *e, const struct report *report)
{
	const struct settings *settings = e->settings;
	if (settings->verbose)
		report_votes(report);
	if (report->result != 0)
		report_failure(report, settings);
	else if (e->verb->has_validity && settings->verbose)
		say(settings, MSG(VALID), (unsigned long long)e->validity_ms);
	if (e->verb->deletes && report->outcome.code <= EXIT_NO && settings->verbose)
		say_unconfirmed(report, settings);
}

/* The library's result is that of a node timeout. Answers that were waited for after it settle what it left
 * open. */
static int settled(const struct session *session, const redlock_lock *lock, int result)
{
	unsigned quorum = redlock_quorum(session->client);
	unsigned deleted = 0, missing = 0;
	struct redlock_vote vote = {.size = sizeof vote};
	for (unsigned i = 0; i < redlock_node_count(session->client); i++)
		if (redlock_lock_vote(lock, i, &vote) == 0) {
			deleted += vote.code == REDLOCK_VOTE_YES;
			missing += vote.code == REDLOCK_VOTE_NO;
		}
	if (result != REDLOCK_E_NOQUORUM || (deleted < quorum && missing < quorum))
		return result;
	return deleted >= quorum ? 0 : REDLOCK_E_GONE;
}

/* ---- of what it is the token instead ---- */

/* Whether it is the output of acquire with --fence or --slots: the token, and one number or two after it. */
static bool has_number(const char *token)
{
	size_t length = strcspn(token, " ");
	const char *number = token + length;
	return holder_made_here(token, length) && number[0] != '\0' && number[1] != '\0' &&
	       strspn(number, " 0123456789") == strlen(number);
}

static void find_instead(struct report *report, struct session *session, const struct errand *e)
{
	struct status_slots slots;
	bool asked = report->has_standing && report->result == REDLOCK_E_GONE;
	if (asked && has_number(report->token)) {
		snprintf(report->instead, sizeof report->instead,
		         "a number follows the token: give the token alone, ${T%%%% *} in a shell");
		return;
	}
	if (!asked || e->settings->shared || e->settings->slots > 0)
		return;
	bool by_time = e->settings->compat == REDLOCK_COMPAT_SETNX;
	if (by_time && standing_count(&report->standing, report->token, strlen(report->token)) > 0) {
		snprintf(report->instead, sizeof report->instead,
		         "that is the time at which the lock ends, not a token: give the token that acquire printed");
		return;
	}
	if (standing_count_sharing(&report->standing, report->token) > 0) {
		snprintf(report->instead, sizeof report->instead, "it shares the lock with this token: use --shared");
		return;
	}
	status_slots_read(&slots, session, e->settings, report->name);
	int slot = status_slots_find(&slots, report->token);
	if (slot > 0)
		snprintf(report->instead, sizeof report->instead, "slot %d is held by this token: use --slots %u",
		         slot, slots.count);
	status_slots_end(&slots);
}

/* ---- one name after the other ---- */

/* Returns an exit code; true in `ret_told` if there is a report. */
static int ask(struct errand *e, struct session *session, const char *name, struct report *report,
               bool *ret_told)
{
	const struct token_verb *verb = e->verb;
	redlock_lock *lock = NULL;
	unsigned slot = e->slot > 0 ? (unsigned)e->slot : 0;
	int code = session_lock_slot(session, name, e->token, slot, &lock);
	*ret_told = code == EXIT_OK;
	if (code != EXIT_OK)
		return code;
	int result = session_run(session, lock, verb->operation);
	if (verb->has_validity)
		e->ttl_ms = session_ttl_ms(session, lock);
	if (verb->deletes) {
		session_drain(session, lock);
		result = settled(session, lock, result);
	}
	uint64_t validity_ms = verb->has_validity ? redlock_remaining_ms(lock) : 0;
	if (verb->has_validity && result == 0 && validity_ms == 0)
		result = REDLOCK_E_LOST; /* while this process was stopped */
	e->validity_ms = validity_ms < e->validity_ms ? validity_ms : e->validity_ms;
	report_collect(report, verb->name, name, result, session, lock);
	report->token = e->token;
	if (!e->settings->quiet || e->settings->json)
		report_find_holder(report, session, lock);
	find_instead(report, session, e);
	bool ended = result == REDLOCK_E_CANCELLED && signals_caught();
	if (!ended)
		print_result(e, report);
	if (verb->deletes && (session->value_returns || report->outcome.code > EXIT_NO))
		session_warn_lingering(session, name);
	redlock_lock_leave(lock);
	return ended ? EXIT_SIGNAL + signals_caught() : report->outcome.code;
}

/* All of them, also when one fails: the first that does is told of. */
static int ask_names(struct errand *e, struct session *session)
{
	const struct text_list *also = &e->settings->also;
	struct report first, report;
	bool told = false, more = true;
	int code = EXIT_OK;
	for (size_t i = 0; more && i <= also->count; i++) {
		const char *name = i == 0 ? e->name : also->items[i - 1];
		int its = ask(e, session, name, &report, &more);
		e->results[i] = more ? report.result : REDLOCK_E_INVAL;
		if (more && (!told || (code == EXIT_OK && its != EXIT_OK)))
			first = report;
		told |= more;
		code = code == EXIT_OK ? its : code;
		more &= its < EXIT_SIGNAL;
	}
	if (code == EXIT_OK)
		say_names_left(e);
	if (told && e->settings->json && code < EXIT_SIGNAL)
		print_json(e, &first);
	return code;
}

/* ---- slots ---- */

/* On how many nodes the slot has the token. Returns an exit code. */
static int count_nodes(const struct errand *e, struct session *session, unsigned slot, unsigned *ret)
{
	struct standing standing;
	redlock_lock *lock = NULL;
	int code = session_lock_slot(session, e->name, e->token, slot, &lock);
	if (code != EXIT_OK)
		return code;
	(void)session_run(session, lock, REDLOCK_OP_QUERY);
	standing_read(&standing, session, lock);
	redlock_lock_leave(lock);
	*ret = standing_count(&standing, e->token, strlen(e->token));
	return EXIT_OK;
}

/* The slot that has the token on most nodes: each is a lock of its own. */
static int ask_slot(struct errand *e, struct session *session)
{
	struct report report;
	unsigned most = 0, nodes = 0, quorum = redlock_quorum(session->client);
	bool told;
	int code = EXIT_OK;
	for (unsigned i = 0; i < e->settings->slots && most < quorum && !signals_caught(); i++) {
		code = count_nodes(e, session, i, &nodes);
		if (code != EXIT_OK)
			return code;
		if (nodes > most)
			e->slot = (int)i;
		most = nodes > most ? nodes : most;
	}
	code = ask(e, session, e->name, &report, &told);
	if (told && e->settings->json && code < EXIT_SIGNAL)
		print_json(e, &report);
	return code;
}

int token_verb_run(const struct token_verb *verb, const struct settings *given, char **argv)
{
	struct session session;
	struct settings settings = *given;
	struct errand e = {.verb = verb, .settings = &settings, .name = argv[0], .token = argv[1], .slot = -1};
	settings.wait_ms = 0; /* one attempt: records that nodes do not tell by then are not waited for */
	e.ttl_ms = settings.ttl_ms;
	e.validity_ms = verb->has_validity ? UINT64_MAX : 0;
	if (conflicts_of_names(&settings, e.name))
		return EXIT_USAGE;
	int code = session_open(&session, &settings);
	if (code == EXIT_OK)
		code = settings.slots > 0 ? ask_slot(&e, &session) : ask_names(&e, &session);
	session_close(&session);
	return code;
}
