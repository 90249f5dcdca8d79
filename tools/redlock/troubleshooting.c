/* SPDX-License-Identifier: MIT */
#include "troubleshooting.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "doctor/doctor.h"
#include "exit_codes.h"
#include "ls/ls.h"
#include "options.h"
#include "outcome.h"
#include "standing.h"
#include "status.h"

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
     "the lines before name the nodes, or how long the machine stood still. Keys are missing: nodes were "
     "started anew or flushed (`redlock doctor`), or `redlock break` ended the lock (syslog); restart nodes "
     "one "
     "by one. No answers: mend these nodes, or give a longer --ttl. Half of the work may have been done"},
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

/* How a word finds rows. Each way is for when no row is found by the one before it. */
static enum {
	WHOLE,  /* by words of the row: AUTH is not "authors" */
	PARTS,  /* by a part of a word */
	PHRASES /* by a phrase as it was printed, "place 3 of 40": other text stands where the row has "..." */
} way;

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);
	if (text == NULL || length == 0)
		return text != NULL;
	for (const char *at = strcasestr(text, word); at != NULL; at = strcasestr(at + 1, word)) {
		bool begins = at == text || !is_of_word(at[-1]) || !is_of_word(word[0]);
		bool ends = !is_of_word(at[length]) || !is_of_word(word[length - 1]);
		if (way == PARTS || (begins && ends))
			return true;
	}
	return false;
}

/* The text of a message without the parts that differ from one to the next: `gap` for each, "%s" with its
 * length and precision, or a % alone. Returns the number of characters that are the message's own. */
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
		format += *format != '\0' && strchr("sdcufm", *format) != NULL;
		used = (size_t)(stpcpy(text + used, gap) - text);
	}
	text[used] = '\0';
	return own;
}

/* ---- a line that was printed ---- */

/* From "redlock: ", "redlock run: " or what syslog puts before a message on. NULL: no such line. */
static const char *said(const char *line)
{
	static const char *const titles[] = {"redlock", "rflock"};
	for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
		const char *at = strstr(line, titles[i]);
		if (at == NULL || (at > line && at[-1] != ' '))
			continue;
		const char *end = at + strcspn(at, ":");
		if (end[0] == ':' && end[1] == ' ')
			return end + 2;
	}
	return NULL;
}

/* How many characters of the line are the row's own; 0: the line is no such message. `around`: other text may
 * come before it, as that of syslog or of doctor. */
static size_t likeness(const char *line, const char *format, bool around)
{
	char pattern[MESSAGE_MAX] = "*", *begin = pattern + (around ? 1 : 0);
	size_t own = write_format(format, "*", begin, sizeof pattern - 3), length = strlen(pattern);
	if (around && own == 0)
		return 0;
	memcpy(pattern + length, "*", 2);
	for (char *at = pattern; (at = strpbrk(at, "[]?")) != NULL; at++)
		*at = '?'; /* no special characters but the gaps */
	return fnmatch(pattern, line, FNM_NOESCAPE) == 0 ? own + 1 : 0;
}

/* A message begins the line, or has a title in front. That of a command is a part of the format. */
static size_t message_likeness(const char *line, const char *format)
{
	enum { TELLING = 8 };
	const char *text = said(line);
	size_t whole = likeness(line, format, false), bare = text != NULL ? likeness(text, format, false) : 0;
	if (text == NULL)
		return whole > TELLING ? whole : 0;
	bool is_added = text[-3] == 'k' && (text - line == 8 || text - line == 9) && strncmp(format, "r", 1) != 0;
	return is_added || bare > whole ? bare : whole;
}

/* In JSON, and in syslog, a message has its identifier. */
static bool is_identified(const char *line, const char *id)
{
	char member[ID_MAX + 16];
	const char *text = said(line);
	size_t length = strlen(id);
	snprintf(member, sizeof member, "\"message\":\"%s\"", id);
	return strstr(line, member) != NULL ||
	       (text != NULL && strncmp(text, id, length) == 0 && strncmp(text + length, ": ", 2) == 0);
}

/* Whether the word stands alone in the line, as those of the column ODD do. */
static bool has_alone(const char *line, const char *word)
{
	static const char edges[] = " ,\"[]\n";
	size_t length = strlen(word);
	for (const char *at = strstr(line, word); at != NULL; at = strstr(at + 1, word))
		if ((at == line || strchr(edges, at[-1]) != NULL) && strchr(edges, at[length]) != NULL)
			return true;
	return false;
}

/* Whether the line quotes this text, of some length. */
static bool quotes(const char *line, const char *text)
{
	enum { TELLING = 8 };
	char own[MESSAGE_MAX];
	return text != NULL && write_format(text, "*", own, sizeof own) >= TELLING &&
	       likeness(line, text, true) > 0;
}

