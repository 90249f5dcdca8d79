/* SPDX-License-Identifier: MIT */
/* redlock completion: the scripts that shells complete command lines with, and what these scripts ask. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <completion_scripts.h>

#include "cmd.h"
#include "complete.h"
#include "message.h"
#include "values.h"

static const struct option_spec specs[] = {
    {'h', "help", NULL, OPTION_FLAG, offsetof(struct settings, help), 0, 0, "this text"},
};
static const struct option_group options = {"Options", specs, 1};
static const struct option_group *const groups[] = {&options, NULL};

/* Words come by stdin: other users can read argv, and a URL may have a password. */
static int answer(void)
{
	struct text_list words = {0};
	char *line = NULL;
	size_t size = 0;
	bool ok = true;
	while (ok && getline(&line, &size, stdin) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		ok = text_list_add(&words, line);
	}
	if (ok)
		complete_words(stdout, &words);
	free(line);
	text_list_free(&words);
	return ok ? EXIT_OK : EXIT_INTERNAL;
}

static int run(const struct settings *settings, int argc, char **argv)
{
	static const char *const scripts[] = {completion_bash, completion_zsh, completion_fish};
	const char *shells = "bash|zsh|fish|words";
	uint64_t number;
	(void)settings, (void)argc;
	if (value_word(argv[0], shells, &number) != NULL) {
		char words[64];
		complain(MSG(COMPLETION_SHELL), argv[0], value_words_text(shells, words, sizeof words));
		return EXIT_USAGE;
	}
	if (number == sizeof scripts / sizeof scripts[0])
		return answer();
	fputs(scripts[number], stdout);
	return EXIT_OK;
}

const struct command cmd_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "print the script by which a shell completes",
    .details =
        "An installed redlock has put these scripts where the shells look for them. For a redlock "
        "elsewhere: source <(redlock completion bash), the same for zsh, redlock completion fish | source. "
        "The scripts ask `redlock completion words`, which reads the words of a command line, one a line, "
        "the last one to be completed, and prints what may follow. No server is asked.\n",
    .groups = groups,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
