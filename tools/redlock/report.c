/* SPDX-License-Identifier: MIT */
/* The result of an operation, node by node. */
#include "report.h"

#include <errno.h>
#include <string.h>

#include "exit_codes.h"
#include "lacks.h"
#include "message.h"
#include "printable.h"
#include "scheme.h"

bool report_is_definite(const struct node_report *node)
{
	enum redlock_vote_kind kind = redlock_vote_kind(node->vote.code);
	return kind == REDLOCK_KIND_YES || kind == REDLOCK_KIND_NO;
}

bool report_is_protected(const struct node_report *node)
{
	return outcome_is_protected(node->vote.code, node->status.last_error);
}

static void collect_node(struct node_report *node, unsigned index, struct session *session,
                         redlock_lock *lock)
{
	*node = (struct node_report){.status.size = sizeof node->status, .vote.size = sizeof node->vote};
	if (redlock_node_status(session->client, index, &node->status) < 0)
		node->status.address[0] = '?';
	if (redlock_lock_vote(lock, index, &node->vote) < 0)
		node->vote.code = REDLOCK_VOTE_PENDING;
	if (report_is_definite(node))
		return;
	/* A member that is a replica refuses to be admitted, and would stay in quarantine for ever. */
	if (node->vote.code == REDLOCK_VOTE_QUARANTINE && node->status.last_failure == REDLOCK_VOTE_READONLY)
		node->vote.code = REDLOCK_VOTE_READONLY;
	if (report_is_protected(node)) {
		snprintf(node->detail, sizeof node->detail, "%s", outcome_protected_text);
		return;
	}
	char shown[sizeof node->status.last_error + 1];
	const char *error =
	    printable(node->status.last_error, strlen(node->status.last_error), shown, sizeof shown);
	snprintf(node->detail, sizeof node->detail, "%s%s%s", redlock_vote_text(node->vote.code),
	         *error ? ": " : "", error);
}

/* All nodes that could not be reached: for want of a descriptor here, which is no fault of theirs. */
static bool lacks_descriptors(const struct report *report)
{
	bool lacks = false;
	for (unsigned i = 0; i < report->nodes; i++) {
		const char *error = report->node[i].status.last_error;
		if (report->node[i].vote.code != REDLOCK_VOTE_DOWN)
			continue;
		lacks = strcmp(error, strerror(EMFILE)) == 0 || strcmp(error, strerror(ENFILE)) == 0;
		if (!lacks)
			break;
	}
	return lacks;
}

void report_conclude(struct report *report, int result)
{
	report->result = result;
	report->answered = 0;
	struct redlock_vote votes[REDLOCK_MAX_NODES];
	for (unsigned i = 0; i < report->nodes; i++) {
		votes[i] = report->node[i].vote;
		report->answered += report_is_definite(&report->node[i]);
	}
	report->outcome = outcome_of(result, votes, report->nodes);
	unsigned refused = 0, protected = 0;
	for (unsigned i = 0; i < report->nodes; i++) {
		refused += votes[i].code == REDLOCK_VOTE_AUTH;
		protected += report_is_protected(&report->node[i]);
	}
	if (report->outcome.code == EXIT_AUTH && protected > 0 && protected == refused)
		report->outcome = outcome_protected;
	if (report->outcome.code == EXIT_NOQUORUM && lacks_descriptors(report))
		report->outcome = outcome_descriptors;
}

/* An attempt ends as soon as no quorum is possible any more. A node that had not answered by then is not
 * slow, and the message must not read as if it were. */
static void explain_unawaited(struct report *report)
{
	unsigned possible = 0;
	for (unsigned i = 0; i < report->nodes; i++)
		possible += report->node[i].vote.code == REDLOCK_VOTE_PENDING ||
		            redlock_vote_kind(report->node[i].vote.code) == REDLOCK_KIND_YES;
	for (unsigned i = 0; i < report->nodes && possible < report->quorum; i++) {
		struct node_report *node = &report->node[i];
		if (node->vote.code == REDLOCK_VOTE_PENDING)
			snprintf(node->detail, sizeof node->detail,
			         "not waited for, as its vote could not have made a quorum");
	}
}

