/* SPDX-License-Identifier: MIT */
/* Options and names that cannot go together: those that the library excludes, and a few that only the command
 * knows. */
#include "conflicts.h"

#include <string.h>

#include <redlock/redlock.h>

#include "exit_codes.h"
#include "message.h"
#include "printable.h"

enum trait {
	COMPAT,
	FENCE,
	GUARD,
	MARK,
	NAMES,
	OWNER,
	REENTRANT,
	SETNX,
	SETNX_SAFE,
	SHARED,
	SLOTS,
	TOKEN,
	TRAITS
};

static const char *const words[TRAITS] = {
    [NAMES] = "--also",
    [COMPAT] = "--compat",
    [FENCE] = "--fence",
    [GUARD] = "--guard=require",
    [MARK] = "--once-per or --remember",
    [OWNER] = "--owner",
    [REENTRANT] = "--reentrant",
    [SETNX] = "--compat setnx",
    [SETNX_SAFE] = "--compat setnx-safe",
    [SHARED] = "--shared",
    [SLOTS] = "--slots",
    [TOKEN] = "--token",
};

static const struct {
	enum trait one, other;
	const char *why;
} pairs[] = {
#define PAIR(one, other, why) {one, other, why},
    REDLOCK_CONFLICT_MAP(PAIR)
#undef PAIR
        {SHARED, FENCE, "holders of a shared lock have no order"},
    {SLOTS, TOKEN, "it would not be known which slot has the token"},
    {REENTRANT, SLOTS, "the slot of the run above is not known"},
    {MARK, SHARED, "several holders would write one marker"},
    {MARK, SLOTS, "several holders would write one marker"},
    {MARK, REENTRANT, "the run above holds the lock, and its marker is that of the job"},
    {SETNX_SAFE, OWNER, "with a label the token would be no number"},
};

/* Options of the configuration do not count here: the library refuses them where they matter. */
static bool is_typed(const struct settings *settings, size_t field)
{
	const struct setting_source *source = settings_source(settings, field);
	return source != NULL && source->rank == RANK_COMMAND_LINE;
}

#define TYPED(field) is_typed(settings, offsetof(struct settings, field))

bool conflicts_of_options(const struct settings *settings, const char *title)
{
	const bool given[TRAITS] = {
	    [MARK] = settings->once_per_ms > 0 || settings->remember_ms > 0,
	    [NAMES] = settings->also.count > 0,
	    [COMPAT] = settings->compat != REDLOCK_COMPAT_OFF,
	    [FENCE] = settings->fence,
	    [GUARD] = settings->guard == REDLOCK_GUARD_REQUIRE && TYPED(guard),
	    [OWNER] = settings->owner != NULL && *settings->owner && TYPED(owner),
	    [REENTRANT] = settings->reentrant,
	    [SETNX] = settings->compat == REDLOCK_COMPAT_SETNX,
	    [SETNX_SAFE] = settings->compat == REDLOCK_COMPAT_SETNX_SAFE,
	    [SHARED] = settings->shared,
	    [SLOTS] = settings->slots > 0,
	    [TOKEN] = settings->token != NULL,
	};
	bool found = false;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		if (!given[pairs[i].one] || !given[pairs[i].other])
			continue;
		complain(MSG(OPTIONS_EXCLUDE), title, words[pairs[i].one], words[pairs[i].other], pairs[i].why);
		found = true;
	}
	return found;
}

static bool is_earlier(const struct text_list *also, size_t end, const char *name)
{
	for (size_t i = 0; i < end; i++)
		if (strcmp(also->items[i], name) == 0)
			return true;
	return false;
}

bool conflicts_of_names(const struct settings *settings, const char *name)
{
	const struct text_list *also = &settings->also;
	char shown[PRINTABLE_MAX];
	if (also->count >= REDLOCK_MAX_NAMES) {
		complain(MSG(MANY_NAMES), also->count + 1, REDLOCK_MAX_NAMES);
		return true;
	}
	for (size_t i = 0; i < also->count; i++) {
		const char *other = also->items[i];
		bool twice = strcmp(other, name) == 0 || is_earlier(also, i, other);
		if (twice)
			complain(MSG(NAME_TWICE), printable(other, strlen(other), shown, sizeof shown));
		else if (!*other)
			complain(MSG(ALSO_EMPTY));
		if (twice || !*other)
			return true;
	}
	return false;
}

const char *conflicts_place(const struct settings *settings, size_t field)
{
	const struct setting_source *source = settings_source(settings, field);
	return source != NULL && source->rank != RANK_COMMAND_LINE ? source->where : NULL;
}

int conflicts_code_of_times(const struct settings *settings)
{
	static const size_t fields[] = {offsetof(struct settings, ttl_ms), offsetof(struct settings, renew_ms),
	                                offsetof(struct settings, node_timeout_ms),
	                                offsetof(struct settings, kill_after_ms),
	                                offsetof(struct settings, drift_ppm)};
	bool configured = false;
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		if (is_typed(settings, fields[i]))
			return EXIT_USAGE;
		configured |= conflicts_place(settings, fields[i]) != NULL;
	}
	return configured ? EXIT_CONFIG : EXIT_USAGE;
}
