/* SPDX-License-Identifier: MIT */
/* Parses command lines by the option tables, and prints the tables as help. */
#include "options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>

#include "exit_codes.h"
#include "message.h"
#include "secret.h"
#include "suggest.h"
#include "values.h"

enum { MAX_OPTIONS = 48, FIRST_LONG_ONLY = 256 };

#define FIELD(name) offsetof(struct settings, name)

static const struct option_spec node_specs[] = {
    {'r', "url", "URL", OPTION_URLS, FIELD(urls), 0, 0,
     "a node; repeat it, or give a comma list. `local`: the cluster of `redlock cluster start`"},
    {'C', "cluster", "NAME", OPTION_TEXT, FIELD(cluster), 0, 0,
     "the nodes of this section of the configuration"},
    {0, "config", "FILE", OPTION_TEXT, FIELD(config), 1, 0, "read this configuration, and no other"},
    {0, "user", "NAME", OPTION_TEXT, FIELD(user), 0, 0, "user for nodes whose URL names none"},
    {0, "password-file", "FILE", OPTION_TEXT, FIELD(password_file), 0, 0,
     "file with the password for nodes whose URL has none (REDLOCK_AUTH, REDISCLI_AUTH)"},
    {0, "askpass", NULL, OPTION_FLAG, FIELD(ask_password), 0, 0, "ask for that password on the terminal"},
    {0, "cacert", "FILE", OPTION_TEXT, FIELD(ca_file), 0, 0,
     "authorities for certificates of rediss:// nodes (the system's)"},
    {0, "cacertdir", "DIR", OPTION_TEXT, FIELD(ca_dir), 0, 0, "the same, a directory of hashed names"},
    {0, "cert", "FILE", OPTION_TEXT, FIELD(cert_file), 0, 0, "our certificate, for nodes that ask for one"},
    {0, "key", "FILE", OPTION_TEXT, FIELD(key_file), 0, 0, "its key (in the same file)"},
    {0, "sni", "NAME", OPTION_TEXT, FIELD(tls_name), 1, 0,
     "the name that certificates must have (the URL's host)"},
    {0, "insecure", NULL, OPTION_FLAG, FIELD(insecure), 0, 0,
     "accept any certificate: no protection from anyone on the network path"},
    {0, "prefix", "TEXT", OPTION_TEXT, FIELD(prefix), 0, 0, "put before every name to make the key"},
    {0, "quorum", "N", OPTION_NUMBER, FIELD(quorum), 1, REDLOCK_MAX_NODES,
     "ask for more nodes than a majority"},
    {0, "guard", "off|auto|require", OPTION_WORD, FIELD(guard), 0, 0,
     "keep out nodes that may have forgotten locks: see redlock init (auto: once a record was seen)"},
    {0, "node-timeout", "TIME", OPTION_DURATION, FIELD(node_timeout_ms), 1, 3600000,
     "how long a node may take (200ms, at most ttl/3)"},
    {0, "drift-ppm", "N", OPTION_NUMBER, FIELD(drift_ppm), 0, 500000,
     "allowance for clock rates, millionths of the TTL (10000)"},
};
const struct option_group node_options = {"Nodes", node_specs, sizeof node_specs / sizeof node_specs[0]};