void report_collect(struct report *report, const char *verb, const char *name, int result,
                    struct session *session, redlock_lock *lock)
{
	report->verb = verb;
	report->name = name;
	report->busy_name = NULL;
	report->slots = 0;
	report->nodes = redlock_node_count(session->client);
	report->quorum = redlock_quorum(session->client);
	report->token = NULL;
	report->instead[0] = report->unread[0] = report->lacks[0] = '\0';
	report->has_standing = false;
	for (unsigned i = 0; i < report->nodes; i++)
		collect_node(&report->node[i], i, session, lock);
	if (result == REDLOCK_E_NOQUORUM)
		explain_unawaited(report);
	if (result == REDLOCK_E_NOQUORUM && name != NULL) {
		scheme_look(report, session);
		lacks_look(report, session);
	}
	for (unsigned i = 0; i < report->nodes; i++)
		if (report->node[i].vote.code == REDLOCK_VOTE_SERVICE)
			session->keyless |= 1U << i;
	report_conclude(report, result);
	/* The quorum of a name that moves is of both sets, so a guarded one among them gives no vote. */
	bool is_foreign = strcmp(report->outcome.reason, redlock_vote_name(REDLOCK_VOTE_FOREIGN)) == 0;
	if (session->settings->joining != NULL && is_foreign)
		report->outcome.hint = outcome_joining;
}

/* Why a node did not answer the question whose key it has; a right that the user lacks goes first. */
static void note_unread(struct report *report, struct session *session, redlock_lock *lock)
{
	struct node_report node;
	for (unsigned i = 0; i < report->nodes; i++) {
		if (report->standing.finding[i].known)
			continue;
		collect_node(&node, i, session, lock);
		if (node.vote.code == REDLOCK_VOTE_NOPERM || report->unread[0] == '\0')
			snprintf(report->unread, sizeof report->unread, "%s", node.detail);
		if (node.vote.code == REDLOCK_VOTE_NOPERM)
			return;
	}
}

void report_find_holder(struct report *report, struct session *session, redlock_lock *lock)
{
	const struct settings *settings = session->settings;
	redlock_lock *question = NULL;
	if (report->result != REDLOCK_E_BUSY && report->result != REDLOCK_E_GONE)
		return;
	if (report->result == REDLOCK_E_BUSY && settings->also.count > 0) { /* that handle asks nobody */
		report->busy_name = session_busy_name(settings, lock, report->name);
		if (session_lock(session, report->busy_name, NULL, &question) == EXIT_OK)
			lock = question;
	}
	standing_ask(&report->standing, session, lock);
	note_unread(report, session, lock);
	redlock_lock_free(question);
	report->has_standing = true;
}

/* A key that blocks one slot leaves the others. */
bool report_is_stuck(const struct report *report)
{
	return report->result == REDLOCK_E_BUSY && report->slots == 0 && report->has_standing &&
	       standing_is_stuck(&report->standing);
}

void report_json_names(const struct report *report, const struct settings *settings, struct json *json)
{
	const struct text_list *also = &settings->also;
	if (also->count == 0)
		return;
	json_open(json, "also", '[');
	for (size_t i = 0; i < also->count; i++) {
		json_open(json, NULL, '{');
		json_bytes(json, "name", also->items[i], strlen(also->items[i]));
		json_close(json, '}');
	}
	json_close(json, ']');
	if (report->busy_name != NULL)
		json_bytes(json, "busy_name", report->busy_name, strlen(report->busy_name));
	else
		json_null(json, "busy_name");
}

static double rtt_us(const struct node_report *node)
{
	return (double)node->vote.rtt_ns / 1000.0;
}

/* A NO to a SET means a key of somebody else. A NO to another operation may also mean that there is no key;
 * the finding tells which, if one was asked for. */
static const char *vote_words(const struct report *report, unsigned index)
{
	const struct node_report *node = &report->node[index];
	const struct redlock_finding *finding = &report->standing.finding[index];
	if (node->detail[0] || node->vote.code != REDLOCK_VOTE_NO)
		return node->detail[0] ? node->detail : redlock_vote_text(node->vote.code);
	if (report->has_standing && report->result == REDLOCK_E_BUSY && !finding->known)
		return "no: another client goes first; its key was not read, as the first answers decided";
	if (!report->has_standing || !finding->known)
		return redlock_vote_text(node->vote.code);
	return holder_kind_of(finding) == HOLDER_NONE ? "no: it has no such key"
	                                              : "no: somebody else has the key";
}

void report_votes(const struct report *report)
{
	for (unsigned i = 0; i < report->nodes; i++) {
		const struct node_report *node = &report->node[i];
		const char *text = vote_words(report, i);
		if (node->vote.rtt_ns == 0)
			complain(MSG(NODE), i + 1, node->status.address, text);
		else
			complain(MSG(NODE_TIMED), i + 1, node->status.address, text, rtt_us(node));
	}
}

static size_t append(char *text, size_t size, size_t used, const char *more)
{
	size_t length = strlen(more);
	if (used + length >= size)
		length = size - used - 1;
	memcpy(text + used, more, length);
	text[used + length] = '\0';
	return used + length;
}

enum { CAUSES_MAX = 6144 };

