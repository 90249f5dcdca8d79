/* SPDX-License-Identifier: MIT */
/* Whose key is it? */
#include "holder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "printable.h"

enum { TOKEN_DIGITS = 40, UUID_LENGTH = 36, MAX_TIME_LENGTH = 24 };

/* ---- recognisers: true when the value is of the kind ---- */

static bool is_string(const struct redlock_finding *finding)
{
	return strcmp(finding->type, "string") == 0;
}

static bool are_all(const char *bytes, size_t count, const char *allowed)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] == '\0' || strchr(allowed, bytes[i]) == NULL)
			return false;
	return true;
}

/* Recognises a token of --compat setnx-safe: 0x7fffffff7fffffff, a point, random digits. */
static bool is_far_future(const char *token, size_t length)
{
	static const char begin[] = "9223372034707292159.";
	enum { WHOLE = sizeof begin - 1 };
	return length == TOKEN_DIGITS && memcmp(token, begin, WHOLE) == 0 &&
	       are_all(token + WHOLE, TOKEN_DIGITS - WHOLE, "0123456789");
}

bool holder_made_here(const char *token, size_t length)
{
	if (length < TOKEN_DIGITS || is_far_future(token, length))
		return length >= TOKEN_DIGITS;
	bool ends = length == TOKEN_DIGITS || token[TOKEN_DIGITS] == '|';
	return ends && are_all(token, TOKEN_DIGITS, "0123456789abcdef");
}

unsigned holder_more_names(const char *token, size_t length)
{
	const char *plus = holder_made_here(token, length) ? strrchr(token, '+') : NULL;
	char *end;
	if (plus == NULL || plus[1] < '1' || plus[1] > '9')
		return 0;
	unsigned long more = strtoul(plus + 1, &end, 10);
	return *end == '\0' && more < REDLOCK_MAX_NAMES ? (unsigned)more : 0;
}

static bool is_token(const struct redlock_finding *finding)
{
	return is_string(finding) && holder_made_here(finding->value, finding->value_kept);
}

/* The unix time in seconds that a value stands for, 0 when it is not a time: seconds with or without a
 * fraction, or milliseconds, of the years 2001 to 2286 (10 digits of seconds). */
static double unix_time(const struct redlock_finding *finding)
{
	if (!is_string(finding) || finding->value_kept > MAX_TIME_LENGTH)
		return 0;
	char text[MAX_TIME_LENGTH + 1];
	memcpy(text, finding->value, finding->value_kept);
	text[finding->value_kept] = '\0';
	size_t whole = strspn(text, "0123456789");
	if (strlen(text) != finding->value_kept || (whole != 10 && whole != 13))
		return 0;
	if (text[whole] && (text[whole] != '.' || text[whole + 1 + strspn(text + whole + 1, "0123456789")]))
		return 0;
	double seconds = strtod(text, NULL);
	return whole == 13 ? seconds / 1000 : seconds;
}

static bool is_time(const struct redlock_finding *finding)
{
	return unix_time(finding) >= 1e9;
}

/* RLock: `<uuid>:<thread>=<count>`; RReadWriteLock: first `mode=read` or `mode=write`. */
static bool is_redisson(const struct redlock_finding *finding)
{
	const char *value = finding->value;
	size_t kept = finding->value_kept;
	if (strcmp(finding->type, "hash") != 0)
		return false;
	if ((kept == 9 && memcmp(value, "mode=read", 9) == 0) ||
	    (kept == 10 && memcmp(value, "mode=write", 10) == 0))
		return true;
	return kept > UUID_LENGTH && value[8] == '-' && value[13] == '-' && value[UUID_LENGTH] == ':' &&
	       memchr(value, '=', kept) != NULL;
}

/* Whether it is the key of a shared lock: a set of tokens that end with their key. */
static bool is_shared(const struct redlock_finding *finding)
{
	return strcmp(finding->type, "zset") == 0 && finding->value_len > 0;
}

static bool is_missing(const struct redlock_finding *finding)
{
	return strcmp(finding->type, "none") == 0;
}

static bool is_unknown(const struct redlock_finding *finding)
{
	return !finding->known;
}

static bool is_any(const struct redlock_finding *finding)
{
	(void)finding;
	return true;
}

/* The first row that fits decides. */
static const struct {
	bool (*fits)(const struct redlock_finding *finding);
	enum holder_kind kind;
	const char *name;
} kinds[] = {
    {is_unknown, HOLDER_UNKNOWN, "unknown"}, {is_missing, HOLDER_NONE, "none"},
    {is_token, HOLDER_TOKEN, "token"},       {is_time, HOLDER_TIME, "setnx-time"},
    {is_string, HOLDER_VALUE, "value"},      {is_redisson, HOLDER_REDISSON, "redisson"},
    {is_shared, HOLDER_SHARED, "shared"},    {is_any, HOLDER_TYPE, "other-type"},
};

enum holder_kind holder_kind_of(const struct redlock_finding *finding)
{
	size_t i = 0;
	while (!kinds[i].fits(finding))
		i++;
	return kinds[i].kind;
}

const char *holder_kind_name(enum holder_kind kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return "unknown";
}

/* ---- words ---- */

double holder_time_left(const struct redlock_finding *finding)
{
	return is_time(finding) ? unix_time(finding) - (double)time(NULL) : 0;
}