static const struct option_spec output_specs[] = {
    {'q', "quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, 0, "print no messages, only exit"},
    {'v', "verbose", NULL, OPTION_FLAG, FIELD(verbose), 0, 0, "show each node's vote on stderr"},
    {0, "json", NULL, OPTION_FLAG, FIELD(json), 0, 0, "print one JSON object on stdout"},
    {0, "trace", NULL, OPTION_FLAG, FIELD(trace), 0, 0, "show every transition on stderr"},
    {0, "syslog", NULL, OPTION_FLAG, FIELD(syslog), 0, 0,
     "messages to the system's log as well; with -q to it alone"},
    {'h', "help", NULL, OPTION_FLAG, FIELD(help), 0, 0, "this text"},
};
const struct option_group output_options = {"Output", output_specs,
                                            sizeof output_specs / sizeof output_specs[0]};

static const struct option_spec ttl_specs[] = {
    {'t', "ttl", "TIME", OPTION_DURATION, FIELD(ttl_ms), REDLOCK_MIN_TTL_MS, REDLOCK_MAX_TTL_MS,
     "how long the lock lives without renewal (30s)"},
};
const struct option_group ttl_options = {"Lock", ttl_specs, 1};

static const struct option_spec wait_specs[] = {
    {'w', "wait", "TIME", OPTION_DURATION, FIELD(wait_ms), 0, REDLOCK_FOREVER,
     "how long to wait, 0 for one try (no limit while busy, 10s without a quorum)"},
    {'n', "nonblock", NULL, OPTION_ZERO, FIELD(wait_ms), 0, 0,
     "do not wait for a holder; while nodes are in quarantine it waits, and goes on by itself; as -w 0"},
    {0, "fence", NULL, OPTION_FLAG, FIELD(fence), 0, 0,
     "with a fencing token: a number that only rises, for the resource to check; needs a guarded set"},
    {0, "owner", "TEXT", OPTION_TEXT, FIELD(owner), 0, 0, "label in the token, A-Za-z0-9._:@/+- (host:pid)"},
};
const struct option_group wait_options = {"Lock", wait_specs, sizeof wait_specs / sizeof wait_specs[0]};

static const struct option_spec renew_specs[] = {
    {0, "renew", "TIME", OPTION_DURATION, FIELD(renew_ms), 0, REDLOCK_MAX_TTL_MS,
     "when to renew, after each grant; 0: the default (ttl/3)"},
};
const struct option_group renew_options = {"Lock", renew_specs, 1};

static const struct option_spec kill_specs[] = {
    {'k', "kill-after", "TIME", OPTION_DURATION, FIELD(kill_after_ms), 1, REDLOCK_MAX_TTL_MS,
     "time from TERM to KILL (the smaller of 5s and ttl/6)"},
};
const struct option_group kill_options = {"Command", kill_specs, 1};

static const struct option_spec busy_specs[] = {
    {'E', "conflict-exit-code", "CODE", OPTION_NUMBER, FIELD(run_busy_code), 0, 255,
     "exit code when busy (75)"},
};
const struct option_group busy_options = {"Lock", busy_specs, 1};

static const struct option_spec compat_specs[] = {
    {0, "shared", NULL, OPTION_FLAG, FIELD(shared), 0, 0,
     "a shared lock: any number of holders at once, or one exclusive holder"},
    {0, "compat", "off|setnx|setnx-safe", OPTION_WORD, FIELD(compat), 0, 0,
     "setnx: share the lock with clients of the old SETNX protocol, as weak as that: their clocks decide, "
     "and "
     "one that lost a race moves the end of the lock; setnx-safe: only be safe from clients that take tokens "
     "for a time (off)"},
};
const struct option_group compat_options = {"Kind", compat_specs,
                                            sizeof compat_specs / sizeof compat_specs[0]};

static const struct option_spec names_specs[] = {
    {0, "also", "NAME", OPTION_TEXTS, FIELD(also), 0, 0,
     "hold this name too, all of them or none, in any order; repeat it"},
    {0, "slots", "K", OPTION_NUMBER, FIELD(slots), 1, REDLOCK_MAX_SLOTS,
     "up to K hold NAME at a time, each with a number of its own (run: in REDLOCK_SLOT)"},
};
const struct option_group names_options = {"Kind", names_specs, sizeof names_specs / sizeof names_specs[0]};

static const struct option_spec kind_specs[] = {
    {0, "reentrant", NULL, OPTION_FLAG, FIELD(reentrant), 0, 0,
     "under a run that holds NAME: only run the command; the run above keeps the lock"},
};
const struct option_group kind_options = {"Kind", kind_specs, sizeof kind_specs / sizeof kind_specs[0]};

static const struct option_spec accept_specs[] = {
    {0, "accept", "CHECK[,CHECK...]", OPTION_TEXTS, FIELD(accept), 0, 0,
     "show warnings of these checks, but do not count them; the check is the word in brackets"},
};
const struct option_group accept_options = {"Findings", accept_specs, 1};

void settings_init(struct settings *settings)
{
	memset(settings, 0, sizeof *settings);
	settings->drift_ppm = UINT64_MAX;     /* not given: the library's default */
	settings->renew_ms = REDLOCK_FOREVER; /* not given: by the TTL */
	settings->guard = REDLOCK_GUARD_AUTO;
	settings->ttl_ms = 30000;
	settings->wait_ms = REDLOCK_FOREVER;
	settings->busy_code = settings->run_busy_code = EXIT_BUSY;
	settings->duration_ms = 3000;
	settings->hook_ms = 10000;
	settings->every_ms = 2000;
	settings->share = 2;
}

void settings_clear(struct settings *settings)
{
	text_list_free(&settings->urls);
	text_list_free(&settings->url_sources);
	text_list_free(&settings->texts);
	text_list_free(&settings->also);
	text_list_free(&settings->accept);
	text_list_free(&settings->clusters);
	secret_free(settings->password);
}

/* ---- the tables as getopt_long(3) wants them ---- */

struct parser {
	const struct option_spec *specs[MAX_OPTIONS];
	struct option longs[MAX_OPTIONS + 1];
	char shorts[2 * MAX_OPTIONS + 4];
	int count;
};

static void parser_add(struct parser *parser, const struct option_spec *spec)
{
	size_t end = strlen(parser->shorts);
	struct option *option = &parser->longs[parser->count];
	option->name = spec->name;
	option->has_arg = spec->value != NULL ? required_argument : no_argument;
	option->val = FIRST_LONG_ONLY + parser->count;
	if (spec->letter) {
		parser->shorts[end++] = spec->letter;
		if (spec->value != NULL)
			parser->shorts[end++] = ':';
		parser->shorts[end] = '\0';
	}
	parser->specs[parser->count++] = spec;
}

static void parser_init(struct parser *parser, const struct option_group *const *groups,
                        enum option_order order)
{
	memset(parser, 0, sizeof *parser);
	snprintf(parser->shorts, sizeof parser->shorts, "%s", order == OPTIONS_FIRST ? "+:" : ":");
	for (; *groups != NULL; groups++)
		for (size_t i = 0; i < (*groups)->count && parser->count < MAX_OPTIONS; i++)
			parser_add(parser, &(*groups)->specs[i]);
}

static const struct option_spec *parser_find(const struct parser *parser, int value)
{
	if (value >= FIRST_LONG_ONLY && value < FIRST_LONG_ONLY + parser->count)
		return parser->specs[value - FIRST_LONG_ONLY];
	for (int i = 0; i < parser->count; i++)
		if (parser->specs[i]->letter && parser->specs[i]->letter == value)
			return parser->specs[i];
	return NULL;
}

/* ---- values ---- */

/* A copy that lives as long as the settings. NULL: out of memory. */
static const char *keep(struct settings *settings, const char *text)
{
	if (!text_list_add(&settings->texts, text))
		return NULL;
	return settings->texts.items[settings->texts.count - 1];
}

/* Numbers and words. Returns NULL, or what is wrong with the text. */
static const char *parse_number(const struct option_spec *spec, const char *text, uint64_t *ret)
{
	switch (spec->kind) {
	case OPTION_NUMBER:
		return value_number(text, spec->min, spec->max, ret);
	case OPTION_SECONDS:
		return value_seconds(text, spec->min, spec->max, ret);
	case OPTION_WORD:
		return value_word(text, spec->value, ret);
	default:
		*ret = 0; /* OPTION_ZERO */
		return NULL;
	}
}

/* Texts and lists of them. */
static const char *parse_text(struct settings *settings, const struct option_spec *spec, const char *text)
{
	void *field = (char *)settings + spec->field;
	if (spec->min > 0 && !*text)
		return "is empty";
	if (spec->kind == OPTION_URLS || spec->kind == OPTION_TEXTS)
		return text_list_add(field, text) ? NULL : "out of memory";
	if (spec->kind == OPTION_URL && *(const char **)field != NULL)
		return "is given twice: members change one at a time, each by a run of its own";
	*(const char **)field = keep(settings, text);
	return *(const char **)field != NULL ? NULL : "out of memory";
}

/* The sentence of a problem: with the text, and the range if that is what is wrong. */
static bool refuse(const struct option_spec *spec, const char *text, const char *what, char *problem,
                   size_t size)
{
	char low[32], high[32], words[128];
	bool is_time = spec->kind == OPTION_SECONDS;
	redlock_duration_text(spec->min, low, sizeof low);
	redlock_duration_text(spec->max, high, sizeof high);
	if (strncmp(what, "is ", 3) == 0)
		snprintf(problem, size, "%s", what);
	else if (what == value_unknown_word)
		snprintf(problem, size, "%s: give %s", text, value_words_text(spec->value, words, sizeof words));
	else if (what == value_out_of_range && is_time)
		snprintf(problem, size, "%s: %s: %s to %s", text, what, low, high);
	else if (what == value_out_of_range)
		snprintf(problem, size, "%s: %s: %llu to %llu", text, what, (unsigned long long)spec->min,
		         (unsigned long long)spec->max);
	else
		snprintf(problem, size, "%s: %s", *text ? text : "''", what);
	return false;
}

static bool parse(struct settings *settings, const struct option_spec *spec, const char *text, char *problem,
                  size_t size)
{
	void *field = (char *)settings + spec->field;
	const char *what = NULL;
	switch (spec->kind) {
	case OPTION_FLAG:
	case OPTION_OFF:
		*(bool *)field = spec->kind == OPTION_FLAG;
		break;
	case OPTION_DURATION:
		return redlock_duration_parse(text, spec->min, spec->max, problem, size, field) == 0;
	case OPTION_ZERO:
	case OPTION_NUMBER:
	case OPTION_SECONDS:
	case OPTION_WORD:
		what = parse_number(spec, text, field);
		break;
	case OPTION_TEXT:
	case OPTION_URL:
	case OPTION_URLS:
	case OPTION_TEXTS:
		what = parse_text(settings, spec, text);
		break;
	}
	return what == NULL || refuse(spec, text, what, problem, size);
}

const struct setting_source *settings_source(const struct settings *settings, size_t field)
{
	for (size_t i = 0; i < settings->source_count; i++)
		if (settings->sources[i].field == field)
			return &settings->sources[i];
	return NULL;
}

void settings_forget(struct settings *settings, size_t field)
{
	size_t kept = 0;
	for (size_t i = 0; i < settings->source_count; i++)
		if (settings->sources[i].field != field)
			settings->sources[kept++] = settings->sources[i];
	settings->source_count = kept;
}

/* The source of the field, to be overwritten. NULL: no room, which the number of options excludes. */
static struct setting_source *source_of(struct settings *settings, size_t field)
{
	for (size_t i = 0; i < settings->source_count; i++)
		if (settings->sources[i].field == field)
			return &settings->sources[i];
	if (settings->source_count == MAX_SOURCES)
		return NULL;
	settings->sources[settings->source_count] = (struct setting_source){.field = field};
	return &settings->sources[settings->source_count++];
}

/* Empties a list before its first value of a higher rank. */
static void drop_list(struct settings *settings, const struct option_spec *spec)
{
	if (spec->kind == OPTION_URLS || spec->kind == OPTION_TEXTS)
		text_list_free((struct text_list *)((char *)settings + spec->field));
	if (spec->kind == OPTION_URLS)
		text_list_free(&settings->url_sources);
}

bool settings_store(struct settings *settings, const struct option_spec *spec, const char *text,
                    enum setting_rank rank, const char *where, char *problem, size_t size)
{
	struct setting_source *source = source_of(settings, spec->field);
	if (source == NULL || source->rank > rank)
		return true;
	if (source->rank < rank)
		drop_list(settings, spec);
	if (!parse(settings, spec, text, problem, size))
		return false;
	source->rank = rank;
	source->where = keep(settings, where);
	bool listed = spec->kind != OPTION_URLS || text_list_add(&settings->url_sources, where);
	if (source->where == NULL || !listed)
		snprintf(problem, size, "out of memory");
	return source->where != NULL && listed;
}

const struct option_spec *options_find(const struct option_group *const *groups, const char *name)
{
	for (; *groups != NULL; groups++)
		for (size_t i = 0; i < (*groups)->count; i++)
			if (strcmp((*groups)->specs[i].name, name) == 0)
				return &(*groups)->specs[i];
	return NULL;
}

/* By which other commands name their server. */
static bool is_server_word(const char *name)
{
	static const char *const words[] = {"server", "servers", "nodes", "host", "uri"};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(name, words[i]) == 0)
			return true;
	return false;
}