static bool has_cause(const struct node_report *node, bool pending)
{
	return node->detail[0] && (pending || node->vote.code != REDLOCK_VOTE_PENDING);
}

static bool shares_cause(const struct report *report, unsigned a, unsigned b, bool pending)
{
	return has_cause(&report->node[b], pending) &&
	       strcmp(report->node[a].detail, report->node[b].detail) == 0;
}

/* "; node 3 unix:/run/x.sock", or "; nodes 1, 2, 3": the nodes from the first on that have its cause. */
static size_t append_owners(const struct report *report, unsigned first, bool pending, char *causes,
                            size_t used)
{
	char owner[sizeof report->node[first].status.address + 32];
	unsigned owners = 0;
	for (unsigned i = first; i < report->nodes; i++)
		owners += shares_cause(report, first, i, pending);
	if (owners == 1) {
		snprintf(owner, sizeof owner, "; node %u %s", first + 1, report->node[first].status.address);
		return append(causes, CAUSES_MAX, used, owner);
	}
	for (unsigned i = first; i < report->nodes; i++) {
		if (!shares_cause(report, first, i, pending))
			continue;
		snprintf(owner, sizeof owner, "%s %u", i == first ? "; nodes" : ",", i + 1);
		used = append(causes, CAUSES_MAX, used, owner);
	}
	return used;
}

/* "; node 3 unix:/run/x.sock: connection refused; nodes 4, 5: ...": why nodes have no vote, each cause once.
 * Returns the number of these nodes. */
static unsigned list_causes(const struct report *report, bool pending, char *causes)
{
	size_t used = 0;
	unsigned count = 0;
	causes[0] = '\0';
	for (unsigned i = 0; i < report->nodes; i++) {
		unsigned first = 0;
		if (!has_cause(&report->node[i], pending))
			continue;
		count++;
		while (!shares_cause(report, i, first, pending))
			first++;
		if (first < i)
			continue;
		used = append_owners(report, i, pending, causes, used);
		used = append(causes, CAUSES_MAX, used, ": ");
		used = append(causes, CAUSES_MAX, used, report->node[i].detail);
	}
	return count;
}

/* "2 of 5 nodes voted, 3 are needed; node 3 unix:/run/x.sock: connection refused; nodes 4, 5: ..." */
static void say_no_quorum(const struct report *report, const struct settings *settings)
{
	char causes[CAUSES_MAX];
	(void)list_causes(report, true, causes);
	bool few = report->answered < report->quorum;
	say(settings, MSG(NO_QUORUM), report->answered, report->nodes, few ? "" : "but not ", report->quorum,
	    few ? "are needed" : "alike", causes);
}

/* A node that says no to a renewal has lost the key, and gets it from no renewal. */
static bool explain_refusals(struct report *report)
{
	bool any = false;
	for (unsigned i = 0; i < report->nodes; i++) {
		struct node_report *node = &report->node[i];
		if (node->vote.code != REDLOCK_VOTE_NO)
			continue;
		snprintf(node->detail, sizeof node->detail, "its key is missing or is somebody else's");
		any = true;
	}
	return any;
}

bool report_degraded(struct report *report, const struct settings *settings)
{
	char causes[CAUSES_MAX];
	bool refused = explain_refusals(report);
	unsigned count = list_causes(report, false, causes);
	const char *lack = refused ? "without the lock" : count == 1 ? "has no vote" : "have no vote";
	if (count > 0)
		say_now(settings, MSG(DEGRADED), count, report->nodes, lack, report->quorum,
		        report->nodes - count == report->quorum ? ": one more failure ends it" : "", causes);
	return count > 0;
}

void report_duplicates(const struct report *report, const struct settings *settings)
{
	for (unsigned i = 0; i < report->nodes; i++)
		for (unsigned j = i + 1; j < report->nodes; j++) {
			const struct redlock_node_status *a = &report->node[i].status, *b = &report->node[j].status;
			if (a->run_id[0] && strcmp(a->run_id, b->run_id) == 0)
				say(settings, MSG(SAME_SERVER), i + 1, a->address, j + 1, b->address);
		}
}

