/* SPDX-License-Identifier: MIT */
/* The meanings of vote codes: tables made from REDLOCK_VOTE_MAP. */
#include <redlock/redlock.h>

struct meaning {
	enum redlock_vote_kind kind;
	const char *name;
	const char *text;
};

static const struct meaning meanings[REDLOCK_VOTE_COUNT] = {
#define MEANING(name, value, kind, text) [value] = {REDLOCK_KIND_##kind, #name, text},
    REDLOCK_VOTE_MAP(MEANING)
#undef MEANING
};

enum redlock_vote_kind redlock_vote_kind(enum redlock_vote_code code)
{
	return (unsigned)code < REDLOCK_VOTE_COUNT ? meanings[code].kind : REDLOCK_KIND_MISSING;
}

const char *redlock_vote_name(enum redlock_vote_code code)
{
	return (unsigned)code < REDLOCK_VOTE_COUNT ? meanings[code].name : "UNKNOWN";
}

const char *redlock_vote_text(enum redlock_vote_code code)
{
	return (unsigned)code < REDLOCK_VOTE_COUNT ? meanings[code].text : "unknown vote";
}
