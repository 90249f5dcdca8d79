/* SPDX-License-Identifier: MIT */
/* redlock status NAME: what each node has, and what that means together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_codes.h"
#include "fence_number.h"
#include "guard_view.h"
#include "message.h"
#include "printable.h"
#include "report.h"
#include "session.h"
#include "side_key.h"
#include "signals.h"
#include "standing.h"
#include "status.h"
#include "status_slots.h"

/* ---- fencing numbers, and the queue ---- */

enum { ASK_FENCE, ASK_QUEUE, ASKS };

static void take_sides(struct status_picture *picture, const struct redlock_question *q)
{
	const struct redlock_reply *fence = q[ASK_FENCE].reply, *queue = q[ASK_QUEUE].reply;
	if (fence != NULL && fence->kind == REDLOCK_REPLY_STRING)
		picture->fence[q->node] = strtoull(fence->text, NULL, 10);
	if (queue == NULL || queue->kind != REDLOCK_REPLY_INTEGER || queue->integer < 0)
		return;
	int64_t waiting = (int64_t)side_key_waiters((uint64_t)queue->integer);
	picture->waiting = waiting > picture->waiting ? waiting : picture->waiting;
}

/* Asks the nodes that have answered: the others would only be waited for. */
static void ask_sides(struct status_picture *picture, redlock_asker *asker, const char *fence,
                      const char *queue, uint64_t timeout_ms)
{
	const char *const get[] = {"GET", fence}, *const length[] = {"STRLEN", queue};
	const char *const *const commands[ASKS] = {[ASK_FENCE] = get, [ASK_QUEUE] = length};
	struct redlock_question list[REDLOCK_MAX_NODES * ASKS];
	size_t count = 0;
	for (unsigned i = 0; i < picture->report.nodes; i++)
		for (size_t k = 0; picture->standing.finding[i].known && k < ASKS; k++)
			list[count++] = (struct redlock_question){
			    .size = sizeof(struct redlock_question), .node = i, .argc = 2, .argv = commands[k]};
	if (redlock_ask(asker, list, count, timeout_ms) < 0)
		return;
	for (size_t i = 0; i < count; i += ASKS)
		take_sides(picture, &list[i]);
}

static void read_sides(struct status_picture *picture, const struct session *session,
                       const struct settings *settings, const char *name)
{
	char *fence = side_key_new(settings->prefix, name, "fence");
	char *queue = side_key_new(settings->prefix, name, "queue");
	redlock_asker *asker = NULL;
	memset(picture->fence, 0, sizeof picture->fence);
	picture->waiting = -1;
	if (fence != NULL && queue != NULL && redlock_asker_open(session->client, &asker) == 0)
		ask_sides(picture, asker, fence, queue, session->node_timeout_ms);
	redlock_asker_close(asker);
	free(fence);
	free(queue);
}

static uint64_t last_number(const struct status_picture *picture)
{
	return fence_number_of(picture->fence, picture->report.nodes, picture->report.quorum);
}

/* ---- quarantine ---- */

static void read_records(struct status_picture *picture, const struct session *session)
{
	struct guard_record records[REDLOCK_MAX_NODES] = {0};
	redlock_asker *asker = NULL;
	uint64_t answering = 0, left_ms;
	for (unsigned i = 0; i < picture->report.nodes; i++)
		answering |= (uint64_t)picture->standing.finding[i].known << i;
	if (redlock_asker_open(session->client, &asker) == 0 &&
	    guard_record_read(asker, records, picture->report.nodes, answering, session->node_timeout_ms) >= 0) {
		uint64_t forgetful = guard_view_forgetful(session, records, &left_ms);
		standing_doubt(&picture->standing, forgetful, left_ms);
		guard_move_warn(records, &picture->report, session->settings);
	}
	redlock_asker_close(asker);
	guard_record_free(records, picture->report.nodes);
}

/* ---- text ---- */

static const char *life_text(int64_t pttl_ms, char *buffer, size_t size)
{
	if (pttl_ms < 0)
		snprintf(buffer, size, "no expiry");
	else
		snprintf(buffer, size, "expires in %.1f s", (double)pttl_ms / 1000);
	return buffer;
}

/* A node tells how many share a lock, and the tokens of some of them: at most 24, in 1024 bytes, where the
 * last token may be cut off. */
static uint64_t tokens_shown(const struct redlock_finding *finding)
{
	uint64_t shown = finding->value_kept < sizeof finding->value;
	for (size_t i = 0; i < finding->value_kept; i++)
		shown += finding->value[i] == ' ';
	return shown;
}