/* ---- a phrase that was printed ---- */

enum { PHRASE_MAX = 200, TELLING_PHRASE = 6, TELLING_SENTENCE = 12 };

/* The most characters of the phrase that are the text's own, if the text may have been printed with the
 * phrase in it; -1: it may not. `most` has that for each rest of the phrase, from this place of the text on.
 */
static void extend_phrase(const char *phrase, int length, const char *text, bool gap, int *most)
{
	for (int p = 0; p < length; p++) /* most[p + 1] is still that of the next place of the text */
		if (!gap)
			most[p] = most[p + 1] >= 0 && tolower((unsigned char)phrase[p]) == tolower((unsigned char)*text)
			              ? most[p + 1] + 1
			              : -1;
	for (int p = length - 1; p >= 0 && gap; p--)
		most[p] = most[p] > most[p + 1] ? most[p] : most[p + 1];
}

/* 0: too little of the phrase is the text's own. */
static int phrase_likeness(const char *phrase, const char *text)
{
	int most[PHRASE_MAX + 1], best = -1, length = phrase != NULL ? (int)strlen(phrase) : 0;
	if (text == NULL || length > PHRASE_MAX)
		return 0;
	for (int p = 0; p < length; p++)
		most[p] = -1;
	most[length] = 0;
	for (const char *at = text + strlen(text); at > text;) {
		bool gap = at - text >= 3 && strncmp(at - 3, "...", 3) == 0;
		at -= gap ? 3 : 1;
		extend_phrase(phrase, length, at, gap, most);
		best = most[0] > best ? most[0] : best;
	}
	bool is_most = best >= TELLING_PHRASE && best * 3 >= length * 2;
	return is_most || (best >= TELLING_SENTENCE && best * 4 >= length) ? best : 0; /* URLs are long */
}

/* ---- a word that a server says ---- */

/* The vote for a server's error that begins with this word, as NOAUTH does. YES: no error does. */
static enum redlock_vote_code error_vote(const char *word)
{
	char text[32] = "";
	size_t length = word != NULL ? strcspn(word, " ") : 0;
	for (size_t i = 0; i < length && i + 2 < sizeof text; i++)
		text[i] = (char)toupper((unsigned char)word[i]);
	if (length < 3 || length + 2 >= sizeof text || (word[length] != '\0' && memcmp(text, word, length) != 0))
		return REDLOCK_VOTE_YES;
	text[length] = ' '; /* servers have a text after it */
	const struct redlock_reply reply = {.kind = REDLOCK_REPLY_ERROR, .text = text, .length = length + 1};
	const struct redlock_question question = {.size = sizeof question, .reply = &reply};
	enum redlock_vote_code code = redlock_question_vote(&question);
	return code == REDLOCK_VOTE_SERVER ? REDLOCK_VOTE_YES : code;
}

struct page {
	FILE *out;
	const char *word; /* NULL: all rows */
	size_t likeness;  /* of the message that the line is most like */
	int phrase;       /* the most characters of the phrase that one row has; for PHRASES */
	bool measures;    /* nothing is printed, and `phrase` is found */
	const char *head; /* of the section; NULL: it is printed */
	bool found;
};

static bool is_asked_for(const struct page *page, const char *id, const char *cause, const char *step)
{
	const char *word = page->word;
	return word == NULL || has_word(id, word) || has_word(cause, word) || has_word(step, word);
}

/* Whether no row is more like the phrase; while the page measures, none is printed. */
static bool has_phrase(struct page *page, const char *cause, const char *step)
{
	const char *phrase = page->word != NULL ? page->word : "";
	int like = phrase_likeness(phrase, cause), of_step = phrase_likeness(phrase, step);
	like = of_step > like ? of_step : like;
	if (page->measures)
		page->phrase = like > page->phrase ? like : page->phrase;
	return !page->measures && like > 0 && like == page->phrase;
}

