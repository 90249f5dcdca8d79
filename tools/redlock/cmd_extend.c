/* SPDX-License-Identifier: MIT */
/* redlock extend NAME TOKEN: makes the lock of this token live longer. */
#include "cmd.h"
#include "token_verb.h"

static const struct option_group *const groups[] = {&ttl_options,  &names_options,  &compat_options,
                                                    &node_options, &output_options, NULL};

static int run(const struct settings *settings, int argc, char **argv)
{
	static const struct token_verb verb = {"extend", REDLOCK_OP_EXTEND, true, false};
	(void)argc;
	return token_verb_run(&verb, settings, argv);
}

const struct command cmd_extend = {
    .name = "extend",
    .arguments = "NAME TOKEN",
    .summary = "let the lock live for a TTL from now on",
    .details = "It never shortens a lock and never brings a lost one back. Give it the same --also, --slots "
               "and --shared as "
               "acquire.\n"
               "Exit code 0: extended on a quorum; 1: the lock is not held by this token.\n",
    .groups = groups,
    .takes_name = true,
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
