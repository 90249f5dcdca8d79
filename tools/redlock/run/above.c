/* SPDX-License-Identifier: MIT */
/* Which runs above this process hold a name. */
#include "above.h"

#include <string.h>
#include <unistd.h>

#include "family.h"
#include "guard.h"

/* Whether a lock of the run above suffices here. A shared lock is less than an exclusive one, and a random
 * token does not keep old clients of the SETNX protocol out. A slot is not the name, except the first slot.
 */
bool above_serves(const struct runs_entry *run, const struct settings *settings)
{
	static const unsigned served_by[RUNS_KINDS] = {
	    [RUNS_PLAIN] = 1U << RUNS_PLAIN | 1U << RUNS_SAFE,
	    [RUNS_SHARED] = 1U << RUNS_PLAIN | 1U << RUNS_SAFE | 1U << RUNS_SHARED,
	    [RUNS_SETNX] = 1U << RUNS_SETNX,
	    [RUNS_SAFE] = 1U << RUNS_SAFE,
	};
	return run->slot == 0 && (served_by[runs_kind_of(settings)] >> run->kind & 1) != 0;
}

/* The next one farther above that says to hold the name, and whose guard is there. */
static bool next_above(int proc, const char **at, const struct settings *settings, const char *name,
                       struct runs_entry *ret)
{
	while (runs_next(at, ret))
		if (runs_has(ret, settings->prefix, name) &&
		    family_is_below(proc, ret->guard, ret->birth, GUARD_PROCESS))
			return true;
	return false;
}

bool above_find(const struct settings *settings, const char *name, struct runs_entry *ret)
{
	int proc = family_open();
	const char *at = runs_begin();
	struct runs_entry run;
	bool found = false, serves = false;
	while (proc >= 0 && !serves && next_above(proc, &at, settings, name, &run)) {
		serves = above_serves(&run, settings);
		if (!found || serves)
			*ret = run;
		found = true;
	}
	if (found)
		ret->stops = family_may_signal(proc, ret->guard);
	if (proc >= 0)
		close(proc);
	return found;
}

bool above_has_slots(const struct settings *settings, const char *name)
{
	int proc = family_open();
	const char *at = runs_begin();
	struct runs_entry run;
	uint64_t slots = 0;
	while (proc >= 0 && next_above(proc, &at, settings, name, &run))
		if (run.slot < REDLOCK_MAX_SLOTS)
			slots |= UINT64_C(1) << run.slot;
	if (proc >= 0)
		close(proc);
	unsigned held = 0;
	for (; slots > 0; slots &= slots - 1)
		held++;
	return held >= settings->slots;
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
	return redlock_lock_new(session->client, name, &options, ret);
}
