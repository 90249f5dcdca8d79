/* SPDX-License-Identifier: MIT */
#include "list.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../redlock/clock.h"
#include "../redlock/guard_record.h"

const char *const list_kind_words[LIST_KINDS] = {
#define LIST_KIND_WORD(name, word) word,
    LIST_KIND_MAP(LIST_KIND_WORD)
#undef LIST_KIND_WORD
};

struct list {
	pthread_t thread;
	pthread_mutex_t mutex; /* for `stops`, which wakes the thread between rounds */
	pthread_cond_t stops;
	pthread_rwlock_t guards_view;
	struct list_view view;
	struct ls_nodes nodes; /* of the thread alone */
	struct ls_scope scope;
	uint64_t every_ms;
};

/* ---- for the engine ---- */

static atomic_int stop;

static int stopped(void)
{
	return atomic_load(&stop);
}

static void no_progress(const struct ls_nodes *nodes, uint64_t keys)
{
	(void)nodes, (void)keys;
}

/* The looks keep the client up to date about the guard. */
static uint64_t find_forgetful(struct ls_nodes *nodes, const struct guard_record *records,
                               uint64_t *ret_left_ms)
{
	struct redlock_guard_status status = {.size = sizeof status};
	bool applies = redlock_guard_status(nodes->client, &status) == 0 && status.state == REDLOCK_SET_GUARDED;
	return applies ? guard_record_forgetful(records, nodes->report.nodes, ret_left_ms) : 0;
}

static const struct ls_program program = {
    .share = LIST_SHARE, .stopped = stopped, .progress = no_progress, .forgetful = find_forgetful};

/* ---- a round ---- */

static void note_missing(struct list_view *view, const struct ls_nodes *nodes)
{
	bool forgotten = ls_nodes_forgot(nodes);
	for (unsigned i = 0; i < nodes->report.nodes; i++) {
		const struct node_report *node = &nodes->report.node[i];
		bool read = (nodes->scanned >> i & 1) != 0 && node->detail[0] == '\0';
		if (read && !(forgotten && (nodes->forgetful >> i & 1) != 0))
			continue;
		struct list_missing *missing = &view->missing[view->missing_count++];
		snprintf(missing->address, sizeof missing->address, "%s", node->status.address);
		snprintf(missing->why, sizeof missing->why, "%s",
		         read ? "in quarantine, it may have forgotten locks" : node->detail);
	}
	view->known = nodes->report.nodes - view->missing_count >= nodes->report.quorum;
}

static void drop_what_is_kept_on_purpose(struct ls_rows *rows)
{
	size_t kept = 0;
	for (size_t i = 0; i < rows->count; i++)
		if (ls_row_is_of_interest(&rows->list[i]))
			rows->list[kept++] = rows->list[i];
		else
			ls_row_clear(&rows->list[i]);
	rows->count = kept;
}

/* `before`: the row before it; NULL: it is the first. */
static void count(struct list_view *view, const struct ls_row *before, const struct ls_row *row)
{
	for (int kind = 0; kind < LIST_KINDS; kind++)
		view->kind[kind] += strcmp(row->kind, list_kind_words[kind]) == 0;
	for (int odd = 0; odd < LS_ODDS; odd++)
		view->odd[odd] += (row->odd >> odd & 1) != 0;
	view->locks += !ls_row_is_remainder(row);
	view->odd_locks += row->odd != 0;
	if (before == NULL || strcmp(before->name, row->name) != 0) /* slots of a name have one queue */
		view->waiting += row->waiting;
}

static bool choose(struct list_view *view)
{
	view->shown = calloc(LIST_SHOWN_MOST, sizeof(const struct ls_row *));
	for (int odd = 1; view->shown != NULL && odd >= 0; odd--)
		for (size_t i = 0; i < view->rows.count && view->shown_count < LIST_SHOWN_MOST; i++)
			if ((view->rows.list[i].odd != 0) == odd)
				view->shown[view->shown_count++] = &view->rows.list[i];
	return view->shown != NULL;
}

static void free_view(struct list_view *view)
{
	ls_rows_free(&view->rows);
	free(view->shown);
}