static uint64_t tokens_not_shown(const struct redlock_finding *finding)
{
	uint64_t shown = tokens_shown(finding);
	return finding->value_len > shown ? finding->value_len - shown : 0;
}

static const char *node_text(const struct status_picture *picture, unsigned index, char *buffer, size_t size)
{
	const struct redlock_finding *finding = &picture->standing.finding[index];
	const struct node_report *node = &picture->report.node[index];
	if (!finding->known)
		return node->detail[0] ? node->detail : redlock_vote_text(node->vote.code);
	if (holder_kind_of(finding) == HOLDER_NONE)
		return "no key";
	char holder[HOLDER_TEXT_MAX];
	holder_text(finding, holder, sizeof holder);
	char life[48];
	life_text(finding->pttl_ms, life, sizeof life);
	if (holder_kind_of(finding) == HOLDER_TYPE) /* its words name the type */
		snprintf(buffer, size, "%s, %s", holder, life);
	else
		snprintf(buffer, size, "%s: %s, %s", finding->type, holder, life);
	return buffer;
}

/* Warns of keys without expiry by what they cause: one on a minority of nodes blocks nobody. */
static void warn_endless(const struct standing *standing)
{
	const char *plural = standing->endless == 1 ? "" : "s";
	if (standing_blocks_for_ever(standing))
		put_line(STANDING_TEXT_BLOCKS, standing->endless, plural);
	else if (standing->endless > 0)
		put_line(STANDING_TEXT_ENDLESS, standing->endless, plural);
}

/* The lines of the nodes tell the number of holders; the tokens are those in JSON. */
static void tell_not_shown(const struct standing *standing)
{
	const struct redlock_finding *best = &standing->finding[standing->best];
	if (standing_is_shared(standing) && tokens_not_shown(best) > 0)
		put_line("  --json shows the tokens of %" PRIu64 " holders, not those of the other %" PRIu64,
		         tokens_shown(best), tokens_not_shown(best));
}

void status_print(struct status_picture *picture)
{
	const struct report *report = &picture->report;
	char name[PRINTABLE_MAX], verdict[STANDING_TEXT_MAX];
	put_line("%s: %s", printable(report->name, strlen(report->name), name, sizeof name),
	         standing_text(&picture->standing, verdict, sizeof verdict));
	if (last_number(picture) > 0)
		put_line("  the last fencing number: %" PRIu64, last_number(picture));
	if (picture->waiting > 0)
		put_line("  clients that wait: %" PRId64, picture->waiting);
	char text[HOLDER_TEXT_MAX + 80];
	for (unsigned i = 0; i < report->nodes; i++)
		put_line("  node %u %s: %s", i + 1, report->node[i].status.address,
		         node_text(picture, i, text, sizeof text));
	tell_not_shown(&picture->standing);
	status_slots_print(&picture->slots);
	warn_endless(&picture->standing);
	status_rivals_print(picture);
}

/* ---- JSON ---- */

static void json_holder(const struct standing *standing, struct json *json)
{
	const struct redlock_finding *best = &standing->finding[standing->best];
	bool held = standing->state == STANDING_HELD;
	size_t length = 0;
	json_text(json, "state", standing_name(standing->state));
	json_text(json, "kind", holder_kind_name(standing->most ? holder_kind_of(best) : HOLDER_NONE));
	const char *owner;
	if (held && (owner = holder_owner(best, &length)) != NULL)
		json_bytes(json, "owner", owner, length);
	else
		json_null(json, "owner");
	if (held && strcmp(best->type, "string") == 0)
		json_bytes(json, "token", best->value, best->value_kept);
	else
		json_null(json, "token");
	json_number(json, "held_on", standing->most);
	json_bool(json, "blocks_for_ever", standing_blocks_for_ever(standing));
	json_number(json, "in_quarantine", standing->forgetful);
}

/* Tokens that are not plain text are in the value alone. */
static void json_tokens(const struct redlock_finding *finding, struct json *json)
{
	const char *at = finding->value, *end = at + finding->value_kept;
	uint64_t shown = tokens_shown(finding);
	for (const char *c = at; c < end; c++) {
		if (*c < ' ' || *c > '~') {
			json_null(json, "tokens");
			return;
		}
	}
	json_open(json, "tokens", '[');
	for (uint64_t i = 0; i < shown; i++) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));
		const char *stop = blank != NULL ? blank : end;
		json_bytes(json, NULL, at, (size_t)(stop - at));
		at = blank != NULL ? blank + 1 : end;
	}
	json_close(json, ']');
}

