/* SPDX-License-Identifier: MIT */
/* From the guard's child to the command. */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../signals.h"
#include "term.h"

static bool is_ours(const char *variable)
{
	static const char *const names[] = {"REDLOCK_NAME=", LAUNCH_ALSO_IS, SHARE_TOKEN_IS,  SHARE_FENCE_IS,
	                                    SHARE_SLOT_IS,   SHARE_TTL_IS,   "REDLOCK_AUTH=", RUNS_IS};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Those of an outer `redlock run` are left out, and the password. */
static size_t copy_others(char **ret)
{
	size_t count = 0;
	for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
		if (!is_ours(*variable))
			ret[count++] = *variable;
	return count;
}

static size_t also_size(const struct text_list *also)
{
	size_t size = sizeof LAUNCH_ALSO_IS;
	for (size_t i = 0; i < also->count; i++)
		size += strlen(also->items[i]) + 1;
	return size;
}

static char *put_also(char *text, const struct text_list *also)
{
	char *at = text + sprintf(text, "%s", LAUNCH_ALSO_IS);
	for (size_t i = 0; i < also->count; i++)
		at += sprintf(at, "%s%s", i > 0 ? "\n" : "", also->items[i]);
	return text;
}

bool launch_prepare(struct launch *launch, struct run_share *share)
{
	enum { OURS = 7 };
	size_t text_size = sizeof "REDLOCK_NAME=" + strlen(launch->name) + also_size(launch->also) + RUNS_MAX;
	size_t count = OURS + 1;
	for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
		count++;
	char **all = malloc(count * sizeof *all + text_size);
	if (all == NULL)
		return false;
	launch->environment = all;
	char *text = (char *)(all + count), *runs_room = text + text_size - RUNS_MAX;
	all += copy_others(all);
	*all++ = text;
	text += sprintf(text, "REDLOCK_NAME=%s", launch->name) + 1;
	*all++ = memcpy(share->ttl_variable, SHARE_TTL_IS, sizeof SHARE_TTL_IS);
	if (launch->also->count > 0)
		*all++ = put_also(text, launch->also);
	*all++ = memcpy(share->token_variable, SHARE_TOKEN_IS, sizeof SHARE_TOKEN_IS);
	if (launch->fenced)
		*all++ = memcpy(share->fence_variable, SHARE_FENCE_IS, sizeof SHARE_FENCE_IS);
	if (launch->has_slot)
		*all++ = memcpy(share->slot_variable, SHARE_SLOT_IS, sizeof SHARE_SLOT_IS);
	launch->runs_place = all;
	launch->runs = runs_prepare(runs_room, launch->birth, launch->prefix, launch->name, launch->also);
	all[0] = all[1] = NULL;
	return true;
}

void launch_complete(const struct launch *launch, struct run_share *share)
{
	const char *slot = launch->has_slot ? share->slot_variable + sizeof SHARE_SLOT_IS - 1 : "0";
	if (launch->runs != NULL)
		*launch->runs_place = runs_complete(launch->runs, share_token(share), launch->kind, slot);
}

/* The last act before the start: all of the steps before it may have stood still since the grant. */
static void exit_if_late(struct run_share *share, const struct watch *watch)
{
	uint64_t start_by_ns = watch_start_by(watch, share_deadline_ns(share));
	if (clock_ns() < start_by_ns)
		return;
	atomic_store(&share->too_late, true);
	_exit(EXIT_LOST);
}

_Noreturn void launch_hold(const struct launch *launch, struct run_share *share, const struct watch *watch,
                           int proc, pid_t keeper, pid_t guard)
{
	(void)setpgid(0, 0);
	exit_if_late(share, watch);
	_exit(hold_file(launch->hold, share, proc, keeper, guard));
}

/* The group of redlock cannot be joined when redlock has just ended: the guard knows it too, and acts. */
static void join(const struct launch *launch, pid_t guard)
{
	(void)setpgid(0, launch->own_group ? 0 : launch->group);
	if (launch->die_with_guard && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != guard)
		_exit(EXIT_INTERNAL);
}

_Noreturn void launch_term(const struct launch *launch, struct run_share *share, const struct watch *watch,
                           pid_t guard)
{
	join(launch, guard);
	environ = launch->environment;
	exit_if_late(share, watch);
	_exit(term_run(launch->term, &launch->mask));
}

_Noreturn void launch_command(const struct launch *launch, struct run_share *share, const struct watch *watch,
                              pid_t guard)
{
	join(launch, guard);
	signals_restore();
	sigprocmask(SIG_SETMASK, &launch->mask, NULL);
	exit_if_late(share, watch);
	execvpe(launch->argv[0], launch->argv, launch->environment);
	atomic_store(&share->exec_error, errno);
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}
