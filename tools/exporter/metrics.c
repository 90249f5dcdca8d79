/* SPDX-License-Identifier: MIT */
/* A look in Prometheus' text format: a table of series for nodes, and one for locks. A value that is not
 * known has no series. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../redlock/printable.h"
#include "show.h"

/* ---- values ---- */

static double is_up(const struct look_node *n)
{
	return n->up;
}

static double is_connected(const struct look_node *n)
{
	return n->connected;
}

static double round_trip(const struct look_node *n)
{
	return n->up || n->answered ? n->round_trip_s : (double)NAN;
}

static double ahead(const struct look_node *n)
{
	return n->answered ? n->ahead_s : (double)NAN;
}

static double is_withdrawn(const struct look_node *n)
{
	return n->vote == REDLOCK_VOTE_CLOCK;
}

static double is_guarded(const struct look_node *n)
{
	return n->answered ? n->guarded : (double)NAN;
}

static double is_numbered(const struct look_node *n)
{
	return n->answered && n->guarded ? n->numbered : (double)NAN;
}

static double is_quarantined(const struct look_node *n)
{
	return n->quarantined;
}

static double quarantine_left(const struct look_node *n)
{
	return n->quarantine_s;
}

static double is_evicting(const struct look_node *n)
{
	return n->answered && n->evicting >= 0 ? n->evicting : (double)NAN;
}

static double connects(const struct look_node *n)
{
	return (double)n->connects;
}

static double lost_connections(const struct look_node *n)
{
	return (double)n->lost_connections;
}

static double is_held(const struct look_lock *l)
{
	return l->known ? l->held : (double)NAN;
}

static double votes(const struct look_lock *l)
{
	return l->known ? l->votes : (double)NAN;
}

static double remaining(const struct look_lock *l)
{
	return !l->held ? (double)NAN : l->remaining_s < 0 ? (double)INFINITY : l->remaining_s;
}

static double ttl(const struct look_lock *l)
{
	return l->held && l->ttl_s > 0 ? l->ttl_s : (double)NAN;
}

static double seen(const struct look_lock *l)
{
	return l->held ? l->since_s : (double)NAN;
}

static double waiting(const struct look_lock *l)
{
	return l->waiting >= 0 ? (double)l->waiting : (double)NAN;
}

static double fence(const struct look_lock *l)
{
	return l->fence > 0 ? (double)l->fence : (double)NAN;
}

static const struct {
	const char *name, *type, *help;
	double (*value)(const struct look_node *);
} node_series[] = {
    {"redlock_node_up", "gauge", "Whether the node would grant a lock.", is_up},
    {"redlock_node_connected", "gauge", "Whether the exporter has a connection for locks.", is_connected},
    {"redlock_node_round_trip_seconds", "gauge", "How long the node took to answer.", round_trip},
    {"redlock_node_clock_offset_seconds", "gauge", "The node's clock before the clock of this host.", ahead},
    {"redlock_node_clock_withdrawn", "gauge", "Whether the node has no vote as its clock went wrong.",
     is_withdrawn},
    {"redlock_node_guarded", "gauge", "Whether the node has a record of a guarded set.", is_guarded},
    {"redlock_node_fencing_known", "gauge", "Whether the node's record has its fencing numbers.",
     is_numbered},
    {"redlock_node_quarantined", "gauge", "Whether the node has no vote as it may have forgotten locks.",
     is_quarantined},
    {"redlock_node_quarantine_remaining_seconds", "gauge",
     "How long the quarantine lasts; 0: none, or unknown.", quarantine_left},
    {"redlock_node_evicting", "gauge", "Whether maxmemory-policy lets the node remove keys.", is_evicting},
    {"redlock_node_connects_total", "counter", "Connections that the exporter opened.", connects},
    {"redlock_node_lost_connections_total", "counter", "Connections of the exporter that broke.",
     lost_connections},
};

static const struct {
	const char *name, *help;
	double (*value)(const struct look_lock *);
} lock_series[] = {
    {"redlock_lock_held", "Whether a quorum has the same key.", is_held},
    {"redlock_lock_votes", "Nodes that have the most frequent key.", votes},
    {"redlock_lock_remaining_seconds", "Until fewer than a quorum have the key.", remaining},
    {"redlock_lock_ttl_seconds", "The longest remaining time that was seen of this holder.", ttl},
    {"redlock_lock_held_seconds", "For so long the exporter has seen this holder.", seen},
    {"redlock_lock_waiting", "Clients in the queue.", waiting},
    {"redlock_lock_fencing_token", "The highest fencing number of a quorum.", fence},
};

/* ---- writing ---- */

/* The exposition format has three escapes; a line end is \x0a by then. The whole text: two series must not
 * become one. */
static void put_label(FILE *out, const char *name, const char *text)
{
	size_t length = strlen(text), size = 4 * length + sizeof "\\xNN...";
	char *shown = malloc(size);
	fprintf(out, "%s=\"", name);
	if (shown != NULL)
		printable(text, length, shown, size);
	for (const char *at = shown; at != NULL && *at != '\0'; at++) {
		if (*at == '"' || *at == '\\')
			putc('\\', out);
		putc(*at, out);
	}
	putc('"', out);
	free(shown);
}

