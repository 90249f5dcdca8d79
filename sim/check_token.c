/* SPDX-License-Identifier: MIT */
/* The checkers of tokens and keys: a node has each token once, stays for as long as it is claimed, and
 * goes when nobody needs it any more. See check.h. */
#include <stdlib.h>

#include "client.h"
#include "redis_call.h"
#include "redis_types.h"
#include "world.h"

/* A client's idea of when a key is gone may be off by the drift between its clock and the node's. */
#define EXPIRY_TOLERANCE_NS (100 * SIM_MS)

void check_free(struct check *c)
{
	free(c->tokens);
}

/* ---- tokens ---- */

/* Tokens differ in their beginning. */
static struct seen_token *token_row(struct check *c, struct bytes token)
{
	if (token.size > sizeof c->tokens->text)
		token.size = sizeof c->tokens->text;
	for (size_t i = c->token_count; i-- > 0;) {
		struct seen_token *row = &c->tokens[i];
		if (row->text[0] == *token.at && bytes_equal((struct bytes){row->text, row->size}, token))
			return row;
	}
	if (c->token_count == c->token_capacity) {
		c->token_capacity = c->token_capacity ? c->token_capacity * 2 : 64;
		c->tokens = buffer_realloc(c->tokens, c->token_capacity * sizeof *c->tokens);
	}
	struct seen_token *row = &c->tokens[c->token_count++];
	*row = (struct seen_token){.size = token.size, .actor = UINT32_MAX};
	memcpy(row->text, token.at, token.size);
	return row;
}

/* 40 lower-case hex digits, then the owner label if there is one; or a value that the application made. */
static bool well_formed(struct bytes token)
{
	static const char own[] = "own-";
	if (token.size > sizeof own - 1 && memcmp(token.at, own, sizeof own - 1) == 0)
		return true;
	for (size_t i = 0; i < 40 && i < token.size; i++)
		if ((token.at[i] < '0' || token.at[i] > '9') && (token.at[i] < 'a' || token.at[i] > 'f'))
			return false;
	return token.size == 40 || (token.size > 41 && token.at[40] == '|');
}

static bool settled(const struct world *w, uint32_t actor, uint32_t life, uint32_t node)
{
	return (w->check.settled[actor][node] >> (life & 63) & 1) != 0;
}

/* A SET that waited in the client may still come together with its release. The key must not stay longer than
 * the client knows that it owes something again. */
static void check_late_set(struct world *w, uint32_t node, uint64_t row_index)
{
	const struct seen_token *row = &w->check.tokens[row_index];
	if (!node_has_value(w, node, (struct bytes){row->text, row->size}) ||
	    !settled(w, row->actor, row->life, node))
		return;
	bool alive = w->actors[row->actor].alive && w->actors[row->actor].life == row->life;
	if (alive && actor_owes(w, row->actor, node))
		world_after(w, 5 * SIM_MS, check_late_set, node, row_index);
	else
		check_fail(w, VIOLATION_LATE_SET, "c%u set %.8s on n%u", row->actor, row->text, node);
}

void check_set(struct world *w, uint32_t node, uint32_t actor, uint32_t life, struct bytes token)
{
	if (token.size > sizeof w->check.tokens->text || !well_formed(token)) {
		check_fail(w, VIOLATION_TOKEN, "c%u set '%.*s'", actor, (int)token.size, token.at);
		return;
	}
	struct seen_token *row = token_row(&w->check, token);
	if (row->actor == UINT32_MAX) {
		row->actor = actor;
		row->life = life;
	}
	/* An own value may be used again, also by the next process. Where votes are split, a node that refused a
	 * token is asked for it again; one that had it is not. */
	bool own = token.at[0] == 'o', had_it = row->stay[node].to_ns != 0;
	if (own)
		row->life = life;
	if (own && (row->nodes & 1u << node) != 0)
		world_hit(w, COVER_TAKEN_AGAIN);
	else if (row->actor != actor || row->life != life || (had_it && !row->handed))
		check_fail(w, VIOLATION_TOKEN, "c%u set %.8s on n%u again", actor, token.at, node);
	row->nodes |= 1u << node;
	bool makes_it = !node_has_value(w, node, token); /* a key that lingers is refused, and known of */
	if (!row->left && makes_it && settled(w, actor, life, node))
		world_after(w, 0, check_late_set, node, (uint64_t)(row - w->check.tokens));
}

void check_deleted(struct world *w, struct bytes token)
{
	token_row(&w->check, token)->deleted = true;
}

static struct seen_token *row_of(struct check *c, const struct handle *h)
{
	return token_row(c, (struct bytes){h->token, h->token_size});
}