static void json_finding(const struct redlock_finding *finding, struct json *json)
{
	if (!finding->known) {
		json_null(json, "type");
		return;
	}
	json_text(json, "type", finding->type);
	json_number(json, "pttl_ms", finding->pttl_ms);
	if (holder_kind_of(finding) == HOLDER_NONE)
		return;
	json_text(json, "kind", holder_kind_name(holder_kind_of(finding)));
	json_bytes(json, "value", finding->value, finding->value_kept);
	json_number(json, "value_len", (int64_t)finding->value_len);
	if (holder_kind_of(finding) == HOLDER_SHARED) {
		json_tokens(finding, json);
		json_number(json, "not_shown", (int64_t)tokens_not_shown(finding));
	}
}

/* Nobody has voted: whose key a node has says nothing of what the node is willing to do. */
static const char *answer_word(const struct status_picture *picture, unsigned index)
{
	const struct redlock_finding *finding = &picture->standing.finding[index];
	if (!finding->known)
		return redlock_vote_name(picture->report.node[index].vote.code);
	return holder_kind_of(finding) == HOLDER_NONE ? "free" : "held";
}

/* The numbers of the nodes that another client than the holder keeps its key on. */
static void json_rivals(const struct status_picture *picture, struct json *json)
{
	uint64_t on = status_rivals_on(picture);
	json_open(json, "rival_on", '[');
	for (unsigned i = 0; i < picture->report.nodes; i++)
		if ((on >> i & 1) != 0)
			json_number(json, NULL, (int64_t)i + 1);
	json_close(json, ']');
}

static void print_json(struct status_picture *picture)
{
	const struct report *report = &picture->report;
	struct json json;
	json_init(&json, stdout);
	report_json_begin(report, &json);
	json_holder(&picture->standing, &json);
	json_number_or_null(&json, "fence", last_number(picture) > 0, (int64_t)last_number(picture));
	json_number_or_null(&json, "waiting", picture->waiting >= 0, picture->waiting);
	status_slots_json(&picture->slots, &picture->standing, &json);
	json_number(&json, "quorum", report->quorum);
	json_rivals(picture, &json);
	json_open(&json, "nodes", '[');
	for (unsigned i = 0; i < report->nodes; i++) {
		json_open(&json, NULL, '{');
		report_json_node_as(report, i, "answer", answer_word(picture, i), &json);
		json_finding(&picture->standing.finding[i], &json);
		json_number_or_null(&json, "fence", picture->fence[i] > 0, (int64_t)picture->fence[i]);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

/* ---- the command ---- */

static int show(struct status_picture *picture, const struct settings *settings)
{
	if (settings->json)
		print_json(picture);
	else
		status_print(picture);
	if (settings->verbose)
		report_votes(&picture->report);
	if (picture->report.result != 0)
		report_failure(&picture->report, settings);
	return picture->report.outcome.code;
}

int status_read(struct status_picture *picture, struct session *session, const char *name)
{
	redlock_lock *lock = NULL;
	picture->rivals = (struct rivals){0};
	int code = session_lock(session, name, NULL, &lock);
	if (code != EXIT_OK)
		return code;
	int result = session_run(session, lock, REDLOCK_OP_QUERY);
	/* GONE: a quorum answered, and this handle's token, which it does not have, is nowhere. */
	if (result == REDLOCK_E_GONE)
		result = 0;
	report_collect(&picture->report, "status", name, result, session, lock);
	if (result == REDLOCK_E_CANCELLED && signals_caught()) {
		code = EXIT_SIGNAL + signals_caught();
	} else {
		standing_read(&picture->standing, session, lock);
		read_records(picture, session);
		read_sides(picture, session, session->settings, name);
		status_slots_read(&picture->slots, session, session->settings, name);
	}
	redlock_lock_free(lock);
	return code;
}

void status_end(struct status_picture *picture)
{
	status_slots_end(&picture->slots);
}

int status_of_name(const struct settings *settings, const char *name)
{
	struct session session;
	struct status_picture picture;
	struct settings own = *settings;
	own.wait_ms = 0; /* one attempt: records that nodes do not tell by then are not waited for */
	int code = session_open(&session, &own);
	if (code == EXIT_OK)
		code = status_read(&picture, &session, name);
	if (code == EXIT_OK) {
		status_find_rivals(&picture, &session, name);
		code = signals_caught() ? EXIT_SIGNAL + signals_caught() : show(&picture, settings);
		status_end(&picture);
	}
	session_close(&session);
	return code;
}
