/* SPDX-License-Identifier: MIT */
/* redlock elect NAME: one leader among services that run everywhere, as redlock-elect(1) describes it. */
#include <redlock/redlock.h>

#include "cmd.h"
#include "message.h"
#include "run/elector.h"
#include "run/status_file.h"

#define FIELD(name) offsetof(struct settings, name)

static const struct option_spec elect_specs[] = {
    {0, "on-gain", "LINE", OPTION_TEXT, FIELD(on_gain), 1, 0,
     "run this with /bin/sh when this host becomes the leader; if it fails, another host leads"},
    {0, "on-loss", "LINE", OPTION_TEXT, FIELD(on_loss_line), 1, 0,
     "run this before the leadership ends, for --kill-after at most if it cannot be renewed"},
    {0, "on-change", "LINE", OPTION_TEXT, FIELD(on_change), 1, 0, "run this when another host leads"},
    {0, "hook-timeout", "TIME", OPTION_DURATION, FIELD(hook_ms), 1, REDLOCK_MAX_TTL_MS,
     "kill a line that takes longer (10s)"},
    {0, "status-file", "FILE", OPTION_TEXT, FIELD(status_file), 1, 0,
     "who leads (redlock-elect-NAME in $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR or /run)"},
    {0, "is-leader", NULL, OPTION_FLAG, FIELD(is_leader), 0, 0,
     "exit code 0 if the elector of this file leads, 1 if not; asks no server"},
    {0, "leader", NULL, OPTION_FLAG, FIELD(show_leader), 0, 0,
     "print the leader's label by this file, 1 if it is not known; asks no server"},
};
static const struct option_group elect_options = {"Election", elect_specs,
                                                  sizeof elect_specs / sizeof elect_specs[0]};

static const struct option_spec lock_specs[] = {
    {0, "max-hold", "TIME", OPTION_DURATION, FIELD(max_hold_ms), 1, REDLOCK_MAX_TTL_MS,
     "step down after this time (no limit)"},
    {0, "fence", NULL, OPTION_FLAG, FIELD(fence), 0, 0,
     "with a fencing token: a number that only rises, for the resource to check; needs a guarded set"},
    {0, "owner", "TEXT", OPTION_TEXT, FIELD(owner), 0, 0, "label of this host, A-Za-z0-9._:@/+- (host:pid)"},
};
static const struct option_group lock_options = {"Lock", lock_specs,
                                                 sizeof lock_specs / sizeof lock_specs[0]};

static const struct option_group *const groups[] = {&elect_options,  &ttl_options,  &renew_options,
                                                    &lock_options,   &kill_options, &node_options,
                                                    &output_options, NULL};

static int look(const struct settings *settings, const char *path)
{
	struct elect_status status;
	bool is_fresh = status_file_read(path, &status), leads = is_fresh && status.state == NEWS_LEADER;
	bool is_known = is_fresh && status.leader[0] != '\0';
	if (settings->is_leader)
		return leads ? EXIT_OK : EXIT_NO;
	if (is_known)
		put_line("%s", status.leader);
	return is_known ? EXIT_OK : EXIT_NO;
}

static int run(const struct settings *settings, int argc, char **argv)
{
	char path[PATH_MAX];
	const char *name = argv[0], *file = settings->status_file;
	(void)argc;
	if (*name == '\0') {
		complain(MSG(ELECT_EMPTY));
		return EXIT_USAGE;
	}
	if (file == NULL && status_file_path(name, path))
		file = path;
	if (file == NULL) {
		complain(MSG(ELECT_LONG));
		return EXIT_USAGE;
	}
	if (settings->is_leader || settings->show_leader)
		return look(settings, file);
	return elector_run(settings, name, file);
}

const struct command cmd_elect = {
    .name = "elect",
    .arguments = "NAME",
    .summary = "lead, or follow, for services that run everywhere",
    .details =
        "Waits for the lock NAME, holds and renews it, and runs a line when it has it and before it "
        "ends; then it waits again. The line of the loss has ended, or is killed, before another host "
        "can lead. USR1: step down. TERM, INT, HUP, QUIT: step down and exit. The lines see REDLOCK_NAME, "
        "REDLOCK_EVENT (gain, loss, change) and REDLOCK_FENCE, those of gain and loss REDLOCK_TOKEN, that "
        "of change REDLOCK_LEADER and REDLOCK_IS_LEADER (1 or 0).\n",
    .groups = groups,
    .takes_name = true,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