static void put_row(struct page *page, const char *id, int code, const char *cause, const char *step)
{
	char begin[ID_MAX + 16];
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

/* `is_it`: its section knows that the line which is asked about is this row. */
static void row(struct page *page, bool is_it, const char *id, int code, const char *cause, const char *step)
{
	const char *word = page->word;
	if (way == PHRASES
	        ? has_phrase(page, cause, step)
	        : is_it || is_asked_for(page, id, cause, step) || quotes(word, cause) || quotes(word, step))
		put_row(page, id, code, cause, step);
}

static void print_results(struct page *page)
{
	page->head = "Results: \"result\" in --json. The number is the exit code.";
#define RESULT_ROW(name, value, text)                                                                        \
	row(page, false, #name, outcome_of_error(value), text, outcome_step(value));
	REDLOCK_ERROR_MAP(RESULT_ROW)
#undef RESULT_ROW
}

static void print_votes(struct page *page)
{
	page->head = "Nodes: \"vote\" of each in --json; \"reason\" is the one to mend first.";
	for (int code = REDLOCK_VOTE_NO + 1; code < REDLOCK_VOTE_COUNT; code++) {
		struct redlock_vote vote = {.size = sizeof vote, .code = (enum redlock_vote_code)code};
		struct outcome outcome = outcome_of(REDLOCK_E_NOQUORUM, &vote, 1);
		row(page, vote.code == error_vote(page->word), redlock_vote_name(vote.code), outcome.code,
		    redlock_vote_text(vote.code), outcome.hint);
	}
	row(page, false, outcome_protected.reason, outcome_protected.code, outcome_protected_text,
	    outcome_protected.hint);
	row(page, false, outcome_descriptors.reason, outcome_descriptors.code,
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
		row(page, false, id, -1, text, step);                                                                \
	}
	EXIT_CODE_MAP(CODE_ROW)
#undef CODE_ROW
}

/* ---- messages ---- */

/* SIZE_MAX: it tells its identifier. */
static size_t likeness_of(const char *line, const struct message_row *m)
{
	if (m->id == NULL)
		return 0;
	return is_identified(line, m->id) ? SIZE_MAX : message_likeness(line, m->format);
}

static size_t best_likeness(const char *line)
{
	size_t most = 0, one;
	for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++)
		if ((one = likeness_of(line, &messages[i])) > most)
			most = one;
	return most;
}

static bool is_message(const struct page *page, const struct message_row *m)
{
	const char *line = page->word;
	return page->likeness > 0 && likeness_of(line, m) == page->likeness;
}

static void print_messages(struct page *page)
{
	const char *word = page->word;
	page->likeness = word != NULL ? best_likeness(word) : 0;
	for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
		const struct message_row *m = &messages[i];
		char text[MESSAGE_MAX];
		write_format(m->format, "...", text, sizeof text);
		const char *step = m->step == NULL ? "nothing has to be done" : *m->step ? m->step : NULL;
		if (m->id == NULL) {
			page->head = m->format;
			continue;
		}
		bool is = word != NULL && is_message(page, m);
		/* Only a phrase of the text itself, not each message whose words the line has. */
		if (way == PHRASES ? has_phrase(page, text, step) : is || is_asked_for(page, m->id, text, step))
			put_row(page, m->id, -1, text, step);
	}
}

/* ---- what ls and doctor say ---- */

static void print_odd(struct page *page)
{
	page->head = "ls: the words of the column ODD, \"odd\" in --json";
#define ODD_ROW(name, id, text, step)                                                                        \
	row(page, page->word != NULL && has_alone(page->word, id), id, -1, text, step);
	LS_ODD_MAP(ODD_ROW)
#undef ODD_ROW
}

static void print_standings(struct page *page)
{
	page->head = "status: what is said of keys and holders, also by messages";
#define STANDING_ROW(name, id, text, step)                                                                   \
	{                                                                                                        \
		char cause[MESSAGE_MAX];                                                                             \
		write_format(text, "...", cause, sizeof cause);                                                      \
		row(page, page->word != NULL && quotes(page->word, text), id, -1, cause + strspn(cause, ", "),       \
		    step);                                                                                           \
	}
	STANDING_TROUBLE_MAP(STANDING_ROW)
#undef STANDING_ROW
}

static void print_troubles(struct page *page)
{
	page->head = "status: the word of a node that has no vote";
#define TROUBLE_ROW(name, text, step)                                                                        \
	row(page, page->word != NULL && has_alone(page->word, #name), #name, -1, text, step);
	STATUS_TROUBLE_MAP(TROUBLE_ROW)
#undef TROUBLE_ROW
}

static void print_finding(void *user, const char *check, const char *text, const char *advice)
{
	struct page *page = user;
	const char *word = page->word;
	char cause[MESSAGE_MAX], step[MESSAGE_MAX] = "";
	write_format(text, "...", cause, sizeof cause);
	if (advice != NULL)
		write_format(advice, "...", step, sizeof step);
	row(page, word != NULL && (quotes(word, text) || quotes(word, advice)), check, -1, cause,
	    *step ? step : NULL);
}

static bool print_page(struct page *page)
{
	print_results(page);
	print_votes(page);
	print_codes(page);
	print_odd(page);
	print_standings(page);
	print_troubles(page);
	page->head = "doctor: \"check\" in --json";
	doctor_each_check(print_finding, page);
	print_messages(page);
	return page->found;
}

bool troubleshooting_print(FILE *out, const char *word)
{
	struct page page = {.out = out, .word = word};
	for (way = WHOLE; way < PHRASES; way++)
		if (print_page(&page))
			return true;
	page.measures = true;
	(void)print_page(&page);
	page.measures = false;
	return print_page(&page);
}
