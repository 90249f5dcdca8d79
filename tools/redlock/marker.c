/* SPDX-License-Identifier: MIT */
#include "marker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "side_key.h"

/* ---- the value ---- */

#define MARKER_VERSION "last/1"

enum { NUMBER_DIGITS = 18 };

static void format_marker(const struct marker *m, char *text, size_t size)
{
	char code[16];
	snprintf(code, sizeof code, "%s", m->exit_code == MARKER_NO_RUN ? "none" : "-");
	if (m->exit_code >= 0)
		snprintf(code, sizeof code, "%d", m->exit_code);
	snprintf(text, size,
	         MARKER_VERSION " run=%" PRIu64 " keep_ms=%" PRIu64 " start_ms=%" PRIu64 " took_ms=%" PRIu64
	                        " exit=%s host=%s label=%s",
	         m->run, m->keep_ms, m->start_ms, m->took_ms, code, m->host, m->label);
}

/* The text of a field up to the next blank; it begins with " NAME=". False: it is missing or too long. */
static bool read_text(const char *text, const char *field, char *ret, size_t size)
{
	const char *at = strstr(text, field);
	if (at == NULL)
		return false;
	at += strlen(field);
	size_t length = strcspn(at, " ");
	if (length >= size)
		return false;
	memcpy(ret, at, length);
	ret[length] = '\0';
	return true;
}

static bool read_number(const char *text, const char *field, uint64_t *ret)
{
	char digits[NUMBER_DIGITS + 1];
	if (!read_text(text, field, digits, sizeof digits) || !*digits ||
	    digits[strspn(digits, "0123456789")] != '\0')
		return false;
	*ret = strtoull(digits, NULL, 10);
	return true;
}

static bool parse_marker(const char *text, struct marker *ret)
{
	char code[5];
	bool fits = strncmp(text, MARKER_VERSION " ", sizeof MARKER_VERSION) == 0 &&
	            read_number(text, " run=", &ret->run) && read_number(text, " keep_ms=", &ret->keep_ms) &&
	            read_number(text, " start_ms=", &ret->start_ms) &&
	            read_number(text, " took_ms=", &ret->took_ms) &&
	            read_text(text, " exit=", code, sizeof code) &&
	            read_text(text, " host=", ret->host, sizeof ret->host) &&
	            read_text(text, " label=", ret->label, sizeof ret->label);
	ret->exit_code = !fits || code[0] == '-'     ? MARKER_UNKNOWN
	                 : strcmp(code, "none") == 0 ? MARKER_NO_RUN
	                                             : (int)strtol(code, NULL, 10);
	return fits && ret->run > 0;
}

/* ---- the nodes ---- */

bool marker_open(struct marker_nodes *nodes, const struct session *session, const char *name,
                 uint64_t timeout_ms)
{
	*nodes = (struct marker_nodes){.session = session, .timeout_ms = timeout_ms};
	nodes->key = side_key_new(session->settings->prefix, name, "last");
	return nodes->key != NULL && redlock_asker_open(session->client, &nodes->asker) == 0;
}

void marker_close(struct marker_nodes *nodes)
{
	redlock_asker_close(nodes->asker);
	free(nodes->key);
	*nodes = (struct marker_nodes){0};
}

static bool is_in(uint64_t mask, unsigned node)
{
	return (mask >> node & 1) != 0;
}

/* A node that has hung once would be waited for each time. */
static uint64_t nodes_to_ask(const struct marker_nodes *nodes)
{
	unsigned count = redlock_node_count(nodes->session->client), others = 0;
	uint64_t all = (UINT64_C(1) << count) - 1;
	for (unsigned i = 0; i < count; i++)
		others += !is_in(nodes->silent, i);
	return others >= redlock_quorum(nodes->session->client) ? all & ~nodes->silent : all;
}

static bool is_kind(const struct redlock_question *q, enum redlock_reply_kind kind)
{
	return q->reply != NULL && q->reply->kind == kind;
}