/* Where an option goes that was typed before the word to which it belongs. NULL: not known. */
static const char *right_place(const struct parser *typed_for, const char *command, int letter,
                               const char *name)
{
	static const struct option_group *const groups[] = {&node_options, &ttl_options, &wait_options,
	                                                    &output_options, NULL};
	struct parser parser;
	if (strcmp(command, "redlock run") == 0 && letter == 'c')
		return "goes after the name of the lock: redlock run NAME -c 'LINE'";
	if (parser_find(typed_for, 'r') != NULL && (letter == 'u' || is_server_word(name)))
		return "is not an option: -r URL names a node";
	parser_init(&parser, groups, OPTIONS_FIRST);
	bool found = letter != 0 && parser_find(&parser, letter) != NULL;
	for (int i = 0; i < parser.count; i++)
		found |= strcmp(parser.longs[i].name, name) == 0;
	return found && strcmp(command, "redlock") == 0 ? "goes after the command: redlock COMMAND [OPTION...]"
	                                                : NULL;
}

static void complain_option(const struct parser *parser, const char *command, int code, char **argv)
{
	bool with_value = code != ':' && optopt > 0 && parser_find(parser, optopt) != NULL;
	const char *what = code == ':'  ? "needs a value"
	                   : with_value ? "takes no value"
	                                : "is not an option of this command";
	/* The text after `=` may be a secret. */
	int length = (int)strcspn(argv[optind - 1], "=");
	char typed[32] = "";
	bool is_letter = optopt > 0 && optopt < FIRST_LONG_ONLY;
	bool is_long = optopt == 0 && strncmp(argv[optind - 1], "--", 2) == 0;
	if (is_long)
		snprintf(typed, sizeof typed, "%.*s", length - 2, argv[optind - 1] + 2);
	const char *place =
	    is_letter || is_long ? right_place(parser, command, is_letter ? optopt : 0, typed) : NULL;
	what = place != NULL ? place : what;
	struct suggestion suggestion = {.word = typed};
	if (is_letter && !with_value)
		complain(MSG(OPTION_LETTER), command, optopt, what, command);
	else {
		for (int i = 0; i < parser->count; i++)
			suggest(&suggestion, parser->longs[i].name);
		complain(MSG(OPTION_WORD), command, length, argv[optind - 1], what,
		         suggestion_text(&suggestion, "--"), command);
	}
}