void check_told(struct world *w, const struct handle *h)
{
	row_of(&w->check, h)->told = true;
}

void check_kept(struct world *w, const struct handle *h)
{
	if (h->lock->core.phase != RL_KEPT)
		return;
	row_of(&w->check, h)->kept = true;
	world_hit(w, COVER_KEPT);
}

static bool is_kept(const struct actor *a, struct bytes token)
{
	for (unsigned i = 0; i < SIM_MAX_HANDLES; i++) {
		const redlock_lock *lock = a->handles[i].lock;
		if (a->alive && lock != NULL && lock->core.phase == RL_KEPT &&
		    bytes_equal((struct bytes){rl_handle_token_bytes(lock), lock->token_size}, token))
			return true;
	}
	return false;
}

/* So long may others be passed over, and so often; and what clocks may be off. */
#define OFF_NS (2 * SIM_MS)
#define MOST_LOCAL_NS (5 * SIM_MS + OFF_NS)
enum { MOST_PASSES = 256 };

/* A kept lock is acquired again: its turns begin anew, but for the whole of its stay. */
static void check_entered(struct world *w, const struct actor *a, const struct handle *h,
                          struct seen_token *row)
{
	world_hit(w, COVER_ENTERED);
	if (w->now_ns > row->first_ns + h->options.sticky_ms * SIM_MS + OFF_NS)
		check_fail(w, VIOLATION_OVERTAKEN, "c%u has kept %.8s for %.3f ms", a->index, h->token,
		           (double)(w->now_ns - row->first_ns) / (double)SIM_MS);
	row->kept = false;
	row->passes = 0;
	row->granted_ns = w->now_ns;
}

bool check_passed(struct world *w, const struct actor *a, const struct handle *h)
{
	struct seen_token *row = row_of(&w->check, h);
	bool passed = h->options.token == NULL && row->claimant != NULL;
	if (row->claimant == NULL)
		row->granted_ns = row->first_ns = w->now_ns;
	row->claimant = h;
	if (!passed)
		return false;
	world_hit(w, COVER_PASSED);
	if (row->kept)
		check_entered(w, a, h, row);
	if (row->told)
		check_fail(w, VIOLATION_TOKEN, "c%u passed %.8s on, which the caller knows", a->index, h->token);
	if (++row->passes > MOST_PASSES || w->now_ns > row->granted_ns + MOST_LOCAL_NS)
		check_fail(w, VIOLATION_OVERTAKEN, "c%u has passed %.8s on %u times in %.3f ms", a->index, h->token,
		           row->passes, (double)(w->now_ns - row->granted_ns) / (double)SIM_MS);
	return true;
}

/* Or it was passed on, or is kept. */
void check_released(struct world *w, const struct handle *h)
{
	const struct seen_token *row = h->token_size > 0 ? row_of(&w->check, h) : NULL;
	if (row != NULL && !row->deleted && !row->kept && row->claimant == h)
		check_fail(w, VIOLATION_RESULT, "%.8s was released, they say, but it was never deleted", h->token);
}

void check_left(struct world *w, const struct handle *h)
{
	row_of(&w->check, h)->left = true;
}

/* ---- how long a key was there ---- */

void check_stored(struct world *w, uint32_t node, const struct key *key, bool handed)
{
	struct seen_token *row = token_row(&w->check, key->value);
	bool stays = row->stay[node].to_ns == SIM_NEVER; /* what stands beside a time is written anew */
	row->handed |= handed;
	row->stay[node] =
	    (struct stay){.from_ns = stays ? row->stay[node].from_ns : w->now_ns, .to_ns = SIM_NEVER};
}

void check_gone(struct world *w, uint32_t node, const struct key *key, uint64_t at_ns)
{
	struct key room;
	key = check_as_token(key, &room);
	if (key != NULL && key->owner != KEY_NOBODY)
		token_row(&w->check, key->value)->stay[node].to_ns = at_ns;
}

/* When the key of a row went, or goes by what is known now. 0: it never was there. */
static uint64_t end_of_stay(const struct world *w, const struct seen_token *row, uint32_t node)
{
	const struct node *n = &w->nodes[node];
	if (row->stay[node].to_ns != SIM_NEVER)
		return row->stay[node].to_ns;
	for (size_t i = 0; i < n->redis.keys.count; i++) {
		struct key room, member;
		const struct key *key = check_as_token(&n->redis.keys.keys[i], &room);
		struct bytes token = {row->text, row->size};
		if (key == NULL)
			continue;
		if (key->type == KEY_ZSET && zset_member(key, token, &member))
			return node_expiry_world(n, &member);
		if (bytes_equal(key->value, token))
			return node_expiry_world(n, key);
	}
	return 0;
}

