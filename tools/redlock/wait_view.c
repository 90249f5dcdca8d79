/* SPDX-License-Identifier: MIT */
/* Reports a wait while it lasts. */
#include "wait_view.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "live.h"
#include "message.h"
#include "printable.h"

#define EACH_NS 1000000000u /* not more often */
#define RENEWAL_NS 100000000u

/* Limits for lines that nobody has asked for: in the log of a job a short wait is of no interest. */
#define UNASKED_AFTER_NS 5000000000u
#define UNASKED_EACH_NS 60000000000u

void wait_view_begin(struct wait_view *view, const struct settings *settings, const char *name)
{
	view->settings = settings;
	view->name = view->first = name;
	view->begin_ns = clock_ns();
	view->end_ns = 0;
	view->wait = (struct redlock_wait){.node = -1};
	view->found[0] = view->split[0] = view->said[0] = '\0';
	view->quarantine_told = view->renewed = false;
	view->is_live = live_works(settings);
	view->is_told = !settings->quiet;
	view->is_asked = settings->verbose || isatty(STDERR_FILENO);
	view->least_ns = view->begin_ns + (view->is_asked ? WAIT_VIEW_AFTER_NS : UNASKED_AFTER_NS);
	view->show_ns = view->least_ns;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* The end of a wait that has one. */
static uint64_t limit_ns(const struct wait_view *view)
{
	uint64_t wait_ms = view->settings->wait_ms;
	bool limited = wait_ms > 0 && wait_ms < REDLOCK_FOREVER;
	return limited ? view->begin_ns + wait_ms * 1000000 : UINT64_MAX;
}

/* Once, and to everybody: a job that does not want to wait waits all the same. */
static void tell_quarantine(struct wait_view *view, uint64_t until_ns)
{
	uint64_t now_ns = clock_ns();
	char name[PRINTABLE_MAX];
	if (view->quarantine_told || until_ns <= now_ns)
		return;
	view->quarantine_told = true;
	live_erase();
	double left_s = (double)(until_ns - now_ns) / 1e9;
	uint64_t end_ns = limit_ns(view);
	printable(view->name, strlen(view->name), name, sizeof name);
	if (end_ns < until_ns)
		say(view->settings, MSG(QUARANTINE_LIMIT), seconds(now_ns, end_ns), name, left_s);
	else
		say(view->settings, MSG(QUARANTINE_WAIT), left_s, name);
}

static bool is_same_holder(const struct redlock_wait *before, const struct redlock_wait *now)
{
	return before->node >= 0 && before->holder_len > 0 && before->holder_len == now->holder_len &&
	       memcmp(before->holder, now->holder, now->holder_len) == 0;
}

/* Whether a renewal has moved the end of the key: by more than answers of one node differ, and other nodes
 * are not compared. */
static bool lives_longer(const struct redlock_wait *before, const struct redlock_wait *now)
{
	return before->node == now->node && now->until_ns != REDLOCK_NEVER_NS &&
	       now->until_ns > before->until_ns + RENEWAL_NS;
}

static void keep_place(struct redlock_wait *wait, const struct redlock_wait *before)
{
	wait->place = before->place;
	wait->waiting = before->waiting;
}

/* Between two refusals the handle may know nothing: what it knew stays. */
void wait_view_look(struct wait_view *view, const redlock_lock *lock)
{
	struct redlock_wait wait = {.size = sizeof wait};
	if (redlock_lock_waiting(lock, &wait) < 0)
		return;
	tell_quarantine(view, wait.quarantine_ns);
	if (wait.node < 0)
		return;
	bool is_same = is_same_holder(&view->wait, &wait);
	view->renewed = is_same && (view->renewed || lives_longer(&view->wait, &wait));
	if (is_same && wait.place == 0) /* a new gate has not told one yet: no reason for a line without it */
		keep_place(&wait, &view->wait);
	view->wait = wait;
}

bool wait_view_holder(const struct wait_view *view, struct redlock_finding *ret)
{
	if (view->wait.node < 0 || view->wait.holder_len == 0)
		return false;
	*ret = (struct redlock_finding){.known = 1, .type = "string", .value_kept = view->wait.holder_len};
	memcpy(ret->value, view->wait.holder, view->wait.holder_len);
	return true;
}

/* The length of the whole value was not told. */
void wait_view_date(const struct wait_view *view, struct standing *standing)
{
	struct redlock_finding told;
	const struct redlock_finding *best = &standing->finding[standing->best];
	if (standing->state != STANDING_HELD || !wait_view_holder(view, &told))
		return;
	told.value_len = best->value_len;
	if (holder_same(best, &told)) {
		standing->seen_ms = (clock_ns() - view->wait.since_ns) / 1000000;
		standing->renewed = view->renewed;
	}
}

/* ---- words ---- */

static const char *holder_words(const struct wait_view *view, char *buffer, size_t size)
{
	struct redlock_finding holder;
	bool is_free = view->wait.node >= 0 && view->wait.until_ns == 0;
	if (!wait_view_holder(view, &holder))
		return is_free ? "" : view->found;
	return holder_who(&holder, buffer, size);
}

/* The subject of a new line: holder and place. "": neither is known. */
static void summary(const struct wait_view *view, char *buffer, size_t size)
{
	char who[HOLDER_TEXT_MAX], place[32] = "";
	if (view->wait.place > 0)
		snprintf(place, sizeof place, "%u ", view->wait.place);
	snprintf(buffer, size, "%s%s", place, *view->split ? "split" : holder_words(view, who, sizeof who));
}

/* ", held by web-1:42 for 3.2 s at least, its key expires in 12.0 s"; "": nobody is known. */
static void add_holder(const struct wait_view *view, char *text, size_t size)
{
	const struct redlock_wait *wait = &view->wait;
	char buffer[HOLDER_TEXT_MAX];
	if (*view->split) {
		snprintf(text, size, ", %s", view->split);
		return;
	}
	const char *who = holder_words(view, buffer, sizeof buffer);
	size_t used = *who ? (size_t)snprintf(text, size, ", held by %s", who) : 0;
	if (!*who || wait->node < 0 || wait->holder_len == 0 || used >= size)
		return;
	used += (size_t)snprintf(text + used, size - used, STANDING_TEXT_SEEN,
	                         seconds(wait->since_ns, wait->told_ns), view->renewed ? " and renewed" : "");
	if (wait->until_ns == REDLOCK_NEVER_NS)
		snprintf(text + used, size - used, "%s (`redlock break NAME`)", STANDING_TEXT_NEVER);
	else
		snprintf(text + used, size - used, STANDING_TEXT_EXPIRES, seconds(clock_ns(), wait->until_ns));
}

static void show(const struct wait_view *view)
{
	char name[PRINTABLE_MAX], waited[32] = "", place[64] = "", holder[HOLDER_TEXT_MAX + 128] = "";
	char text[sizeof name + sizeof waited + sizeof place + sizeof holder + 32] = "redlock: ";
	if (view->is_live)
		snprintf(waited, sizeof waited, " for %.0f s", seconds(view->begin_ns, clock_ns()));
	if (view->wait.place > 0)
		snprintf(place, sizeof place, STANDING_TEXT_PLACE, view->wait.place, view->wait.waiting);
	add_holder(view, holder, sizeof holder);
	printable(view->name, strlen(view->name), name, sizeof name);
	if (!view->is_live) {
		say(view->settings, MSG(WAITING), waited, name, place, holder);
		return;
	}
	size_t used = strlen(text);
	snprintf(text + used, sizeof text - used, FORMAT_WAITING, waited, name, place, holder);
	live_show(text);
}

/* ---- when ---- */

static bool has_news(const struct wait_view *view)
{
	char now[sizeof view->said];
	summary(view, now, sizeof now);
	return *now && strcmp(now, view->said) != 0;
}

uint64_t wait_view_due_ns(const struct wait_view *view)
{
	return view->is_live || (view->is_told && has_news(view)) ? view->show_ns : UINT64_MAX;
}

void wait_view_show(struct wait_view *view)
{
	if (clock_ns() < wait_view_due_ns(view))
		return;
	show(view);
	if (!view->is_live)
		summary(view, view->said, sizeof view->said);
	view->show_ns = view->least_ns = clock_ns() + (view->is_asked ? EACH_NS : UNASKED_EACH_NS);
}

void wait_view_hold_back(struct wait_view *view, bool on)
{
	view->show_ns = on ? UINT64_MAX : view->is_asked ? clock_ns() : view->least_ns;
}

void wait_view_end(struct wait_view *view)
{
	view->show_ns = UINT64_MAX;
	if (view->end_ns == 0)
		view->end_ns = clock_ns();
	live_erase();
}

void wait_view_json(const struct wait_view *view, struct json *json)
{
	/* The wait may not even have begun. */
	uint64_t waited_ns = view->begin_ns > 0 ? view->end_ns - view->begin_ns : 0;
	json_number(json, "waited_ms", (int64_t)(waited_ns / 1000000));
	json_number_or_null(json, "place", view->wait.place > 0, view->wait.place);
	json_number_or_null(json, "waiting", view->wait.waiting > 0, view->wait.waiting);
}