/* From argv, where every user can see it. */
static bool take(struct settings *settings, const struct option_spec *spec, char *text, char *problem,
                 size_t size)
{
	char where[64];
	snprintf(where, sizeof where, "--%s", spec->name);
	bool ok =
	    settings_store(settings, spec, text != NULL ? text : "", RANK_COMMAND_LINE, where, problem, size);
	if ((spec->kind == OPTION_URLS || spec->kind == OPTION_URL) && secret_blank_urls(text))
		settings->password_in_argv = true;
	return ok;
}

int options_parse(struct settings *settings, const char *command, const struct option_group *const *groups,
                  enum option_order order, int argc, char **argv)
{
	struct parser parser;
	parser_init(&parser, groups, order);
	opterr = 0;
	optind = 0; /* glibc: start over, for the second parse of one process */
	char problem[512];
	int code;
	while ((code = getopt_long(argc, argv, parser.shorts, parser.longs, NULL)) != -1) {
		const struct option_spec *spec = parser_find(&parser, code);
		if (spec == NULL) {
			complain_option(&parser, command, code, argv);
			return -1;
		}
		bool is_taken = take(settings, spec, optarg, problem, sizeof problem);
		messages_follow(settings);
		if (!is_taken) {
			complain(MSG(OPTION_VALUE), command, spec->name, problem);
			return -1;
		}
	}
	return optind;
}