static void put_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Whole numbers are written out, up to those that a double has: fencing numbers among them. */
#define WHOLE_END 9007199254740992.0

static void put_value(FILE *out, double value)
{
	if (isinf(value))
		fputs(" +Inf\n", out);
	else if (value >= 0 && value < WHOLE_END && (double)(uint64_t)value == value)
		fprintf(out, " %" PRIu64 "\n", (uint64_t)value);
	else
		fprintf(out, " %.9g\n", value);
}

static void put_single(FILE *out, const char *name, const char *help, double value)
{
	put_head(out, name, "gauge", help);
	fputs(name, out);
	put_value(out, value);
}

static void put_set(FILE *out, const struct look *look)
{
	put_head(out, "redlock_build_info", "gauge", "The version of redlock.");
	fprintf(out, "redlock_build_info{version=\"%s\"} 1\n", redlock_version());
	put_single(out, "redlock_nodes", "Nodes that are configured.", look->count);
	put_single(out, "redlock_quorum", "Nodes that must grant a lock.", look->quorum);
	put_single(out, "redlock_nodes_up", "Nodes that would grant a lock.", look->up);
	put_single(out, "redlock_quorum_reachable", "Whether a quorum would grant a lock.",
	           look->up >= look->quorum);
	if (look->fencing >= 0)
		put_single(out, "redlock_fencing_possible",
		           "Whether enough nodes that vote know their fencing numbers for --fence.", look->fencing);
	put_single(out, "redlock_look_duration_seconds", "How long the look at the nodes took.", look->took_s);
	put_head(out, "redlock_look_timestamp_seconds", "gauge", "When the nodes were looked at.");
	fprintf(out, "redlock_look_timestamp_seconds %" PRIu64 "\n", look->at_s);
}

static void put_infos(FILE *out, const struct look *look)
{
	put_head(out, "redlock_node_info", "gauge", "The server of the node, and its answer to a claim.");
	for (unsigned i = 0; i < look->count; i++) {
		fputs("redlock_node_info{", out);
		put_label(out, "node", look->node[i].address);
		put_label(out, ",version", look->node[i].version);
		put_label(out, ",vote", redlock_vote_name(look->node[i].vote));
		fputs("} 1\n", out);
	}
}

static void put_counts(FILE *out, const char *name, const char *help, const char *label,
                       const char *const *words, const size_t *numbers, int count)
{
	put_head(out, name, "gauge", help);
	for (int i = 0; i < count; i++)
		fprintf(out, "%s{%s=\"%s\"} %zu\n", name, label, words[i], numbers[i]);
}

/* Totals of all locks: a number of locks that nobody knows has no series. */
static void put_list(FILE *out, const struct list_view *list)
{
	put_single(out, "redlock_list_known", "Whether a quorum of nodes told its locks.", list->known);
	if (list->at_s == 0 || !list->known)
		return;
	put_single(out, "redlock_list_complete", "Whether there were not too many locks to list them all.",
	           list->complete);
	put_single(out, "redlock_list_duration_seconds", "How long the list of all locks took.", list->took_s);
	put_single(out, "redlock_list_timestamp_seconds", "When all locks were listed.", (double)list->at_s);
	put_counts(out, "redlock_locks", "Locks by kind, held ones and odd ones.", "kind", list_kind_words,
	           list->kind, LIST_KINDS);
	put_counts(out, "redlock_odd_locks", "Locks and remains of locks that are odd.", "why", ls_odd_words,
	           list->odd, LS_ODDS);
	put_single(out, "redlock_locks_waiting", "Clients in the queues of all locks.", (double)list->waiting);
}

void show_metrics(FILE *out, const struct look *look, const struct list_view *list)
{
	put_set(out, look);
	put_infos(out, look);
	put_list(out, list);
	for (size_t s = 0; s < sizeof node_series / sizeof node_series[0]; s++) {
		put_head(out, node_series[s].name, node_series[s].type, node_series[s].help);
		for (unsigned i = 0; i < look->count; i++) {
			double value = node_series[s].value(&look->node[i]);
			if (isnan(value))
				continue;
			fprintf(out, "%s{", node_series[s].name);
			put_label(out, "node", look->node[i].address);
			putc('}', out);
			put_value(out, value);
		}
	}
	for (size_t s = 0; look->locks > 0 && s < sizeof lock_series / sizeof lock_series[0]; s++) {
		put_head(out, lock_series[s].name, "gauge", lock_series[s].help);
		for (unsigned i = 0; i < look->locks; i++) {
			double value = lock_series[s].value(&look->lock[i]);
			if (isnan(value))
				continue;
			fprintf(out, "%s{", lock_series[s].name);
			put_label(out, "lock", look->lock[i].name);
			putc('}', out);
			put_value(out, value);
		}
	}
}