/* Remembers why a question has no answer that can be used. */
static void note_why(struct marker_nodes *nodes, const struct redlock_question *q)
{
	const char *why = q->reply == NULL                  ? q->error
	                  : is_kind(q, REDLOCK_REPLY_ERROR) ? q->reply->text
	                                                    : "an answer of another kind";
	struct redlock_node_status status = {.size = sizeof status};
	const char *address =
	    redlock_node_status(nodes->session->client, q->node, &status) == 0 ? status.address : "";
	if (q->reply == NULL)
		nodes->silent |= UINT64_C(1) << q->node;
	size_t used = strlen(nodes->why);
	snprintf(nodes->why + used, sizeof nodes->why - used, "%snode %u %s: %.*s", used > 0 ? "; " : "",
	         q->node + 1, address, (int)strcspn(why, "\r\n"), why);
}

static void note_vote(struct marker_nodes *nodes, const struct redlock_question *q, bool is_first)
{
	enum redlock_vote_code vote = redlock_question_vote(q);
	if (is_first || vote != REDLOCK_VOTE_YES)
		nodes->votes[q->node].code = vote;
}

/* Sends commands to each node of the mask. Returns how many questions were sent; -1: it could not be. */
static int ask_nodes(struct marker_nodes *nodes, uint64_t mask, const char *const *const *commands,
                     size_t per_node, struct redlock_question *list)
{
	int count = 0;
	for (unsigned i = 0; i < redlock_node_count(nodes->session->client); i++)
		for (size_t k = 0; is_in(mask, i) && k < per_node; k++) {
			struct redlock_question *q = &list[count++];
			*q = (struct redlock_question){.size = sizeof *q, .node = i, .argv = commands[k]};
			while (commands[k][q->argc] != NULL)
				q->argc++;
		}
	if (redlock_ask(nodes->asker, list, (size_t)count, nodes->timeout_ms) < 0)
		return -1;
	for (int i = count; i-- > 0;) /* backwards: of several answers of a node the first refusal stays */
		note_vote(nodes, &list[i], i % (int)per_node == (int)per_node - 1);
	return count;
}

/* ---- reading ---- */

enum { ASK_LIFE, ASK_VALUE, ASKS };

struct told { /* the nodes that have the newest marker */
	struct marker newest;
	int64_t left_ms[REDLOCK_MAX_NODES];
	size_t count;
};

