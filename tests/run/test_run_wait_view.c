/* SPDX-License-Identifier: MIT */
/* The lines about a wait, from what the handle knows: which ones there are. The handle and the clock are the
 * test's. */
#include "wait_view.h"

#include <stdarg.h>
#include <stdio.h>

#include "clock.h"
#include "live.h"
#include "message.h"
#include "unit.h"

#define SECOND_NS UINT64_C(1000000000)

static uint64_t now_ns;
static struct redlock_wait known;
static unsigned lines;
static char last_line[512];

uint64_t clock_ns(void)
{
	return now_ns;
}

int redlock_lock_waiting(const redlock_lock *lock, struct redlock_wait *ret)
{
	(void)lock;
	*ret = known;
	return 0;
}

void say(const struct settings *settings, enum message_id id, const char *format, ...)
{
	va_list arguments;
	(void)settings, (void)id;
	lines++;
	va_start(arguments, format);
	vsnprintf(last_line, sizeof(last_line), format, arguments);
	va_end(arguments);
}

const char *holder_who(const struct redlock_finding *finding, char *buffer, size_t size)
{
	snprintf(buffer, size, "%.*s", (int)finding->value_kept, finding->value);
	return buffer;
}

bool holder_same(const struct redlock_finding *a, const struct redlock_finding *b)
{
	(void)a, (void)b;
	return false;
}

bool live_works(const struct settings *settings)
{
	(void)settings;
	return false;
}

void live_show(const char *text)
{
	(void)text;
}

void live_erase(void)
{
}

void json_number(struct json *json, const char *name, int64_t value)
{
	(void)json, (void)name, (void)value;
}

void json_number_or_null(struct json *json, const char *name, bool known_value, int64_t value)
{
	(void)json, (void)name, (void)known_value, (void)value;
}

/* ---- steps ---- */

static void begin(struct wait_view *view, const struct settings *settings)
{
	now_ns = 100 * SECOND_NS;
	lines = 0;
	last_line[0] = '\0';
	known = (struct redlock_wait){.size = sizeof(known), .node = -1};
	wait_view_begin(view, settings, "job");
}

/* Some seconds later the handle knows this. */
static void tell(struct wait_view *view, const char *holder, unsigned place, unsigned waiting)
{
	now_ns += 2 * SECOND_NS;
	known.node = 0;
	known.told_ns = now_ns;
	known.until_ns = REDLOCK_NEVER_NS;
	known.holder_len = strlen(holder);
	memcpy(known.holder, holder, known.holder_len);
	known.place = place;
	known.waiting = waiting;
	wait_view_look(view, NULL);
	wait_view_show(view);
}

static bool said(const char *text)
{
	return strstr(last_line, text) != NULL;
}

/* ---- tests ---- */

TEST(a_place_stays_while_a_new_gate_has_told_none)
{
	const struct settings settings = {.verbose = true, .wait_ms = REDLOCK_FOREVER};
	struct wait_view view;

	begin(&view, &settings);
	tell(&view, "web-1", 3, 4);
	assert_int_equal(lines, 1);
	assert_true(said("place 3 of 4"));
	tell(&view, "web-1", 0, 0);
	tell(&view, "web-1", 3, 4);
	assert_int_equal(lines, 1);
	tell(&view, "web-1", 0, 0);
	tell(&view, "web-1", 2, 3);
	assert_int_equal(lines, 2);
	assert_true(said("place 2 of 3"));
}

TEST(another_holder_is_told_without_a_place_that_is_not_known)
{
	const struct settings settings = {.verbose = true, .wait_ms = REDLOCK_FOREVER};
	struct wait_view view;

	begin(&view, &settings);
	tell(&view, "web-1", 1, 1);
	tell(&view, "web-2", 0, 0);
	assert_int_equal(lines, 2);
	assert_false(said("place"));
	assert_true(said("held by web-2"));
}

TEST(a_quarantine_that_outlasts_the_wait_is_told_with_the_end_of_the_wait)
{
	struct settings settings = {.wait_ms = 2000};
	struct wait_view view;

	begin(&view, &settings);
	known.quarantine_ns = now_ns + 12 * SECOND_NS;
	wait_view_look(&view, NULL);
	wait_view_look(&view, NULL);
	assert_int_equal(lines, 1);
	assert_true(said("waiting 2.0 s for 'job', and no longer (-w)"));
	assert_true(said("for another 12.0 s"));
	settings.wait_ms = 20000;
	begin(&view, &settings);
	known.quarantine_ns = now_ns + 12 * SECOND_NS;
	wait_view_look(&view, NULL);
	assert_true(said("waiting 12.0 s for 'job'"));
	assert_true(said("goes on by itself"));
	settings.wait_ms = 0;
	begin(&view, &settings);
	known.quarantine_ns = now_ns + 12 * SECOND_NS;
	wait_view_look(&view, NULL);
	assert_true(said("goes on by itself"));
}

TESTS()
