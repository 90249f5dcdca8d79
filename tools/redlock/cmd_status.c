/* SPDX-License-Identifier: MIT */
/* redlock status [NAME]: who holds it, or how the nodes are. */
#include "cmd.h"
#include "status.h"

static const struct option_group *const groups[] = {&node_options, &output_options, NULL};

static int run(const struct settings *settings, int argc, char **argv)
{
	return argc == 1 ? status_of_name(settings, argv[0]) : status_of_nodes(settings);
}

const struct command cmd_status = {
    .name = "status",
    .arguments = "[NAME]",
    .summary = "show who holds a lock, or how the nodes are",
    .details =
        "With NAME: what each node has under it, and what that means. Keys of other clients are shown too.\n"
        "Without: each node, and whether locks can be acquired: each is asked for all that a lock needs, "
        "under "
        "names that begin with --prefix. No lock is changed; in a guarded set it may begin or end the "
        "quarantine of a node, as any client does.\n"
        "Exit code 0: a quorum is up (for a name: a quorum answered). --quorum asks for more of them.\n",
    .groups = groups,
    .looks = true,
    .takes_name = true,
    .min_args = 0,
    .max_args = 1,
    .run = run,
};