/* False: the node's answer cannot be used. */
static bool take_answer(struct marker_nodes *nodes, const struct redlock_question *q,
                        struct marker_reading *ret, struct told *told)
{
	const struct redlock_question *life = &q[ASK_LIFE], *value = &q[ASK_VALUE];
	struct marker marker;
	if (!is_kind(life, REDLOCK_REPLY_INTEGER) ||
	    !(is_kind(value, REDLOCK_REPLY_STRING) || is_kind(value, REDLOCK_REPLY_NIL))) {
		note_why(nodes, is_kind(life, REDLOCK_REPLY_INTEGER) ? value : life);
		return false;
	}
	ret->answered++;
	if (is_kind(value, REDLOCK_REPLY_NIL)) {
		ret->blank |= UINT64_C(1) << q->node;
	} else if (life->reply->integer >= 0 && parse_marker(value->reply->text, &marker) &&
	           marker.run >= told->newest.run) { /* no marker of ours lives for ever */
		if (marker.run > told->newest.run)
			told->count = 0;
		told->newest = marker;
		told->left_ms[told->count++] = life->reply->integer;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* The middle one, and of two the longer one: so a server whose clock was set counts only where most were. */
static uint64_t left_by_most(struct told *told)
{
	qsort(told->left_ms, told->count, sizeof told->left_ms[0], compare);
	int64_t left_ms = told->left_ms[told->count / 2];
	return left_ms > 0 ? (uint64_t)left_ms : 0;
}

bool marker_read(struct marker_nodes *nodes, struct marker_reading *ret)
{
	const char *const life[] = {"PTTL", nodes->key, NULL}, *const value[] = {"GET", nodes->key, NULL};
	const char *const *const commands[ASKS] = {[ASK_LIFE] = life, [ASK_VALUE] = value};
	struct redlock_question list[REDLOCK_MAX_NODES * ASKS];
	struct told told = {.count = 0};
	*ret = (struct marker_reading){.answered = 0};
	nodes->why[0] = '\0';
	int count = ask_nodes(nodes, nodes_to_ask(nodes), commands, ASKS, list);
	for (int i = 0; i < count; i += ASKS)
		(void)take_answer(nodes, &list[i], ret, &told);
	ret->last = told.newest;
	if (told.count > 0) {
		ret->left_ms = left_by_most(&told);
		ret->age_ms = told.newest.keep_ms > ret->left_ms ? told.newest.keep_ms - ret->left_ms : 0;
	}
	return ret->answered >= redlock_quorum(nodes->session->client);
}

/* ---- writing ---- */

unsigned marker_write(struct marker_nodes *nodes, const struct marker *marker, uint64_t ttl_ms)
{
	char text[MARKER_TEXT_MAX], ttl[24];
	const char *const set[] = {"SET", nodes->key, text, "PX", ttl, NULL};
	const char *const *const commands[] = {set};
	struct redlock_question list[REDLOCK_MAX_NODES];
	unsigned written = 0;
	nodes->why[0] = '\0';
	format_marker(marker, text, sizeof text);
	snprintf(ttl, sizeof ttl, "%" PRIu64, ttl_ms > 0 ? ttl_ms : 1);
	int count = ask_nodes(nodes, nodes_to_ask(nodes), commands, 1, list);
	for (int i = 0; i < count; i++) {
		bool ok = is_kind(&list[i], REDLOCK_REPLY_STATUS);
		written += ok;
		if (!ok)
			note_why(nodes, &list[i]);
	}
	return written;
}

void marker_heal(struct marker_nodes *nodes, const struct marker_reading *reading)
{
	char text[MARKER_TEXT_MAX], ttl[24];
	const char *const set[] = {"SET", nodes->key, text, "NX", "PX", ttl, NULL};
	const char *const *const commands[] = {set};
	struct redlock_question list[REDLOCK_MAX_NODES];
	if (reading->last.run == 0 || reading->left_ms == 0 || reading->blank == 0)
		return;
	format_marker(&reading->last, text, sizeof text);
	snprintf(ttl, sizeof ttl, "%" PRIu64, reading->left_ms);
	(void)ask_nodes(nodes, reading->blank, commands, 1, list);
}

/* ---- for people ---- */

const char *marker_time_text(uint64_t ms, char *buffer, size_t size)
{
	uint64_t s = ms / 1000, min = s / 60, h = min / 60, d = h / 24;
	if (d > 0)
		snprintf(buffer, size, "%" PRIu64 " d %" PRIu64 " h", d, h % 24);
	else if (h > 0)
		snprintf(buffer, size, "%" PRIu64 " h %" PRIu64 " min", h, min % 60);
	else if (min > 0)
		snprintf(buffer, size, "%" PRIu64 " min %" PRIu64 " s", min, s % 60);
	else
		snprintf(buffer, size, "%.1f s", (double)ms / 1000);
	return buffer;
}

const char *marker_words(const struct marker_reading *reading, char *buffer, size_t size)
{
	const struct marker *m = &reading->last;
	char age[32], took[32], end[96] = "its end is not known";
	if (m->exit_code >= 0)
		snprintf(end, sizeof end, "exit code %d after %s", m->exit_code,
		         marker_time_text(m->took_ms, took, sizeof took));
	snprintf(buffer, size, "began %s ago on %s (%s), %s", marker_time_text(reading->age_ms, age, sizeof age),
	         m->host, m->label, end);
	return buffer;
}
