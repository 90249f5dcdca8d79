/* SPDX-License-Identifier: MIT */
/* Durations, and the numbers of the command line, against arithmetic that cannot overflow. */
#include "fuzz.h"

#include <redlock/redlock.h>

#include "values.h"

__extension__ typedef unsigned __int128 wide;

/* The leading digits, exactly; more than 30 of them are as good as infinite. */
static wide digits_of(const char *text, size_t *ret_count)
{
	wide value = 0;
	size_t n = strspn(text, "0123456789");
	size_t zeros = strspn(text, "0");
	*ret_count = n;
	if (n - zeros > 30)
		return (wide)UINT64_MAX * 1000;
	for (size_t i = 0; i < n; i++)
		value = value * 10 + (unsigned)(text[i] - '0');
	return value;
}

static wide unit_of(const char *text, wide value)
{
	static const struct {
		const char *name;
		unsigned ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
	if (*text == '\0')
		return value == 0 ? 1 : 0;
	for (size_t i = 0; i < COUNT(units); i++)
		if (strcmp(text, units[i].name) == 0)
			return units[i].ms;
	return 0;
}

static void check_duration(const char *text, uint64_t min, uint64_t max)
{
	size_t count;
	uint64_t got = 7;
	wide value = digits_of(text, &count);
	wide part = 0, scale = 1;
	if (count > 0 && text[count] == '.') { /* a fraction of 1 to 9 digits */
		size_t more;
		part = digits_of(text + count + 1, &more);
		for (size_t i = 0; i < more && i < 9; i++)
			scale *= 10;
		count = more > 0 && more <= 9 ? count + 1 + more : 0;
	}
	wide unit = unit_of(text + count, value + part);
	wide ms = value * unit + (part * unit + scale - 1) / scale;
	bool good = count > 0 && unit > 0 && value <= UINT64_MAX && ms >= min && ms <= max;
	char problem[64] = ""; /* small: cut, with its NUL */
	int error = redlock_duration_parse(text, min, max, problem, sizeof problem, &got);
	must(error == (good ? 0 : REDLOCK_E_INVAL));
	must(good ? got == (uint64_t)ms : got == 7 && problem[0] != '\0');
}

static void check_number(const char *text, uint64_t min, uint64_t max)
{
	size_t count;
	uint64_t got = 7;
	wide value = digits_of(text, &count);
	bool good = count > 0 && text[count] == '\0' && value >= min && value <= max;
	const char *problem = value_number(text, min, max, &got);
	must((problem == NULL) == good);
	must(good ? got == (uint64_t)value : got == 7 && problem[0] != '\0');
}

/* A printed duration can be typed, and means the same. */
static void check_text(uint64_t ms)
{
	char text[32];
	uint64_t again;
	redlock_duration_text(ms, text, sizeof text);
	must(redlock_duration_parse(text, 0, ms, NULL, 0, &again) == 0 && again == ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct feed feed = {bytes, size};
	char *text = feed_text(&feed);
	size_t count;
	wide value = digits_of(text, &count);
	check_duration(text, 0, UINT64_MAX - 1);
	check_duration(text, 10, 2592000000u);
	check_number(text, 0, UINT64_MAX);
	check_number(text, 1, 31);
	check_text((uint64_t)value);
	free(text);
	return 0;
}