static unsigned holders_at(const struct world *w, const struct actor *a, const struct seen_token *row,
                           uint64_t at_ns)
{
	unsigned count = 0;
	for (unsigned i = 0; i < a->node_count; i++)
		count += row->stay[a->order[i]].from_ns <= at_ns && at_ns < end_of_stay(w, row, a->order[i]);
	return count;
}

/* The number of nodes that have the key falls only where one loses it: to look there, and at the beginning,
 * is enough. */
void check_continuity(struct world *w, const struct actor *a, const struct handle *h)
{
	const struct seen_token *row = token_row(&w->check, (struct bytes){h->token, h->token_size});
	unsigned least = holders_at(w, a, row, h->first_ns);
	for (unsigned i = 0; i < a->node_count; i++) {
		uint64_t at_ns = end_of_stay(w, row, a->order[i]);
		if (at_ns <= h->first_ns || at_ns > w->now_ns)
			continue;
		unsigned count = holders_at(w, a, row, at_ns);
		least = count < least ? count : least;
	}
	if (least < a->quorum)
		check_fail(w, VIOLATION_CONTINUITY,
		           "c%u extended resource %u, held since %.3f ms, once by %u nodes only", a->index,
		           h->resource, (double)h->first_ns / (double)SIM_MS, least);
}

/* ---- what is left behind ---- */

static bool ends_with(struct bytes name, struct bytes end)
{
	return name.size > end.size && memcmp(name.at + name.size - end.size, end.at, end.size) == 0;
}

/* Places and offers are owed by nobody: they end by themselves. */
static bool is_queue(const struct key *key)
{
	return (ends_with(key->name, text_bytes(":redlock:queue")) ||
	        ends_with(key->name, text_bytes(":redlock:offers")) ||
	        ends_with(key->name, text_bytes(":redlock:slots"))) &&
	       key->expires_ms != KEY_FOREVER;
}

static void check_orphan(struct world *w, uint32_t actor, uint32_t node, const struct key *key)
{
	uint64_t ends_ns = node_expiry_world(&w->nodes[node], key);
	if (ends_ns <= w->now_ns + EXPIRY_TOLERANCE_NS + w->plan.step_back_ns)
		return;
	/* The owner of a lock that was handed over knows it by a message, which may be lost. */
	const struct seen_token *row = token_row(&w->check, key->value);
	if (!row->left && !row->handed && !is_kept(&w->actors[actor], key->value))
		check_fail(w, VIOLATION_ORPHAN, "n%u has %.8s of c%u for another %.3f ms", node, key->value.at, actor,
		           (double)(ends_ns - w->now_ns) / (double)SIM_MS);
}

/* Checks each member of a shared key as a key of its own. */
static void check_members(struct world *w, uint32_t actor, uint32_t node, const struct key *key)
{
	struct key member;
	for (struct bytes rest = key->value; zset_next(key, &rest, &member);) {
		const struct seen_token *row = token_row(&w->check, member.value);
		if (row->actor == actor && row->life == w->actors[actor].life)
			check_orphan(w, actor, node, &member);
	}
}

void check_settled(struct world *w, uint32_t actor, uint32_t node)
{
	const struct node *n = &w->nodes[node];
	uint32_t life = w->actors[actor].life;
	w->check.settled[actor][node] |= 1ull << (life & 63);
	for (size_t i = 0; i < n->redis.keys.count; i++) {
		struct key room;
		const struct key *key = check_as_token(&n->redis.keys.keys[i], &room);
		if (key == NULL || (key == &room && !check_is_noted(w, n, &n->redis.keys.keys[i])))
			continue;
		if (key->type == KEY_ZSET)
			check_members(w, actor, node, key);
		else if (key->owner == KEY_OWNER(actor, life) && !is_queue(key))
			check_orphan(w, actor, node, key);
	}
}

void check_owes(struct world *w, uint32_t actor, uint32_t node)
{
	w->check.settled[actor][node] &= ~(1ull << (w->actors[actor].life & 63));
}

void check_no_keys(struct world *w)
{
	for (unsigned i = 0; i < w->plan.nodes; i++) {
		const struct node *n = &w->nodes[i];
		node_expire(w, i);
		for (size_t k = 0; k < n->redis.keys.count; k++)
			if (!is_queue(&n->redis.keys.keys[k]))
				check_fail(w, VIOLATION_LEFTOVER, "n%u has %.8s of c%u", i, n->redis.keys.keys[k].value.at,
				           (unsigned)(n->redis.keys.keys[k].owner >> 32));
	}
}
