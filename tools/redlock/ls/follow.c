/* SPDX-License-Identifier: MIT */
/* Shows the locks again and again: on a terminal as top(1) does, elsewhere a line for each change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../live.h"
#include "../message.h"
#include "../signals.h"
#include "ls.h"

enum {
	NEWS = 5,
	STAMP = 40,
	FRAME = 5
}; /* lines around the table: title, blank, head, blank, title of news */

struct follow {
	struct ls_nodes *nodes;
	const struct settings *settings;
	struct ls_rows before;
	uint64_t round;
	char news[NEWS][LS_LINE_MAX]; /* the last changes, as a ring */
	size_t told;
	unsigned answered; /* nodes, in the round before */
};

static void write_stamp(bool with_day, char *stamp)
{
	time_t now = time(NULL);
	struct tm parts;
	stamp[0] = '\0';
	if (localtime_r(&now, &parts) == NULL)
		return;
	if (with_day)
		strftime(stamp, STAMP, "%Y-%m-%dT%H:%M:%S%z", &parts);
	else
		strftime(stamp, STAMP, "%H:%M:%S", &parts);
}

/* ---- what has changed ---- */

/* Whether the holder has extended its keys: they live longer than they would by themselves, by more than two
 * looks at the same nodes differ. */
static bool is_extended(const struct ls_row *before, const struct ls_row *after)
{
	enum { ERROR_MS = 100 };
	int64_t passed_ms = (int64_t)((after->read_ns - before->read_ns) / 1000000);
	return before->known == after->known && before->votes == after->votes && before->pttl_ms >= 0 &&
	       after->pttl_ms > before->pttl_ms - passed_ms + ERROR_MS + passed_ms / 10;
}

/* NULL: nothing that a person wants to be told. Of one name that is each renewal; of all names these would be
 * most of the lines. */
static const char *change_of(const struct ls_row *before, const struct ls_row *after, bool is_name)
{
	if (before == NULL)
		return ls_row_is_remainder(after) ? "left" : "acquired";
	if (after == NULL)
		return "released";
	if (before->identity != after->identity && strcmp(before->kind, "shared") != 0)
		return "passed";
	if (before->odd != after->odd)
		return after->odd != 0 ? "odd" : "mended";
	return is_name && is_extended(before, after) ? "extended" : NULL;
}

static void tell(struct follow *follow, const char *change, const struct ls_row *row, bool live)
{
	char stamp[STAMP], line[LS_LINE_MAX - STAMP - 16];
	if (follow->settings->json) {
		ls_json(row, change);
		return;
	}
	write_stamp(!live, stamp);
	ls_line(row, line, sizeof line);
	snprintf(follow->news[follow->told++ % NEWS], LS_LINE_MAX, "%s %s %s", stamp, change, line);
	if (!live)
		put_line("%s", follow->news[(follow->told - 1) % NEWS]);
}

/* Both lists are in the order of names. */
static void compare(struct follow *follow, struct ls_rows *after, bool is_name, bool live)
{
	const struct ls_rows *before = &follow->before;
	size_t b = 0, a = 0;
	while (b < before->count || a < after->count) {
		const struct ls_row *was = b < before->count ? &before->list[b] : NULL;
		struct ls_row *is = a < after->count ? &after->list[a] : NULL;
		int order = was == NULL ? 1 : is == NULL ? -1 : ls_compare_names(was, is);
		was = order <= 0 ? was : NULL;
		is = order >= 0 ? is : NULL;
		const char *change = follow->round == 0 ? "found" : change_of(was, is, is_name);
		if (change != NULL && ls_is_wanted(is != NULL ? is : was, follow->settings) &&
		    (follow->round > 0 || !live))
			tell(follow, change, is != NULL ? is : was, live);
		b += order <= 0;
		a += order >= 0;
	}
}

/* ---- showing ---- */

static void redraw(struct follow *follow, const struct ls_rows *rows)
{
	static const char end[] = "\033[K\n";
	const struct report *report = &follow->nodes->report;
	size_t width, lines, odd = 0, shown = follow->told < NEWS ? follow->told : NEWS;
	char stamp[STAMP];
	struct ls_rows wanted = {.list = calloc(rows->count + 1, sizeof *rows->list)};
	if (wanted.list == NULL)
		return;
	for (size_t i = 0; i < rows->count; i++) {
		odd += rows->list[i].odd != 0;
		if (ls_is_wanted(&rows->list[i], follow->settings))
			wanted.list[wanted.count++] = rows->list[i];
	}
	ls_sort(&wanted, follow->settings->sort);
	ls_screen(&width, &lines);
	write_stamp(false, stamp);
	live_erase();
	printf("%s%s  %zu shown, %zu odd, %u of %u nodes answer%s\033[K\n",
	       follow->round == 0 ? "\033[2J\033[H" : "\033[H", stamp, wanted.count, odd, report->answered,
	       report->nodes, end);
	size_t room = lines > FRAME + NEWS + 1 ? lines - FRAME - NEWS : 1;
	ls_table(&wanted, width, room, end);
	fputs(end, stdout);
	for (size_t i = follow->told - shown; i < follow->told; i++)
		printf("%.*s%s", (int)width - 1, follow->news[i % NEWS], end);
	fputs("\033[J", stdout);
	free(wanted.list);
}

/* Nodes that come and go are told like changes of locks. */
static void tell_nodes(struct follow *follow)
{
	const struct report *report = &follow->nodes->report;
	if (follow->round > 0 && follow->answered != report->answered)
		say(follow->settings, MSG(LS_NODES), report->answered, report->nodes);
	follow->answered = report->answered;
}

static bool wait_for_round(const struct follow *follow, uint64_t begin_ns)
{
	return signals_sleep_until(begin_ns + follow->settings->every_ms * 1000000);
}

/* One round. False: it cannot go on. */
static bool show_round(struct follow *follow, const struct ls_scope *scope)
{
	struct ls_rows rows = {0};
	size_t width, lines;
	ls_screen(&width, &lines);
	bool live = width > 0 && !follow->settings->json;
	bool ok = ls_read(follow->nodes, scope, &rows);
	if (!ok) {
		ls_rows_free(&rows);
		return false;
	}
	/* Too few nodes say nothing about the locks: what was known stays. */
	if (follow->nodes->report.result == 0) {
		compare(follow, &rows, ls_scope_is_name(scope), live);
		ls_rows_carry(&follow->before, &rows);
		struct ls_rows old = follow->before;
		follow->before = rows;
		ls_rows_free(&old);
	} else {
		ls_rows_free(&rows);
	}
	if (live)
		redraw(follow, &follow->before);
	else
		tell_nodes(follow);
	follow->round++;
	return fflush(stdout) == 0;
}

int ls_follow(struct ls_nodes *nodes, const struct ls_scope *scope)
{
	struct follow *follow = calloc(1, sizeof *follow);
	bool ok = follow != NULL;
	if (!ok)
		nodes->error = REDLOCK_E_NOMEM;
	else
		*follow = (struct follow){.nodes = nodes, .settings = nodes->program->session->settings};
	while (ok) {
		uint64_t begin_ns = clock_ns();
		ok = show_round(follow, scope) && wait_for_round(follow, begin_ns);
	}
	if (follow != NULL)
		ls_rows_free(&follow->before);
	free(follow);
	return signals_caught() ? EXIT_SIGNAL + signals_caught() : EXIT_INTERNAL;
}
