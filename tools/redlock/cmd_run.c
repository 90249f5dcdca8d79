/* SPDX-License-Identifier: MIT */
/* redlock run NAME COMMAND: a job under a lock, supervised to its end. docs/run.md is its whole behaviour. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "marker.h"
#include "message.h"
#include "run/reenter.h"
#include "run/run.h"

#define FIELD(name) offsetof(struct settings, name)

static const struct option_spec lock_specs[] = {
    {0, "min-hold", "TIME", OPTION_DURATION, FIELD(min_hold_ms), 0, REDLOCK_MAX_TTL_MS,
     "hold the lock at least this long, also after the command's end (0)"},
    {0, "once-per", "TIME", OPTION_DURATION, FIELD(once_per_ms), 1000, MARKER_KEEP_MAX_MS,
     "run nothing if the job began less than TIME ago, on whichever host; exit code 0"},
    {0, "retry-failed", NULL, OPTION_FLAG, FIELD(retry_failed), 0, 0,
     "with --once-per: a run that ended with another code than 0 does not count"},
    {0, "remember", "TIME", OPTION_DURATION, FIELD(remember_ms), 1000, MARKER_KEEP_MAX_MS,
     "so long `redlock last` can tell of this run (30d with --once-per, else not at all)"},
    {0, "max-hold", "TIME", OPTION_DURATION, FIELD(max_hold_ms), 1, REDLOCK_MAX_TTL_MS,
     "stop the command after this time: TERM, then KILL; exit code 124 (no limit)"},
};
static const struct option_group lock_options = {"Lock", lock_specs,
                                                 sizeof lock_specs / sizeof lock_specs[0]};

static const struct option_spec command_specs[] = {
    {0, "on-loss", "kill|term|warn", OPTION_WORD, FIELD(on_loss), 0, 0,
     "when the lock ends: kill (TERM, then KILL), term, or warn (kill)"},
    {0, "foreground", NULL, OPTION_FLAG, FIELD(foreground), 0, 0,
     "without a terminal too, leave the command in redlock's process group"},
    {0, "report-fd", "N", OPTION_NUMBER, FIELD(report_fd), 3, 1048575,
     "write one JSON object to this descriptor at the end"},
    {0, "metrics-textfile", "FILE", OPTION_TEXT, FIELD(metrics_file), 1, 0,
     "replace this file at the end, for node_exporter: NAME.prom"},
};
static const struct option_group command_options = {"Command", command_specs,
                                                    sizeof command_specs / sizeof command_specs[0]};
static const struct option_group *const groups[] = {
    &ttl_options,  &wait_options,   &busy_options, &renew_options,   &lock_options, &names_options,
    &kind_options, &compat_options, &kill_options, &command_options, &node_options, &output_options,
    NULL};

static const char title[] = "redlock run";

/* NAME COMMAND..., NAME -- COMMAND..., or NAME -c LINE. `shell` is filled in and used for the last. */
static char **read_command(int argc, char **argv, char **shell)
{
	if (argc >= 2 && strcmp(argv[1], "-c") == 0) {
		if (argc != 3) {
			complain(MSG(SHELL_LINE), title);
			return NULL;
		}
		shell[2] = argv[2];
		return shell;
	}
	if (argc >= 2 && strcmp(argv[1], "--") == 0) {
		argv++;
		argc--;
	} else if (argc >= 2 && argv[1][0] == '-') {
		complain(MSG(OPTION_PLACE), title, argv[1]);
		return NULL;
	}
	if (argc < 2) {
		complain(MSG(NO_COMMAND), title, title);
		return NULL;
	}
	return argv + 1;
}

static bool read_report_fd(const struct settings *settings, int *ret)
{
	*ret = settings->report_fd == 0 ? -1 : (int)settings->report_fd;
	if (settings->json && *ret < 0) {
		complain(MSG(JSON_OF_RUN), title);
		return false;
	}
	/* A descriptor that an exec closes was not open before: it is one of ours. */
	bool ours = *ret >= 0 && (fcntl(*ret, F_GETFD) & FD_CLOEXEC) != 0;
	if (*ret >= 0 && (ours || (fcntl(*ret, F_GETFL) & O_ACCMODE) == O_RDONLY))
		errno = EBADF;
	else if (*ret < 0 || fcntl(*ret, F_SETFD, FD_CLOEXEC) == 0)
		return true;
	complain(MSG(REPORT_FD), title, *ret, strerror(errno));
	return false;
}

static bool holds_fit(const struct settings *settings)
{
	bool fit = settings->max_hold_ms == 0 || settings->min_hold_ms <= settings->max_hold_ms;
	if (!fit)
		complain(MSG(HOLD_TIMES), title);
	return fit;
}

static bool marks_fit(const struct settings *settings)
{
	bool fit = !settings->retry_failed || settings->once_per_ms > 0;
	if (!fit)
		complain(MSG(RETRY_ALONE), title);
	return fit;
}

static int run(const struct settings *settings, int argc, char **argv)
{
	/* -E 0: busy is as good as done, and nothing to speak of. */
	char path[] = "/bin/sh", option[] = "-c";
	char *shell[] = {path, option, NULL, NULL};
	struct run_order order = {.name = argv[0],
	                          .on_loss = (enum on_loss)settings->on_loss, /* the words are in that order */
	                          .silent_when_busy = settings->run_busy_code == 0,
	                          .busy_code = (int)settings->run_busy_code,
	                          .no_quorum_code = EXIT_NOQUORUM,
	                          .not_found_code = EXIT_NOT_FOUND,
	                          .cannot_execute_code = EXIT_CANNOT_EXECUTE};
	order.argv = read_command(argc, argv, shell);
	if (order.argv == NULL || !read_report_fd(settings, &order.report_fd) || !holds_fit(settings) ||
	    !marks_fit(settings))
		return EXIT_USAGE;
	int code;
	if (settings->reentrant && !reenter(settings, &order, &code))
		return code;
	return run_supervise(settings, &order);
}

const struct command cmd_run = {
    .name = "run",
    .arguments = "NAME COMMAND",
    .summary = "run a command while the lock is held",
    .details =
        "NAME [--] COMMAND [ARG...], or NAME -c 'SHELL LINE'. The command has stdin, stdout, stderr "
        "and the exit "
        "code "
        "as without redlock. It is stopped, with all that it started, before the lock can end. "
        "Without -w and -n "
        "it waits for a busy lock without limit. The command sees REDLOCK_NAME, REDLOCK_TOKEN, "
        "REDLOCK_TTL_MS, with --fence also REDLOCK_FENCE, with --also REDLOCK_ALSO: those names, each on "
        "a line, with --slots REDLOCK_SLOT: from 0 on.\n",
    .groups = groups,
    .order = OPTIONS_FIRST,
    .takes_name = true,
    .min_args = 2,
    .max_args = INT_MAX,
    .run = run,
};
