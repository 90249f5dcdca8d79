/* SPDX-License-Identifier: MIT */
/*
 * Command lines of the redlock command, through its option tables. Values are in their ranges, words are only
 * moved, no password of a URL is left in argv, and what is wrong is said.
 *
 * Input: one byte (bit 0: options only in front), then the words, one for each line.
 */
#include "fuzz.h"

#include <stdarg.h>

#include <redlock/redlock.h>

#include "message.h"
#include "net/url.h"
#include "secret.h"
#include "values.h"

enum { WORDS_MAX = 24 };

/* The shared groups have no options of these kinds; subcommands do. */
static const struct option_spec own_specs[] = {
    {'w', "wait", "TIME", OPTION_DURATION, offsetof(struct settings, wait_ms), 0, UINT64_MAX, "wait"},
    {'n', "nonblock", NULL, OPTION_ZERO, offsetof(struct settings, wait_ms), 0, 0, "do not wait"},
    {'E', "conflict-exit-code", "CODE", OPTION_NUMBER, offsetof(struct settings, busy_code), 0, 255, "code"},
};
static const struct option_group own_options = {"Own", own_specs, COUNT(own_specs)};

static unsigned complaints;

/* The linker gives us the complaints of options.c: they are checked, not printed. */
void __wrap_complain(int id, const char *format, ...) __attribute__((format(printf, 2, 3)));
void __wrap_messages_follow(const struct settings *settings);

void __wrap_messages_follow(const struct settings *settings)
{
	(void)settings;
}

void __wrap_complain(int id, const char *format, ...)
{
	(void)id;
	char line[512];
	va_list arguments;
	va_start(arguments, format);
	must(vsnprintf(line, sizeof line, format, arguments) > 0);
	va_end(arguments);
	must(strchr(line, ':') != NULL);
	complaints++;
}

struct line {
	char *bytes;
	char *words[WORDS_MAX + 2]; /* "redlock", the words, NULL */
	int count;
};

static struct line split(struct feed *feed)
{
	const uint8_t *bytes;
	size_t size = feed_take(feed, feed->left, &bytes);
	struct line line = {.bytes = malloc(size + sizeof "redlock" + 1)};
	must(line.bytes != NULL);
	memcpy(line.bytes, "redlock", sizeof "redlock");
	char *at = line.bytes + sizeof "redlock";
	if (size > 0)
		memcpy(at, bytes, size);
	at[size] = '\0';
	line.words[line.count++] = line.bytes;
	while (size > 0 && line.count <= WORDS_MAX) {
		line.words[line.count++] = at;
		at += strcspn(at, "\n");
		if (*at == '\0')
			break;
		*at++ = '\0';
	}
	return line;
}

static void check_ranges(const struct settings *s)
{
	must(s->quorum <= REDLOCK_MAX_NODES);
	must(s->node_timeout_ms <= 3600000);
	must(s->drift_ppm <= 500000 || s->drift_ppm == UINT64_MAX);
	must(s->ttl_ms >= REDLOCK_MIN_TTL_MS && s->ttl_ms <= REDLOCK_MAX_TTL_MS);
	must(s->busy_code <= 255);
}

/* Whether a URL of a comma list has a password, which then must be blanked. `shown` is the same text as
 * another user sees it. */
static bool check_url(const char *url, const char *shown)
{
	struct rl_endpoint endpoint;
	char why[128];
	if (rl_url_parse(url, &endpoint, why, sizeof why) != 0)
		return false;
	const char *begin = strstr(url, "://") + 3;
	size_t end = strcspn(begin, endpoint.is_unix ? "/?" : "/");
	bool secret = endpoint.password != NULL;
	while (secret && begin[end] != '@')
		end--;
	for (size_t i = strcspn(begin, ":") + 1; secret && i < end; i++)
		must(shown[begin - url + (ptrdiff_t)i] == '*');
	rl_url_free(&endpoint);
	return secret;
}

static bool check_blanked(const char *list)
{
	bool secret = false;
	char *url = strdup(list);
	char *shown = strdup(list);
	must(url != NULL && shown != NULL);
	bool found = secret_blank_urls(shown);
	must(strlen(shown) == strlen(list));
	size_t next = 0;
	for (size_t at = 0; list[at] != '\0'; at = next) {
		next = at + strcspn(list + at, ",");
		url[next] = '\0';
		secret = check_url(url + at, shown + at) || secret;
		next += list[next] == ',';
	}
	must(!secret || found);
	secret = check_url(list, shown) || secret; /* the list as one URL: a comma may be in the password */
	must(!secret || found);
	free(shown);
	free(url);
	return secret;
}

static void check_urls(const struct settings *s)
{
	bool secret = false;
	for (size_t i = 0; i < s->urls.count; i++)
		secret = check_blanked(s->urls.items[i]) || secret;
	must(!secret || s->password_in_argv);
}

/* Words are moved, never lost: each begins somewhere in the bytes they came in. */
static void check_words(const struct line *line, char **before)
{
	for (int i = 0; i < line->count; i++) {
		int found = 0;
		for (int j = 0; j < line->count; j++)
			found += before[j] == line->words[i];
		must(found == 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct option_group *const groups[] = {&node_options, &output_options, &ttl_options,
	                                                    &own_options, NULL};
	struct feed feed = {bytes, size};
	struct settings settings;
	enum option_order order = feed_bool(&feed) ? OPTIONS_FIRST : OPTIONS_ANYWHERE;
	struct line line = split(&feed);
	char *before[WORDS_MAX + 2];
	memcpy(before, line.words, sizeof before);
	complaints = 0;
	settings_init(&settings);
	int first = options_parse(&settings, "redlock acquire", groups, order, line.count, line.words);
	must((first < 0) == (complaints > 0) && first != 0 && first <= line.count);
	check_words(&line, before);
	check_ranges(&settings);
	check_urls(&settings);
	settings_clear(&settings);
	free(line.bytes);
	return 0;
}