/* BUSY and GONE name who has it instead. */
static void say_holder(const struct report *report, const struct settings *settings, const char *name)
{
	const struct standing *standing = &report->standing;
	bool busy = report->result == REDLOCK_E_BUSY;
	unsigned own = report->token != NULL ? standing_count(standing, report->token, strlen(report->token)) : 0;
	unsigned sharing = report->token != NULL ? standing_count_sharing(standing, report->token) : 0;
	char words[STANDING_TEXT_MAX];
	standing_words(standing, words, sizeof words);
	if (busy && report->slots > 0)
		say(settings, MSG(BUSY_SLOTS), report->verb, name, report->slots, words);
	else if (busy && standing->free >= standing->quorum)
		say(settings, MSG(BUSY_WAS), report->verb, name);
	else if (busy && standing->state == STANDING_UNKNOWN)
		say(settings, MSG(BUSY_UNKNOWN), report->verb, name, standing->known, standing->nodes,
		    report->unread[0] ? ": " : "", report->unread);
	else if (busy && own + sharing >= standing->quorum)
		say(settings, MSG(BUSY_OWN), report->verb, name);
	else if (busy)
		say(settings, MSG(BUSY), report->verb, name, words,
		    settings->shared && standing_is_shared(standing)
		        ? "; a client that waits for an exclusive lock goes first"
		        : standing_remedy(standing));
	else if (report->instead[0])
		say(settings, MSG(INSTEAD), report->verb, name, report->instead);
	else if (own > 0)
		say(settings, MSG(GONE_PARTLY), report->verb, name, own, standing->known, standing->quorum);
	else if (standing->state == STANDING_FREE)
		say(settings, MSG(GONE_FREE), report->verb, name);
	else
		say(settings, MSG(GONE_OTHER), report->verb, name, words);
}

void report_hints(const struct settings *settings, const struct outcome *outcome,
                  const struct redlock_vote *votes, size_t count)
{
	const char *others[OUTCOME_HINTS_MAX];
	if (outcome->hint != NULL)
		say(settings, MSG(HINT), outcome->hint);
	size_t hints = outcome_other_hints(votes, count, others, OUTCOME_HINTS_MAX);
	for (size_t i = 0; i < hints; i++)
		say(settings, MSG(HINT), others[i]);
}

/* Votes are causes where there is no quorum. */
static void say_hints(const struct report *report, const struct settings *settings)
{
	struct redlock_vote votes[REDLOCK_MAX_NODES];
	bool is_by_votes = report->result == REDLOCK_E_NOQUORUM && report->outcome.code != EXIT_INTERNAL;
	for (unsigned i = 0; i < report->nodes; i++)
		votes[i] = report->node[i].vote;
	report_hints(settings, &report->outcome, votes, is_by_votes ? report->nodes : 0);
}

void report_failure(const struct report *report, const struct settings *settings)
{
	char name[PRINTABLE_MAX] = "";
	const char *which = report->busy_name != NULL ? report->busy_name : report->name;
	if (which != NULL)
		printable(which, strlen(which), name, sizeof name);
	if (report->result == REDLOCK_E_NOQUORUM)
		say_no_quorum(report, settings);
	else if (report->has_standing)
		say_holder(report, settings, name);
	else if (report->name != NULL)
		say(settings, MSG(FAILED), report->verb, name, redlock_strerror(report->result));
	else
		say(settings, MSG(FAILED_ALL), report->verb, redlock_strerror(report->result));
	if (report->lacks[0] != '\0')
		say(settings, MSG(LACKS), report->lacks, report->user, report->lacks);
	if (report->outcome.code == EXIT_CONFIG)
		report_duplicates(report, settings);
	say_hints(report, settings);
}

void report_json_begin(const struct report *report, struct json *json)
{
	json_open(json, NULL, '{');
	json_text(json, "verb", report->verb);
	if (report->name != NULL)
		json_bytes(json, "name", report->name, strlen(report->name));
	json_text(json, "result", redlock_error_name(report->result));
	if (report->result == 0)
		return;
	json_text(json, "reason", report->outcome.reason);
	if (report->outcome.hint != NULL)
		json_text(json, "hint", report->outcome.hint);
	else
		json_null(json, "hint");
}

void report_json_node(const struct report *report, unsigned index, struct json *json)
{
	report_json_node_as(report, index, "vote", redlock_vote_name(report->node[index].vote.code), json);
}

void report_json_node_as(const struct report *report, unsigned index, const char *key, const char *word,
                         struct json *json)
{
	const struct node_report *node = &report->node[index];
	json_number(json, "node", index + 1);
	json_text(json, "url", node->status.address);
	json_text(json, key, word);
	if (node->vote.rtt_ns == 0) /* no answer */
		json_null(json, "rtt_us");
	else
		json_decimal(json, "rtt_us", rtt_us(node));
	json_text(json, "detail", node->detail);
}

void report_json_end(const struct report *report, struct json *json)
{
	if (report->has_standing)
		standing_json(&report->standing, "holder", json);
	json_number(json, "quorum", report->quorum);
	json_open(json, "nodes", '[');
	for (unsigned i = 0; i < report->nodes; i++) {
		json_open(json, NULL, '{');
		report_json_node(report, i, json);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
	json_end(json);
}
