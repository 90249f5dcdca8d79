/* SPDX-License-Identifier: MIT */
#include "busy.h"

#include <string.h>

#include "client.h"
#include "core/policy.h"
#include "seen.h"
#include "tally.h"

/* Whether the node has a key of another client. The findings of an acquire omit its own keys. */
static bool has_holder(const redlock_lock *lock, unsigned node)
{
	const struct redlock_finding *f = lock->core.findings != NULL ? &lock->core.findings[node] : NULL;
	return f != NULL && f->known && f->pttl_ms != -2;
}

static bool same_holder(const redlock_lock *lock, unsigned a, unsigned b)
{
	const struct redlock_finding *f = &lock->core.findings[a], *g = &lock->core.findings[b];
	return has_holder(lock, a) && has_holder(lock, b) && strcmp(f->type, g->type) == 0 &&
	       f->value_len == g->value_len && f->value_kept == g->value_kept &&
	       memcmp(f->value, g->value, f->value_kept) == 0;
}

static void put_owner(struct rl_sentence *s, const char *value, size_t size)
{
	enum { DIGITS = RL_HANDLE_TOKEN_DIGITS };
	if (size > DIGITS + 1 && value[DIGITS] == '|')
		rl_sentence_put_foreign(s, value + DIGITS + 1, size - DIGITS - 1);
	else
		rl_sentence_put(s, "a client without an owner label");
}

/* Names the first shared holder. The value lists tokens separated by spaces (ops/lib/shared.lua), and
 * `value_len` counts the holders. */
static void put_readers(struct rl_sentence *s, const struct redlock_finding *f)
{
	const char *end = memchr(f->value, ' ', f->value_kept);
	rl_sentence_put(s, "shared by ");
	put_owner(s, f->value, end != NULL ? (size_t)(end - f->value) : f->value_kept);
	if (f->value_len > 1)
		rl_sentence_put(s, " and %llu more", (unsigned long long)f->value_len - 1);
}

static void put_holder(struct rl_sentence *s, const struct redlock_finding *f)
{
	if (strcmp(f->type, "string") == 0) {
		rl_sentence_put(s, "held by ");
		put_owner(s, f->value, f->value_kept);
	} else if (strcmp(f->type, "zset") == 0 && f->value_len > 0) {
		put_readers(s, f);
	} else {
		rl_sentence_put(s, "held by a key of type ");
		rl_sentence_put_foreign(s, f->type, strlen(f->type));
	}
}

static bool is_endless(const redlock_lock *lock, uint32_t nodes)
{
	for (unsigned i = 0; i < lock->client->nodes.count; i++)
		if ((nodes >> i & 1) != 0 && lock->core.findings[i].pttl_ms != -1)
			return false;
	return true;
}

/* The holders that the last look or query has found. */
static void put_found(struct rl_sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	for (unsigned i = 0; i < ns->count; i++) {
		uint32_t nodes = rl_tally_group(lock, i, same_holder);
		if (nodes == 0)
			continue;
		rl_sentence_put(s, s->length == 0 ? "busy: " : ", ");
		put_holder(s, &lock->core.findings[i]);
		rl_sentence_put(s, " on %d of %u nodes", __builtin_popcount(nodes), ns->count);
		if (is_endless(lock, nodes))
			rl_sentence_put(s, ", by a key that never expires (`redlock break` deletes it)");
	}
}

static void put_name(struct rl_sentence *s, struct rl_slice name)
{
	rl_sentence_put_foreign(s, name.bytes, name.size);
}

/* Names the holder that a refusal reported, for an acquire that waited: it has no findings. */
static void put_seen(struct rl_sentence *s, const redlock_lock *lock)
{
	const struct rl_seen *seen = lock->seen;
	if (seen == NULL || seen->size == 0 || seen->wait_until_ns != lock->core.wait_until_ns)
		return;
	rl_sentence_put(s, "busy: ");
	if (lock->also_size > 0) {
		put_name(s, rl_handle_line(lock));
		rl_sentence_put(s, " is ");
	}
	rl_sentence_put(s, "held by ");
	put_owner(s, seen->holder, seen->size);
	rl_sentence_put(s, ", as node %u reported last", seen->node + 1U);
}

/* Says what the votes show when no refusal named a holder. */
static void put_refusal(struct rl_sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	unsigned no = rl_tally_count(lock, REDLOCK_KIND_NO);
	if (lock->core.queue.obstacle > 0) {
		rl_sentence_put(s, "busy: somebody else holds ");
		put_name(s, rl_handle_name_at(lock, lock->core.queue.obstacle - 1U));
		rl_sentence_put(s, "; %u of %u nodes voted no", no, ns->count);
	} else if (lock->core.rules->slots > 0 && no >= ns->quorum) {
		rl_sentence_put(s, "busy: none of the %u slots is free on %u of %u nodes", lock->core.rules->slots,
		                no, ns->count);
	} else if (lock->core.queue.kept_out) {
		rl_sentence_put(s, "busy: a client that waits for the exclusive lock goes first");
	} else {
		rl_sentence_put(s, "busy: %s", redlock_strerror(REDLOCK_E_BUSY));
	}
}

/* Whether a failed acquire had enough votes, but less than min_validity_ms left. */
static bool is_late(const redlock_lock *lock)
{
	const struct rl_lock *core = &lock->core;
	return core->round.operation == REDLOCK_OP_ACQUIRE &&
	       core->policy->asks[core->round.ask].weigh(core) == RL_WON;
}

/* An upgrade has no findings: those in the handle are from an earlier query, and are not printed. */
void rl_busy_put(struct rl_sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	if (lock->done_operation == REDLOCK_OP_UPGRADE) {
		rl_sentence_put(s, "busy: others share the lock, on %u of %u nodes",
		                rl_tally_count(lock, REDLOCK_KIND_NO), ns->count);
		return;
	}
	if (is_late(lock)) {
		rl_sentence_put(
		    s,
		    "busy: %u of %u nodes voted yes, but less than min_validity_ms (%llu ms) of the validity was "
		    "left",
		    rl_tally_count(lock, REDLOCK_KIND_YES), ns->count,
		    (unsigned long long)(lock->core.rules->min_validity_ns / RL_NS_PER_MS));
		return;
	}
	put_found(s, lock);
	if (s->length == 0)
		put_seen(s, lock);
	if (s->length == 0)
		put_refusal(s, lock);
}