/* Rows of too few nodes say nothing: those that were known before stay. */
static void publish(struct list *list, struct list_view *fresh)
{
	struct list_view old = list->view;
	bool replaces = fresh->known && choose(fresh);
	pthread_rwlock_wrlock(&list->guards_view);
	if (replaces) {
		list->view = *fresh;
	} else {
		list->view.known = false;
		list->view.missing_count = fresh->missing_count;
		memcpy(list->view.missing, fresh->missing, sizeof fresh->missing);
	}
	pthread_rwlock_unlock(&list->guards_view);
	free_view(replaces ? &old : fresh);
}

static void read_all(struct list *list, struct list_view *fresh)
{
	uint64_t begin_ns = clock_ns();
	*fresh = (struct list_view){0};
	bool ok = ls_gather(&list->nodes, &list->scope, &fresh->rows);
	if (!ok && stopped()) {
		free_view(fresh);
		return;
	}
	fresh->complete = !fresh->rows.is_cut;
	note_missing(fresh, &list->nodes);
	fresh->known &= ok;
	ls_rows_carry(&list->view.rows, &fresh->rows); /* this thread alone writes them */
	drop_what_is_kept_on_purpose(&fresh->rows);
	for (size_t i = 0; i < fresh->rows.count; i++)
		count(fresh, i > 0 ? &fresh->rows.list[i - 1] : NULL, &fresh->rows.list[i]);
	fresh->at_s = (uint64_t)time(NULL);
	fresh->at_ns = clock_ns();
	fresh->took_s = (double)(fresh->at_ns - begin_ns) / 1e9;
	publish(list, fresh);
}

/* ---- the thread ---- */

static void rest(struct list *list, const struct timespec *begin)
{
	struct timespec until = *begin;
	until.tv_sec += (time_t)(list->every_ms / 1000);
	until.tv_nsec += (long)(list->every_ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&list->mutex);
	while (!stopped() && pthread_cond_timedwait(&list->stops, &list->mutex, &until) == 0)
		continue;
	pthread_mutex_unlock(&list->mutex);
}

static void *run(void *argument)
{
	struct list *list = argument;
	struct list_view *fresh = malloc(sizeof *fresh);
	while (fresh != NULL && !stopped()) {
		struct timespec begin;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		read_all(list, fresh);
		rest(list, &begin);
	}
	free(fresh);
	return NULL;
}

static bool init(struct list *list)
{
	pthread_condattr_t monotonic;
	bool ok = pthread_condattr_init(&monotonic) == 0;
	ok = ok && pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0;
	ok =
	    ok && pthread_mutex_init(&list->mutex, NULL) == 0 && pthread_cond_init(&list->stops, &monotonic) == 0;
	return ok && pthread_rwlock_init(&list->guards_view, NULL) == 0;
}

struct list *list_start(redlock_client *client, const char *prefix, uint64_t every_ms)
{
	struct list *list = calloc(1, sizeof *list);
	if (list == NULL)
		return NULL;
	list->every_ms = every_ms;
	list->scope = (struct ls_scope){.prefix = prefix != NULL ? prefix : "", .most = LIST_NAMES_MOST};
	atomic_store(&stop, 0);
	bool ok = init(list) && ls_nodes_open(&list->nodes, client, &program) == 0;
	if (ok && pthread_create(&list->thread, NULL, run, list) == 0)
		return list;
	ls_nodes_close(&list->nodes);
	free(list);
	return NULL;
}

void list_stop(struct list *list)
{
	if (list == NULL)
		return;
	pthread_mutex_lock(&list->mutex);
	atomic_store(&stop, 1);
	pthread_cond_signal(&list->stops);
	pthread_mutex_unlock(&list->mutex);
	pthread_join(list->thread, NULL);
	ls_nodes_close(&list->nodes);
	free_view(&list->view);
	free(list);
}

/* ---- readers ---- */

const struct list_view *list_enter(struct list *list)
{
	static const struct list_view empty;
	if (list == NULL)
		return &empty;
	pthread_rwlock_rdlock(&list->guards_view);
	return &list->view;
}

void list_leave(struct list *list)
{
	if (list != NULL)
		pthread_rwlock_unlock(&list->guards_view);
}
