/* SPDX-License-Identifier: MIT */
/* redlock status NAME: what each node has, and what that means together. */
#include <stdio.h>
#include <string.h>

#include "exit_codes.h"
#include "holder.h"
#include "message.h"
#include "report.h"
#include "session.h"
#include "signals.h"
#include "status.h"

enum state { STATE_FREE, STATE_HELD, STATE_SPLIT, STATE_LEFTOVER, STATE_UNKNOWN };

static const char *const state_names[] = {
    [STATE_FREE] = "free",         [STATE_HELD] = "held",       [STATE_SPLIT] = "split",
    [STATE_LEFTOVER] = "leftover", [STATE_UNKNOWN] = "unknown",
};

struct picture {
	struct report report;
	struct redlock_finding finding[REDLOCK_MAX_NODES];
	enum state state;
	unsigned known;   /* nodes that answered */
	unsigned free;    /* of these, without a key */
	unsigned holders; /* different things under the name */
	unsigned most;    /* nodes that have the most frequent one */
	unsigned best;    /* one of these nodes */
	unsigned endless; /* keys without expiry */
};

/* ---- From findings to a verdict ---- */

static void count_node(struct picture *picture, unsigned index)
{
	const struct redlock_finding *finding = &picture->finding[index];
	unsigned same = 0;
	bool first = true;

	if (!finding->known)
		return;
	picture->known++;
	if (holder_kind_of(finding) == HOLDER_NONE) {
		picture->free++;
		return;
	}
	picture->endless += finding->pttl_ms == -1;
	for (unsigned i = 0; i < picture->report.nodes; i++)
		if (holder_same(finding, &picture->finding[i])) {
			same++;
			first = first && i >= index;
		}
	picture->holders += first;
	if (same > picture->most) {
		picture->most = same;
		picture->best = index;
	}
}

static enum state judge(const struct picture *picture)
{
	if (picture->most >= picture->report.quorum)
		return STATE_HELD;
	if (picture->known < picture->report.quorum)
		return STATE_UNKNOWN;
	if (picture->holders == 0)
		return STATE_FREE;
	return picture->holders == 1 ? STATE_LEFTOVER : STATE_SPLIT;
}

static void look(struct picture *picture, redlock_lock *lock)
{
	for (unsigned i = 0; i < picture->report.nodes; i++)
		if (redlock_lock_finding(lock, i, &picture->finding[i]) < 0)
			memset(&picture->finding[i], 0, sizeof(picture->finding[i]));
	for (unsigned i = 0; i < picture->report.nodes; i++)
		count_node(picture, i);
	picture->state = judge(picture);
}

/* ---- Text ---- */

static const char *life_text(int64_t pttl_ms, char *buffer, size_t size)
{
	if (pttl_ms < 0)
		snprintf(buffer, size, "no expiry");
	else
		snprintf(buffer, size, "expires in %.1f s", (double)pttl_ms / 1000);
	return buffer;
}

static void verdict_text(const struct picture *picture, char *buffer, size_t size)
{
	const struct report *report = &picture->report;
	char holder[HOLDER_TEXT_MAX];

	holder_text(&picture->finding[picture->best], holder, sizeof(holder));
	switch (picture->state) {
	case STATE_FREE:
		snprintf(buffer, size, "free");
		break;
	case STATE_HELD:
		snprintf(buffer, size, "held by %s on %u of %u nodes", holder, picture->most, report->nodes);
		break;
	case STATE_SPLIT:
		snprintf(buffer, size,
		         "split: %u different holders, none on a quorum (%u of %u); it resolves by retries or TTL",
		         picture->holders, report->quorum, report->nodes);
		break;
	case STATE_LEFTOVER:
		snprintf(buffer, size, "held by nobody: a leftover of %s on %u of %u nodes, which %s", holder,
		         picture->most, report->nodes,
		         picture->free >= report->quorum ? "blocks nobody" : "blocks others until it expires");
		break;
	case STATE_UNKNOWN:
		snprintf(buffer, size, "unknown: %u of %u nodes answered, %u are needed", picture->known,
		         report->nodes, report->quorum);
		break;
	}
}

