/* SPDX-License-Identifier: MIT */
/* Which runs above this process hold a name. */
#include "above.h"

#include <string.h>
#include <unistd.h>

#include "family.h"
#include "guard.h"

/* Who shares has less than who holds alone. And a slot is not the name, but for the first one. */
bool above_serves(const struct runs_entry *run, const struct settings *settings)
{
	const enum runs_kind wanted = runs_kind_of(settings);
	if (run->slot > 0 || (run->kind == RUNS_SETNX) != (wanted == RUNS_SETNX))
		return false;
	return run->kind != RUNS_SHARED || wanted == RUNS_SHARED;
}

bool above_find(const struct settings *settings, const char *name, struct runs_entry *ret)
{
	const int proc = family_open();
	const char *at = runs_begin();
	struct runs_entry run;
	bool found = false, serves = false;
	while (proc >= 0 && !serves && runs_next(&at, &run)) {
		if (!runs_has(&run, settings->prefix, name) ||
		    !family_is_below(proc, run.guard, run.birth, GUARD_PROCESS))
			continue;
		serves = above_serves(&run, settings);
		if (!found || serves)
			*ret = run;
		found = true;
	}
	if (proc >= 0)
		close(proc);
	return found;
}

int above_question(const struct session *session, const struct runs_entry *run, const char *name,
                   redlock_lock **ret)
{
	struct redlock_lock_options options;
	session_lock_options(session->settings, &options);
	options.token = run->token;
	options.token_len = strlen(run->token);
	options.fence = 0;
	options.compat = run->kind == RUNS_SETNX ? REDLOCK_COMPAT_SETNX : REDLOCK_COMPAT_OFF;
	options.mode = run->kind == RUNS_SHARED ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
	return redlock_lock_new(session->client, name, strlen(name), &options, ret);
}
