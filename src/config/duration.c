/* SPDX-License-Identifier: MIT */
/* Durations with a unit, as people write them. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <redlock/redlock.h>

static const struct {
	const char *name;
	uint64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

static const char not_a_duration[] = "not a duration; give a number with a unit: 500ms 1.5s 2m 1h 30d";
static const char out_of_range[] = "out of range";

/* Reads the digits at the start of the text. Returns the rest, or NULL: no digit, or more than 64 bits. */
static const char *digits(const char *text, uint64_t *ret)
{
	uint64_t value = 0;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return NULL;
		value = value * 10 + digit;
	}
	*ret = value;
	return at == text ? NULL : at;
}

/* Reads the digits after the point, as `part` of `scale`. Returns the rest, or NULL: no digit, or over 9. */
static const char *fraction(const char *text, uint64_t *ret_part, uint64_t *ret_scale)
{
	const char *rest = digits(text, ret_part);
	if (rest == NULL || rest - text > 9)
		return NULL;
	for (const char *at = text; at < rest; at++)
		*ret_scale *= 10;
	return rest;
}

/* Returns NULL and writes the value, or returns what is wrong. */
static const char *parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret_ms)
{
	uint64_t value, part = 0, scale = 1, unit_ms = 0;
	const char *unit = digits(text, &value);
	if (unit != NULL && *unit == '.')
		unit = fraction(unit + 1, &part, &scale);
	if (unit == NULL)
		return not_a_duration;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(unit, units[i].name) == 0)
			unit_ms = units[i].ms;
	if (!*unit && value == 0 && part == 0)
		unit_ms = 1;
	if (unit_ms == 0)
		return *unit ? "unknown unit; the units are ms s m h d" : "add a unit: ms s m h d";
	part = (part * unit_ms + scale - 1) / scale; /* up, to whole milliseconds */
	if (value > (UINT64_MAX - part) / unit_ms || value * unit_ms + part < min || value * unit_ms + part > max)
		return out_of_range;
	*ret_ms = value * unit_ms + part;
	return NULL;
}

int redlock_duration_parse(const char *text, uint64_t min_ms, uint64_t max_ms, char *error_text,
                           size_t error_text_size, uint64_t *ret_ms)
{
	char low[32], high[32];
	bool may_be_forever = max_ms == REDLOCK_FOREVER;
	if (text == NULL || ret_ms == NULL)
		return REDLOCK_E_INVAL;
	if (may_be_forever && strcmp(text, "forever") == 0) {
		*ret_ms = REDLOCK_FOREVER;
		return 0;
	}
	if (may_be_forever)
		max_ms = REDLOCK_MAX_TTL_MS;
	const char *problem = parse(text, min_ms, max_ms, ret_ms);
	if (problem == NULL)
		return 0;
	redlock_duration_text(min_ms, low, sizeof low);
	redlock_duration_text(max_ms, high, sizeof high);
	if (error_text == NULL || error_text_size == 0)
		return REDLOCK_E_INVAL;
	if (problem == out_of_range)
		snprintf(error_text, error_text_size, "%s: %s: %s to %s%s", text, problem, low, high,
		         may_be_forever ? ", or forever" : "");
	else
		snprintf(error_text, error_text_size, "%s: %s", *text ? text : "''", problem);
	return REDLOCK_E_INVAL;
}

void redlock_duration_text(uint64_t ms, char *buffer, size_t size)
{
	size_t i = 0;
	if (ms == REDLOCK_FOREVER) {
		snprintf(buffer, size, "forever");
		return;
	}
	while (units[i].ms > 1 && (ms == 0 || ms % units[i].ms != 0))
		i++;
	snprintf(buffer, size, "%llu%s", (unsigned long long)(ms / units[i].ms), units[i].name);
}