static const char endless_warning[] = "no expiry: it blocks until somebody deletes it";

static const char *node_text(const struct picture *picture, unsigned index, char *buffer, size_t size)
{
	const struct redlock_finding *finding = &picture->finding[index];
	const struct node_report *node = &picture->report.node[index];
	char holder[HOLDER_TEXT_MAX], life[48];

	if (!finding->known)
		return node->detail[0] ? node->detail : redlock_vote_text(node->vote.code);
	if (holder_kind_of(finding) == HOLDER_NONE)
		return "no key";
	snprintf(buffer, size, "%s: %s, %s", finding->type, holder_text(finding, holder, sizeof(holder)),
	         life_text(finding->pttl_ms, life, sizeof(life)));
	return buffer;
}

static void print_text(const struct picture *picture)
{
	const struct report *report = &picture->report;
	char name[PRINTABLE_MAX], verdict[HOLDER_TEXT_MAX + 160], text[HOLDER_TEXT_MAX + 80];

	verdict_text(picture, verdict, sizeof(verdict));
	put_line("%s: %s", printable(report->name, strlen(report->name), name, sizeof(name)), verdict);
	for (unsigned i = 0; i < report->nodes; i++)
		put_line("  node %u %s: %s", i + 1, report->node[i].status.address,
		         node_text(picture, i, text, sizeof(text)));
	if (picture->endless > 0)
		put_line("warning: on %u node%s %s", picture->endless, picture->endless == 1 ? "" : "s",
		         endless_warning);
}

/* ---- JSON ---- */

static void json_holder(const struct picture *picture, struct json *json)
{
	const struct redlock_finding *best = &picture->finding[picture->best];
	const char *owner;
	size_t length = 0;

	json_text(json, "state", state_names[picture->state]);
	json_text(json, "kind", holder_kind_name(picture->most ? holder_kind_of(best) : HOLDER_NONE));
	if (picture->state == STATE_HELD && (owner = holder_owner(best, &length)) != NULL)
		json_bytes(json, "owner", owner, length);
	else
		json_null(json, "owner");
	if (picture->state == STATE_HELD && strcmp(best->type, "string") == 0)
		json_bytes(json, "token", best->value, best->value_kept);
	else
		json_null(json, "token");
	json_number(json, "held_on", picture->most);
	json_bool(json, "blocks_for_ever", picture->endless > 0);
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
}

static void print_json(const struct picture *picture)
{
	const struct report *report = &picture->report;
	struct json json;

	json_init(&json, stdout);
	report_json_begin(report, &json);
	json_holder(picture, &json);
	json_number(&json, "quorum", report->quorum);
	json_open(&json, "nodes", '[');
	for (unsigned i = 0; i < report->nodes; i++) {
		json_open(&json, NULL, '{');
		report_json_node(report, i, &json);
		json_finding(&picture->finding[i], &json);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

/* ---- The command ---- */

static int show(struct picture *picture, const struct settings *settings)
{
	if (settings->json)
		print_json(picture);
	else
		print_text(picture);
	if (settings->verbose)
		report_votes(&picture->report);
	if (picture->report.result != 0)
		report_failure(&picture->report, settings);
	return picture->report.exit_code;
}

int status_of_name(const struct settings *settings, const char *name)
{
	struct picture picture = {.known = 0};
	struct session session;
	redlock_lock *lock = NULL;
	int code = session_open(&session, settings);

	if (code == EXIT_OK)
		code = session_lock(&session, name, NULL, &lock);
	if (code == EXIT_OK) {
		int result = session_run(&session, lock, REDLOCK_OP_QUERY);

		/* GONE: a quorum answered, and this handle's token, which it does not have, is nowhere. */
		if (result == REDLOCK_E_GONE)
			result = 0;
		report_collect(&picture.report, "status", name, result, &session, lock);
		if (result == REDLOCK_E_CANCELLED && signals_caught()) {
			code = EXIT_SIGNAL + signals_caught();
		} else {
			look(&picture, lock);
			code = show(&picture, settings);
		}
		redlock_lock_free(lock);
	}
	session_close(&session);
	return code;
}
