/* SPDX-License-Identifier: MIT */
/* redlock release NAME TOKEN: gives the lock of this token back. */
#include "cmd.h"
#include "token_verb.h"

static const struct option_group *const groups[] = {&names_options, &compat_options, &node_options,
                                                    &output_options, NULL};

static int run(const struct settings *settings, int argc, char **argv)
{
	static const struct token_verb verb = {"release", REDLOCK_OP_RELEASE, false, true};
	(void)argc;
	return token_verb_run(&verb, settings, argv);
}

const struct command cmd_release = {
    .name = "release",
    .arguments = "NAME TOKEN",
    .summary = "give the lock back",
    .details = "Only the key with this token is deleted, on every node that can be reached. Give it the same "
               "--also, "
               "--slots and --shared as acquire.\n"
               "Exit code 0: released on a quorum; 1: it was not held by this token any more.\n",
    .groups = groups,
    .takes_name = true,
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