/* ---- help ---- */

enum { HELP_COLUMNS = 80, HELP_INDENT = 29 };

void help_wrap(FILE *out, size_t at, size_t indent, const char *text)
{
	for (bool first = true; *text; first = false) {
		size_t word = strcspn(text, " \n");
		if (!first && at + 1 + word > HELP_COLUMNS) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first && at > indent) {
			putc(' ', out);
			at++;
		}
		fwrite(text, 1, word, out);
		at += word;
		text += word;
		if (*text == '\n' && text[1]) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		}
		text += *text != '\0';
	}
	putc('\n', out);
}

static void help_line(FILE *out, const struct option_spec *spec)
{
	char left[64];
	const char *value = spec->value != NULL ? spec->value : "";
	const char *space = spec->value != NULL ? " " : "";
	if (spec->letter)
		snprintf(left, sizeof left, "-%c, --%s%s%s", spec->letter, spec->name, space, value);
	else
		snprintf(left, sizeof left, "    --%s%s%s", spec->name, space, value);
	if (strlen(left) > 26)
		fprintf(out, "  %s\n%*s", left, HELP_INDENT, "");
	else
		fprintf(out, "  %-26s ", left);
	help_wrap(out, HELP_INDENT, HELP_INDENT, spec->help);
}

void options_help(FILE *out, const struct option_group *const *groups)
{
	const char *title = NULL;
	for (; *groups != NULL; groups++) {
		if (title == NULL || strcmp(title, (*groups)->title) != 0)
			fprintf(out, "\n%s:\n", (*groups)->title);
		title = (*groups)->title;
		for (size_t i = 0; i < (*groups)->count; i++)
			help_line(out, &(*groups)->specs[i]);
	}
}
