/* SPDX-License-Identifier: MIT */
/* redlock check NAME TOKEN: is the lock held by this token? */
#include "cmd.h"
#include "token_verb.h"

static const struct option_group *const groups[] = {&names_options, &compat_options, &node_options,
                                                    &output_options, NULL};

static int run(const struct settings *settings, int argc, char **argv)
{
	static const struct token_verb verb = {"check", REDLOCK_OP_QUERY, false, false};
	(void)argc;
	return token_verb_run(&verb, settings, argv);
}

const struct command cmd_check = {
    .name = "check",
    .arguments = "NAME TOKEN",
    .summary = "ask whether the lock is held by this token",
    .details = "Exit code 0: held on a quorum; 1: not held by this token.\n"
               "The answer is about now: the lock may end the moment after. `redlock status NAME` shows how "
               "long it lives. Give it the same --also, --slots and --shared as acquire.\n",
    .groups = groups,
    .looks = true,
    .takes_name = true,
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
