/* SPDX-License-Identifier: MIT */
#include "core/finding.h"

#include <assert.h>
#include <string.h>

void rl_finding_forget(struct rl_lock *l)
{
	for (unsigned i = 0; i < l->rules->node_count; i++)
		l->findings[i].known = 0;
}

static bool says_whose(const struct rl_event *e)
{
	return (rl_state_tells(e->reply.operation) & RL_TELLS_KEY) != 0;
}

static bool has_values(const struct rl_event *e)
{
	bool tells = (rl_state_tells(e->reply.operation) & RL_TELLS_FINDING) != 0 &&
	             rl_vote_tells(&e->reply.vote, RL_FIELD_TYPE);
	assert(!tells || e->reply.vote.code == REDLOCK_VOTE_YES);
	return tells;
}

static bool is_string(struct rl_slice type)
{
	return rl_slice_same(type, (struct rl_slice){"string", 6});
}

static bool is_ours(const struct rl_event *e)
{
	const struct rl_vote *vote = &e->reply.vote;
	struct rl_slice token = e->around.token;
	if (says_whose(e))
		return vote->ours == 1;
	return token.size > 0 && is_string(vote->type) && (uint64_t)vote->size == token.size &&
	       rl_slice_same(vote->value, token);
}

enum redlock_vote_code rl_finding_vote(const struct rl_event *e)
{
	return !has_values(e) || is_ours(e) ? e->reply.vote.code : REDLOCK_VOTE_NO;
}

void rl_finding_keep(struct rl_lock *l, const struct rl_event *e)
{
	if (l->findings == NULL || !has_values(e))
		return;
	const struct rl_vote *vote = &e->reply.vote;
	struct rl_slice type = vote->type;
	struct rl_slice value = vote->value;
	struct redlock_finding *f = &l->findings[e->node];
	*f = (struct redlock_finding){.known = 1, .pttl_ms = vote->pttl_ms, .value_len = (uint64_t)vote->size};
	memcpy(f->type, type.bytes, type.size < sizeof f->type - 1 ? type.size : sizeof f->type - 1);
	f->value_kept = value.size < sizeof f->value ? value.size : sizeof f->value;
	memcpy(f->value, value.bytes, f->value_kept);
}

/* Keys of another type have no value to compare: one holder would have the same type everywhere. */
static bool same_key(const struct redlock_finding *a, const struct redlock_finding *b)
{
	if (strcmp(a->type, b->type) != 0 || strcmp(a->type, "string") != 0)
		return strcmp(a->type, b->type) == 0;
	return a->value_len == b->value_len && memcmp(a->value, b->value, a->value_kept) == 0;
}

static unsigned whose(const struct rl_lock *l, const struct rl_event *e)
{
	const struct redlock_finding *f = &l->findings[e->node];
	if (is_ours(e) || strcmp(f->type, "none") == 0)
		return is_ours(e) ? RL_KEY_OURS : RL_KEY_NONE;
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if (l->votes[i].whose >= RL_KEY_OTHERS && same_key(f, &l->findings[i]))
			return l->votes[i].whose;
	return RL_KEY_OTHERS + e->node;
}

/* Orders values by their bytes. A key of another type has no value here. */
static bool comes_before(const struct redlock_finding *f, struct rl_slice token)
{
	return memcmp(f->value, token.bytes, f->value_kept < token.size ? f->value_kept : token.size) < 0;
}

/* Hides the value that this acquire has itself set: the acquire gives it back, and the caller wants to see
 * the keys of others. */
static void hide(struct redlock_finding *f)
{
	*f = (struct redlock_finding){.known = 1, .type = "none", .pttl_ms = -2};
}

void rl_finding_compare(struct rl_lock *l, const struct rl_event *e)
{
	if (l->findings == NULL || !has_values(e))
		return;
	rl_finding_keep(l, e);
	l->votes[e->node].whose = (uint8_t)whose(l, e);
	if (l->votes[e->node].whose == RL_KEY_OURS)
		hide(&l->findings[e->node]);
	else if (l->votes[e->node].whose >= RL_KEY_OTHERS)
		l->look.before |= (uint32_t)comes_before(&l->findings[e->node], e->around.token) << e->node;
}
