/* SPDX-License-Identifier: MIT */
#include "complete.h"

#include <ctype.h>
#include <string.h>

#include <redlock/redlock.h>

#include "cmd.h"

static const struct option_group *const no_groups[] = {NULL};

/* The first words that main.c handles without a row of all_commands. */
static const struct command other_words[] = {
    {.name = "help", .arguments = "TOPIC", .summary = "show all commands, or one", .groups = no_groups},
    {.name = "version", .arguments = "", .summary = "show the version", .groups = no_groups},
};
enum { OTHER_WORDS = sizeof other_words / sizeof other_words[0] };

/* A command that does not exist: nothing is known of what follows. */
static const struct command unknown = {.arguments = "", .groups = no_groups};

/* The place of the last word: facts from the words before it. */
struct place {
	const struct command *command;    /* NULL: no word named one so far */
	const struct option_spec *option; /* the word is the value of this option; NULL: of none */
	const char *config;               /* the value of --config; NULL */
	bool options_ended;               /* the word is no option, whatever it begins with */
	size_t arguments;                 /* of the command, before the word */
	size_t program;                   /* with two arguments or more: the index of the second */
};

/* The word to be completed: of --option=value the value, after a prefix that each answer repeats. */
struct asked {
	FILE *out;
	const char *word;
	size_t prefix;
};

static const struct option_group *const *groups_of(const struct place *place)
{
	return place->command != NULL ? place->command->groups : global_groups;
}

static const struct command *find_word(const char *name)
{
	for (const struct command *const *command = all_commands; *command != NULL; command++)
		if (strcmp((*command)->name, name) == 0)
			return *command;
	for (size_t i = 0; i < OTHER_WORDS; i++)
		if (strcmp(other_words[i].name, name) == 0)
			return &other_words[i];
	return &unknown;
}

static const struct option_spec *find_letter(const struct option_group *const *groups, char letter)
{
	for (; *groups != NULL; groups++)
		for (size_t i = 0; i < (*groups)->count; i++)
			if ((*groups)->specs[i].letter == letter)
				return &(*groups)->specs[i];
	return NULL;
}

/* The option whose value is the word after `word`, NULL: none is. Of -nw it is -w, of -w5s and --wait=5s
 * none. */
static const struct option_spec *option_before_value(const struct option_group *const *groups,
                                                     const char *word)
{
	const struct option_spec *spec = NULL;
	if (word[1] == '-')
		spec = options_find(groups, word + 2);
	for (const char *letter = word + 1; word[1] != '-' && *letter; letter++)
		if ((spec = find_letter(groups, *letter)) != NULL && spec->value != NULL)
			return letter[1] == '\0' ? spec : NULL;
	return spec != NULL && spec->value != NULL ? spec : NULL;
}

/* An argument of a command. Those of `run` end with a command line of another program, or with -c LINE. */
static void pass_argument(struct place *place, const char *word, size_t index)
{
	bool takes_program = place->command->order == OPTIONS_FIRST;
	if (takes_program && place->arguments == 1 && strcmp(word, "--") == 0)
		return;
	if (takes_program && place->arguments == 1 && strcmp(word, "-c") == 0)
		place->command = &unknown;
	if (++place->arguments == 2)
		place->program = index;
	place->options_ended |= takes_program;
}

static void pass(struct place *place, const char *word, size_t index)
{
	if (place->option != NULL) {
		if (place->option->field == offsetof(struct settings, config))
			place->config = word;
		place->option = NULL;
	} else if (!place->options_ended && strcmp(word, "--") == 0) {
		place->options_ended = true;
	} else if (!place->options_ended && word[0] == '-' && word[1]) {
		place->option = option_before_value(groups_of(place), word);
	} else if (place->command == NULL) {
		place->command = find_word(word);
	} else {
		pass_argument(place, word, index);
	}
}

/* Writes a candidate if it begins with what was typed. */
static void offer(const struct asked *asked, const char *candidate, const char *meaning)
{
	const char *typed = asked->word + asked->prefix;
	if (strncmp(candidate, typed, strlen(typed)) == 0)
		fprintf(asked->out, "%.*s%s\t%s\n", (int)asked->prefix, asked->word, candidate, meaning);
}

/* "a|b|c", as far as the next blank. */
static void offer_choices(const struct asked *asked, const char *choices)
{
	char choice[64];
	for (size_t length; (length = strcspn(choices, "| ")) > 0; choices += length + (choices[length] == '|')) {
		snprintf(choice, sizeof choice, "%.*s", (int)length, choices);
		offer(asked, choice, "");
	}
}