static void time_words(const struct redlock_finding *finding, char *buffer, size_t size)
{
	double until = unix_time(finding), left = holder_time_left(finding);
	time_t seconds = (time_t)until;
	char stamp[32] = "?";
	struct tm parts;
	if (gmtime_r(&seconds, &parts) != NULL)
		strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S UTC", &parts);
	char value[PRINTABLE_MAX];
	printable(finding->value, finding->value_kept, value, sizeof value);
	if (left >= 0)
		snprintf(buffer, size, "a lock of the old SETNX protocol, %s: expires at %s (%.0f s from now)", value,
		         stamp, left);
	else
		snprintf(
		    buffer, size,
		    "a lock of the old SETNX protocol, %s: expired at %s (%.0f s ago; such clients may take it over)",
		    value, stamp, -left);
}

static void redisson_words(const struct redlock_finding *finding, char *buffer, size_t size)
{
	const char *equals = memchr(finding->value, '=', finding->value_kept);
	char field[PRINTABLE_MAX];
	size_t field_length = (size_t)(equals - finding->value);
	printable(finding->value, field_length, field, sizeof field);
	char count[PRINTABLE_MAX];
	printable(equals + 1, finding->value_kept - field_length - 1, count, sizeof count);
	if (strcmp(field, "mode") == 0)
		snprintf(buffer, size, "Redisson read-write lock, held for %s", count);
	else
		snprintf(buffer, size, "Redisson client:thread %s, hold count %s", field, count);
}

/* The owner of the first token that is shown, and how many others there are. */
static void shared_words(const struct redlock_finding *finding, const char *value, char *buffer, size_t size)
{
	const char *label = strchr(value, '|');
	size_t length = label != NULL ? strcspn(label + 1, " ") : 0;
	unsigned long long count = finding->value_len;
	const char *plural = count == 1 ? "" : "s";
	if (length > 0)
		snprintf(buffer, size, "%llu holder%s (owner %.*s%s)", count, plural, (int)length, label + 1,
		         count == 1 ? "" : ", ...");
	else
		snprintf(buffer, size, "%llu holder%s", count, plural);
}

const char *holder_text(const struct redlock_finding *finding, char *buffer, size_t size)
{
	char value[PRINTABLE_MAX];
	printable(finding->value, finding->value_kept, value, sizeof value);
	char owner[REDLOCK_MAX_OWNER * 2];
	const char *label;
	size_t length;
	switch (holder_kind_of(finding)) {
	case HOLDER_UNKNOWN:
		snprintf(buffer, size, "unknown");
		break;
	case HOLDER_NONE:
		snprintf(buffer, size, "no key");
		break;
	case HOLDER_TOKEN:
		label = holder_owner(finding, &length);
		if (label != NULL)
			snprintf(buffer, size, "%s (owner %s)", value, printable(label, length, owner, sizeof owner));
		else
			snprintf(buffer, size, "%s", value);
		break;
	case HOLDER_TIME:
		time_words(finding, buffer, size);
		break;
	case HOLDER_REDISSON:
		redisson_words(finding, buffer, size);
		break;
	case HOLDER_SHARED:
		shared_words(finding, value, buffer, size);
		break;
	case HOLDER_VALUE:
		snprintf(buffer, size, HOLDER_TEXT_OTHER, value);
		break;
	case HOLDER_TYPE:
		if (strcmp(finding->type, "other") == 0) /* of a slot: which one was not asked */
			snprintf(buffer, size, "a key that is no string, which is not a known lock");
		else
			snprintf(buffer, size, "a key of type %s, which is not a known lock", finding->type);
		break;
	}
	return buffer;
}

const char *holder_owner(const struct redlock_finding *finding, size_t *ret_length)
{
	if (holder_kind_of(finding) != HOLDER_TOKEN || finding->value_kept <= TOKEN_DIGITS + 1)
		return NULL;
	*ret_length = finding->value_kept - TOKEN_DIGITS - 1;
	return finding->value + TOKEN_DIGITS + 1;
}

const char *holder_who(const struct redlock_finding *finding, char *buffer, size_t size)
{
	size_t length;
	const char *owner = holder_owner(finding, &length);
	return owner != NULL ? printable(owner, length, buffer, size) : holder_text(finding, buffer, size);
}

/* Each node writes its own time, and between two of them a second may end. */
static bool same_time(const struct redlock_finding *a, const struct redlock_finding *b)
{
	double first = unix_time(a), second = unix_time(b);
	return first > 0 && second > 0 && first - second <= 1 && second - first <= 1;
}

uint64_t holder_identity(const struct redlock_finding *finding)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
	for (size_t i = 0; i < finding->value_kept; i++)
		hash = (hash ^ (unsigned char)finding->value[i]) * UINT64_C(1099511628211);
	return hash + finding->value_len;
}

bool holder_same(const struct redlock_finding *a, const struct redlock_finding *b)
{
	if (a->known && b->known && same_time(a, b))
		return true;
	if (a->known && b->known && is_shared(a) && is_shared(b))
		return true; /* each node has those of a majority, not always the same ones */
	return a->known && b->known && strcmp(a->type, b->type) == 0 && a->value_len == b->value_len &&
	       a->value_kept == b->value_kept && memcmp(a->value, b->value, a->value_kept) == 0;
}
