/* SPDX-License-Identifier: MIT */
/* What the nodes have under the name of a lock: kept for the caller, and told to the core as "whose key". */
#include <stdlib.h>
#include <string.h>

#include "client.h"

bool rl_findings_clear(redlock_lock *lock, bool make)
{
	unsigned count = lock->client->node_count;
	if (lock->findings == NULL && make)
		lock->findings = calloc(count, sizeof *lock->findings);
	for (unsigned i = 0; lock->findings != NULL && i < count; i++)
		lock->findings[i].known = 0;
	return lock->findings != NULL;
}

static void copy(struct redlock_finding *f, const struct rl_reply *reply)
{
	const struct rl_reply_value *type = &reply->items[0];
	const struct rl_reply_value *value = &reply->items[3];
	*f = (struct redlock_finding){
	    .known = 1, .pttl_ms = reply->items[1].integer, .value_len = (uint64_t)reply->items[2].integer};
	size_t type_size = type->kept < sizeof f->type - 1 ? type->kept : sizeof f->type - 1;
	memcpy(f->type, type->text, type_size);
	f->value_kept = value->kept < sizeof f->value ? value->kept : sizeof f->value;
	memcpy(f->value, value->text, f->value_kept);
}

/* Keys of another type have no value to compare: one holder would have the same type everywhere. */
static bool same_key(const struct redlock_finding *a, const struct redlock_finding *b)
{
	if (strcmp(a->type, b->type) != 0 || strcmp(a->type, "string") != 0)
		return strcmp(a->type, b->type) == 0;
	return a->value_len == b->value_len && a->value_kept == b->value_kept &&
	       memcmp(a->value, b->value, a->value_kept) == 0;
}

static unsigned whose(const redlock_lock *lock, unsigned node, bool ours)
{
	const uint8_t *others = lock->core.look.whose;
	const struct redlock_finding *f = &lock->findings[node];
	if (ours || strcmp(f->type, "none") == 0)
		return ours ? RL_KEY_OURS : RL_KEY_NONE;
	for (unsigned i = 0; i < lock->client->node_count; i++)
		if (others[i] >= RL_KEY_OTHERS && same_key(f, &lock->findings[i]))
			return others[i];
	return RL_KEY_OTHERS + node;
}

/* Bytes in their order; that of keys of another type is none. */
static bool comes_before(const struct redlock_finding *f, const redlock_lock *lock)
{
	size_t size = f->value_kept < lock->token_size ? f->value_kept : lock->token_size;
	return memcmp(f->value, lock->token, size) < 0;
}

/* What an acquire has itself put there, it gives back: its caller is told of others. */
static void hide(struct redlock_finding *f)
{
	*f = (struct redlock_finding){.known = 1, .type = "none", .pttl_ms = -2};
}

void rl_findings_take(redlock_lock *lock, unsigned node, const struct rl_answer *answer,
                      struct rl_event *event)
{
	event->vote = answer->vote;
	if (answer->vote != REDLOCK_VOTE_YES || lock->findings == NULL)
		return;
	struct redlock_finding *f = &lock->findings[node];
	copy(f, answer->reply);
	bool ours = strcmp(f->type, "string") == 0 && lock->token_size > 0 && f->value_len == lock->token_size &&
	            memcmp(f->value, lock->token, lock->token_size) == 0;
	event->vote = ours ? REDLOCK_VOTE_YES : REDLOCK_VOTE_NO;
	if (lock->core.phase != RL_LOOKING)
		return;
	event->whose = whose(lock, node, ours);
	event->before = event->whose >= RL_KEY_OTHERS && comes_before(f, lock);
	if (ours)
		hide(f);
}
