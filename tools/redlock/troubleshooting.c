/* SPDX-License-Identifier: MIT */
#include "troubleshooting.h"

#include <fnmatch.h>
#include <string.h>

#include "exit_codes.h"
#include "options.h"
#include "outcome.h"

enum { INDENT = 4, ID_MAX = 24, MESSAGE_MAX = 512 };

static const struct {
	int code;
	const char *step;
} steps[] = {
    {EXIT_NO, "for a token: the lock is free or has another holder: `redlock status NAME` shows it"},
    {EXIT_ERRORS, "mend the findings from the top: each says what to do"},
    {EXIT_USAGE,
     "the message names the option and what is allowed; `redlock help COMMAND` lists all options"},
    {EXIT_NOQUORUM, "see the votes above; `redlock status` shows each node, `redlock doctor` what is wrong"},
    {EXIT_BUSY, "`redlock status NAME` shows the holder, and when its key expires; -w TIME waits"},
    {EXIT_REFUSED,
     "see the votes above: READONLY, CLUSTER, NOPERM, COMMAND; `redlock help acl` has the rights"},
    {EXIT_AUTH, "see the votes above: AUTH and TLS; `redlock config show` tells where each value comes from"},
    {EXIT_CONFIG, "`redlock config show` prints each value with its file and line"},
    {EXIT_LOST,
     "the lines before name the nodes, or how long the machine stood still; restart nodes one by one, "
     "or give a longer --ttl. Half of the work may have been done"},
    {EXIT_MAX_HOLD, "give a longer --max-hold, or find out why the command hangs"},
    {EXIT_INTERNAL,
     "the message names what was missing: memory, descriptors, the output, or a killed process"},
    {EXIT_CANNOT_EXECUTE, "check the rights of the command, and that it is a program"},
    {EXIT_NOT_FOUND, "give the whole path: cron has a short PATH"},
    {EXIT_SIGNAL, "a terminal, systemd or a timeout sent it that signal"},
};

/* Rows of messages, and of sections, which have no identifier. */
#define IN_TEXT ""
#define NEWS NULL
#define SECTION(name, title) {.format = (title)},
#define MESSAGE(id, text, step) {#id, text, step},
static const struct message_row messages[] = {
#include "message_rows.h"
};

const struct message_row *message_row(enum message_id id)
{
	return &messages[id];
}

static bool has_word(const char *text, const char *word)
{
	return text != NULL && strcasestr(text, word) != NULL;
}

/* The text of a message without the parts that differ from one to the next: `gap` for each, "%s" with its
 * length and precision. Returns the number of characters that are the message's own. */
static size_t write_format(const char *format, const char *gap, char *text, size_t size)
{
	size_t used = 0, own = 0;
	while (*format && used + strlen(gap) + 2 < size) {
		if (*format != '%') {
			own++;
			text[used++] = *format++;
			continue;
		}
		format += 1 + strspn(format + 1, "0123456789.*lz");
		format += *format != '\0';
		used = (size_t)(stpcpy(text + used, gap) - text);
	}
	text[used] = '\0';
	return own;
}

/* Whether a line that was printed is this message. One of hardly any words of its own would be all. */
static bool is_message(const char *line, const char *format)
{
	enum { TELLING = 8 };
	char pattern[MESSAGE_MAX] = "*";
	size_t own = write_format(format, "*", pattern + 1, sizeof pattern - 2), length = strlen(pattern);
	pattern[length] = '*';
	pattern[length + 1] = '\0';
	return own >= TELLING && fnmatch(pattern, line, FNM_NOESCAPE) == 0;
}

struct page {
	FILE *out;
	const char *word; /* NULL: all rows */
	const char *head; /* of the section; NULL: it is printed */
	bool found;
};

static void row(struct page *page, const char *id, int code, const char *cause, const char *step)
{
	char begin[ID_MAX + 16];
	if (page->word != NULL && !has_word(id, page->word) && !has_word(cause, page->word) &&
	    !has_word(step, page->word))
		return;
	if (page->head != NULL)
		fprintf(page->out, "%s%s\n\n", page->found ? "\n" : "", page->head);
	page->head = NULL;
	page->found = true;
	int used = snprintf(begin, sizeof begin, code >= 0 ? "%s (%d): " : "%s: ", id, code);
	fputs(begin, page->out);
	help_wrap(page->out, (size_t)used, INDENT, cause);
	if (step == NULL)
		return;
	fprintf(page->out, "%*s", INDENT, "");
	help_wrap(page->out, INDENT, INDENT, step);
}

static void print_results(struct page *page)
{
	page->head = "Results: \"result\" in --json. The number is the exit code.";
#define RESULT_ROW(name, value, text) row(page, #name, outcome_of_error(value), text, outcome_step(value));
	REDLOCK_ERROR_MAP(RESULT_ROW)
#undef RESULT_ROW
}

static void print_votes(struct page *page)
{
	page->head = "Nodes: \"vote\" of each in --json; \"reason\" is the one to mend first.";
	for (int code = REDLOCK_VOTE_NO + 1; code < REDLOCK_VOTE_COUNT; code++) {
		struct redlock_vote vote = {.size = sizeof vote, .code = (enum redlock_vote_code)code};
		struct outcome outcome = outcome_of(REDLOCK_E_NOQUORUM, &vote, 1);
		row(page, redlock_vote_name(vote.code), outcome.code, redlock_vote_text(vote.code), outcome.hint);
	}
	row(page, outcome_descriptors.reason, outcome_descriptors.code,
	    "this process has no descriptors left for connections", outcome_descriptors.hint);
}

static void print_codes(struct page *page)
{
	char id[ID_MAX];
	page->head = "Exit codes";
#define CODE_ROW(name, number, text)                                                                         \
	{                                                                                                        \
		const char *step = NULL;                                                                             \
		for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)                                          \
			if (steps[i].code == (number))                                                                   \
				step = steps[i].step;                                                                        \
		snprintf(id, sizeof id, "%d", number);                                                               \
		row(page, id, -1, text, step);                                                                       \
	}
	EXIT_CODE_MAP(CODE_ROW)
#undef CODE_ROW
}

static void print_messages(struct page *page)
{
	const char *word = page->word;
	for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
		const struct message_row *m = &messages[i];
		char text[MESSAGE_MAX];
		write_format(m->format, "...", text, sizeof text);
		const char *step = m->step == NULL ? "nothing has to be done" : *m->step ? m->step : NULL;
		if (m->id == NULL)
			page->head = m->format;
		else {
			page->word = word != NULL && is_message(word, m->format) ? NULL : word;
			row(page, m->id, -1, text, step);
		}
	}
}

bool troubleshooting_print(FILE *out, const char *word)
{
	struct page page = {.out = out, .word = word};
	print_results(&page);
	print_votes(&page);
	print_codes(&page);
	print_messages(&page);
	return page.found;
}
