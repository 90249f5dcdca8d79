/* SPDX-License-Identifier: MIT */
/* Runs extend, release and check. */
#include "token_verb.h"

#include <string.h>

#include "exit_codes.h"
#include "message.h"
#include "report.h"
#include "session.h"
#include "signals.h"

/* Whether the node's key is gone for certain: it answered, or the release behind it is settled. */
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

static void print_json(const struct token_verb *verb, const struct report *report,
                       const struct settings *settings, const char *token, uint64_t validity_ms)
{
	struct json json;
	json_init(&json, stdout);
	report_json_begin(report, &json);
	json_bytes(&json, "token", token, strlen(token));
	if (verb->has_validity) {
		json_number(&json, "ttl_ms", (int64_t)settings->ttl_ms);
		json_number(&json, "validity_ms", (int64_t)validity_ms);
	}
	if (verb->deletes)
		json_number(&json, "confirmed", confirmed_count(report));
	report_json_end(report, &json);
}

static void say_unconfirmed(const struct report *report, const struct settings *settings)
{
	unsigned count = confirmed_count(report);
	say(settings, "confirmed by %u of %u nodes", count, report->nodes);
	for (unsigned i = 0; i < report->nodes; i++)
		if (!is_settled(&report->node[i]))
			say(settings, "node %u %s did not confirm and may keep the key until its TTL ends: %s", i + 1,
			    report->node[i].status.address, report->node[i].detail);
}

static void print_result(const struct token_verb *verb, const struct report *report,
                         const struct settings *settings, const char *token, uint64_t validity_ms)
{
	if (settings->json)
		print_json(verb, report, settings, token, validity_ms);
	if (settings->verbose)
		report_votes(report);
	if (report->result != 0)
		report_failure(report, settings);
	else if (verb->has_validity && settings->verbose)
		say(settings, "valid for %llu ms", (unsigned long long)validity_ms);
	if (verb->deletes && report->outcome.code <= EXIT_NO && settings->verbose)
		say_unconfirmed(report, settings);
}

/* The library's result is that of a node timeout. Answers that were waited for after it settle what it left
 * open. */
static int settled(const struct session *session, const redlock_lock *lock, int result)
{
	const unsigned quorum = redlock_quorum(session->client);
	unsigned deleted = 0, missing = 0;
	struct redlock_vote vote;
	for (unsigned i = 0; i < redlock_node_count(session->client); i++)
		if (redlock_lock_vote(lock, i, &vote) == 0) {
			deleted += vote.code == REDLOCK_VOTE_YES;
			missing += vote.code == REDLOCK_VOTE_NO;
		}
	if (result != REDLOCK_E_NOQUORUM || (deleted < quorum && missing < quorum))
		return result;
	return deleted >= quorum ? 0 : REDLOCK_E_GONE;
}

int token_verb_run(const struct token_verb *verb, const struct settings *settings, char **argv)
{
	struct session session;
	redlock_lock *lock = NULL;
	int code = session_open(&session, settings);
	if (code == EXIT_OK)
		code = session_lock(&session, argv[0], argv[1], &lock);
	struct report report;
	if (code == EXIT_OK) {
		int result = session_run(&session, lock, verb->operation);
		if (verb->deletes) {
			session_drain(&session, lock);
			result = settled(&session, lock, result);
		}
		uint64_t validity_ms = verb->has_validity ? redlock_remaining_ms(lock) : 0;
		if (verb->has_validity && result == 0 && validity_ms == 0)
			result = REDLOCK_E_LOST; /* while this process was stopped */
		report_collect(&report, verb->name, argv[0], result, &session, lock);
		report.token = argv[1];
		if (!settings->quiet || settings->json)
			report_find_holder(&report, &session, lock);
		code = report.outcome.code;
		if (result == REDLOCK_E_CANCELLED && signals_caught())
			code = EXIT_SIGNAL + signals_caught();
		else
			print_result(verb, &report, settings, argv[1], validity_ms);
		if (verb->deletes && (session.value_returns || report.outcome.code > EXIT_NO))
			session_warn_lingering(&session, argv[0]);
		redlock_lock_leave(lock);
	}
	session_close(&session);
	return code;
}