static void offer_commands(const struct asked *asked)
{
	for (const struct command *const *command = all_commands; *command != NULL; command++)
		offer(asked, (*command)->name, (*command)->summary);
}

static void offer_topics(const struct asked *asked)
{
	offer_commands(asked);
	offer(asked, "acl", "the rights that redlock needs on the servers");
	offer(asked, "troubleshooting", "causes and next steps of all results");
}

static void offer_options(const struct asked *asked, const struct option_group *const *groups)
{
	char name[64];
	for (; *groups != NULL; groups++)
		for (size_t i = 0; i < (*groups)->count; i++) {
			snprintf(name, sizeof name, "--%s", (*groups)->specs[i].name);
			offer(asked, name, (*groups)->specs[i].help);
		}
}

/* Whether a shell takes the name as it is. Others are not offered: they are data, no part of a command line.
 */
static bool is_plain(const char *name)
{
	while (isalnum((unsigned char)*name) || (*name && strchr("._-", *name) != NULL))
		name++;
	return *name == '\0';
}

/* The sections [cluster NAME] of the configuration. One that cannot be read has none. */
static void offer_clusters(const struct asked *asked, const char *file)
{
	struct redlock_options options;
	redlock_config *config = NULL;
	const char *cluster;
	redlock_options_init(&options);
	if (redlock_config_read(&options, NULL, file, &config) < 0)
		return;
	for (size_t i = 0; (cluster = redlock_config_cluster(config, i)) != NULL; i++)
		if (is_plain(cluster))
			offer(asked, cluster, "");
	redlock_config_free(config);
}

static void answer_value(const struct asked *asked, const struct option_spec *spec, const char *config)
{
	bool is_file = strcmp(spec->value, "FILE") == 0, is_directory = strcmp(spec->value, "DIR") == 0;
	fprintf(asked->out, "%s\n", is_file ? "files" : is_directory ? "directories" : "words");
	if (spec->kind == OPTION_WORD)
		offer_choices(asked, spec->value);
	if (spec->field == offsetof(struct settings, cluster))
		offer_clusters(asked, config);
}

/* By the word of the usage line: COMMAND, or a choice in small letters. Others are known to servers only. */
static void answer_argument(const struct asked *asked, const struct place *place, size_t index)
{
	const char *usage = place->command->arguments;
	if (place->command->order == OPTIONS_FIRST && place->arguments > 0) {
		fprintf(asked->out, "command %zu\n", place->arguments > 1 ? place->program : index);
		return;
	}
	fputs("words\n", asked->out);
	if (place->arguments == 0 && strcmp(usage, "TOPIC") == 0)
		offer_topics(asked);
	if (place->arguments == 0 && islower((unsigned char)usage[0]))
		offer_choices(asked, usage);
}

static void answer_option(struct asked *asked, const struct place *place)
{
	char name[64];
	const struct option_spec *spec = NULL;
	const char *equals = strchr(asked->word, '=');
	if (equals != NULL && strncmp(asked->word, "--", 2) == 0) {
		snprintf(name, sizeof name, "%.*s", (int)(equals - asked->word) - 2, asked->word + 2);
		spec = options_find(groups_of(place), name);
		asked->prefix = (size_t)(equals - asked->word) + 1;
	}
	if (spec != NULL && spec->value != NULL) {
		answer_value(asked, spec, place->config);
		return;
	}
	fputs("words\n", asked->out);
	if (equals == NULL)
		offer_options(asked, groups_of(place));
}

void complete_words(FILE *out, const struct text_list *words)
{
	struct place place = {.command = NULL};
	size_t last = words->count > 0 ? words->count - 1 : 0;
	for (size_t i = 0; i < last; i++)
		pass(&place, words->items[i], i);
	struct asked asked = {.out = out, .word = words->count > 0 ? words->items[last] : ""};
	if (place.option != NULL) {
		answer_value(&asked, place.option, place.config);
	} else if (!place.options_ended && asked.word[0] == '-') {
		answer_option(&asked, &place);
	} else if (place.command != NULL) {
		answer_argument(&asked, &place, last);
	} else {
		fputs("words\n", out);
		offer_commands(&asked);
		for (size_t i = 0; i < OTHER_WORDS; i++)
			offer(&asked, other_words[i].name, other_words[i].summary);
	}
}
