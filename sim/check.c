/* SPDX-License-Identifier: MIT */
/* The checkers. See check.h. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resource.h"
#include "world.h"

/* A client's idea of when a key is gone may be off by the drift between its clock and the node's. */
#define EXPIRY_TOLERANCE_NS (100 * SIM_MS)

static const struct {
	const char *name;
	const char *text;
} violations[VIOLATION_COUNT] = {
#define SIM_VIOLATION_ROW(name, text) [VIOLATION_##name] = {#name, text},
    SIM_VIOLATION_MAP(SIM_VIOLATION_ROW)
#undef SIM_VIOLATION_ROW
};

const char *violation_name(enum violation kind)
{
	return violations[kind].name;
}

const char *violation_text(enum violation kind)
{
	return violations[kind].text;
}

void check_fail(struct world *w, enum violation kind, const char *format, ...)
{
	struct check *c = &w->check;
	char line[400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	TRACE(w, "VIOLATION %s: %s", violation_name(kind), line);
	if (c->first[0] == '\0')
		snprintf(c->first, sizeof c->first, "%s at %.6f ms: %s", violation_name(kind),
		         (double)w->now_ns / (double)SIM_MS, line);
	c->found[kind]++;
	/* Where an assumption is broken on purpose, the first consequence is not always the one that is wanted.
	 */
	c->failed = w->plan.broken == BREAK_NONE || kind == VIOLATION_SPIN || kind == VIOLATION_BLOCKED;
}

void check_free(struct check *c)
{
	free(c->tokens);
}

/* ---- claims ---- */

bool check_quorum_beyond(const struct world *w, const struct actor *a, const struct handle *h,
                         uint64_t until_ns)
{
	char buffer[SIM_MAX_KEY];
	struct bytes name = resource_key(&w->plan, h->resource, buffer);
	struct bytes token = {h->token, h->token_size};
	unsigned yes = 0;
	for (unsigned i = 0; i < a->node_count; i++) {
		const struct node *n = &w->nodes[a->order[i]];
		const struct key *key = keyspace_find(&n->keys, w->plan.database, name, node_now_ms(w, n));
		if (key != NULL && bytes_equal((struct bytes){key->value, key->value_size}, token) &&
		    node_expiry_world(n, key) >= until_ns)
			yes++;
	}
	return yes >= a->quorum;
}

/* Until when the application relies on the lock. */
static uint64_t relied_until(const struct world *w, const struct handle *h)
{
	return w->plan.broken == BREAK_LATE_ACTION ? SIM_NEVER : h->until_ns;
}

static void check_overlap(struct world *w, const struct actor *a, const struct handle *h)
{
	for (unsigned i = 0; i < w->plan.actors; i++)
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++) {
			const struct handle *other = &w->actors[i].handles[k];
			if (other == h || !other->held || other->resource != h->resource ||
			    relied_until(w, other) <= w->now_ns)
				continue;
			check_fail(w, VIOLATION_OVERLAP, "c%u relies on resource %u until %.3f ms, c%u until %.3f ms",
			           a->index, h->resource, (double)h->until_ns / (double)SIM_MS, i,
			           (double)other->until_ns / (double)SIM_MS);
		}
}

/* What the options of a handle allow. A round began at its deadline - TTL + drift, with the drift of the
 * default options. */
static void check_caps(struct world *w, const struct actor *a, struct handle *h, bool raised)
{
	const struct redlock_lock_options *o = &h->options;
	uint64_t ttl_ns = o->ttl_ms * SIM_MS;
	h->raised = raised ? h->raised + 1 : 0;
	if (!raised)
		h->began_ns = h->deadline_ns - ttl_ns + ttl_ns / 100 + 2 * SIM_MS;
	if (h->adopted)
		return;
	if (o->max_extends != 0 && h->raised > o->max_extends)
		check_fail(w, VIOLATION_CAP, "c%u extended %u times", a->index, h->raised);
	if (o->max_hold_ms != 0 && h->deadline_ns > h->began_ns + o->max_hold_ms * SIM_MS)
		check_fail(w, VIOLATION_CAP, "c%u holds beyond %.3f ms", a->index, (double)o->max_hold_ms);
}

void check_claim(struct world *w, struct actor *a, struct handle *h)
{
	uint64_t deadline = redlock_deadline_ns(h->lock);
	if (deadline == h->deadline_ns)
		return;
	uint64_t before = h->deadline_ns;
	h->deadline_ns = deadline;
	if (deadline == 0) {
		h->over = true;
		return;
	}
	char token[REDLOCK_MAX_TOKEN + 1];
	size_t size = 0;
	if (redlock_lock_token(h->lock, token, sizeof token, &size) != 0)
		size = 0;
	if (h->over)
		check_fail(w, VIOLATION_REVIVED, "c%u resource %u", a->index, h->resource);
	if (before != 0 && deadline < before)
		check_fail(w, VIOLATION_BACKWARDS, "c%u resource %u", a->index, h->resource);
	if (before != 0)
		world_hit(w, h->running == REDLOCK_OP_EXTEND ? COVER_EXTENDED : COVER_RENEWED);
	check_caps(w, a, h, before != 0);
	memcpy(h->token, token, size);
	h->token_size = size;
	h->until_ns = drift_world(&a->clock, deadline);
	h->danger_seen = false;
	handle_expect_notice(w, a->index, (uint32_t)(h - a->handles));
	TRACE(w, "c%u claims resource %u until %.6f ms", a->index, h->resource,
	      (double)h->until_ns / (double)SIM_MS);
	if (!check_quorum_beyond(w, a, h, h->until_ns))
		check_fail(w, VIOLATION_DEADLINE, "c%u claims resource %u until %.6f ms", a->index, h->resource,
		           (double)h->until_ns / (double)SIM_MS);
	if (h->held)
		check_overlap(w, a, h);
}

void check_claims(struct world *w, struct actor *a)
{
	for (unsigned i = 0; i < SIM_MAX_HANDLES; i++)
		if (a->handles[i].lock != NULL)
			check_claim(w, a, &a->handles[i]);
}

void check_grant(struct world *w, struct actor *a, struct handle *h)
{
	h->held = true;
	check_overlap(w, a, h);
}

void check_loss(struct world *w, struct actor *a, struct handle *h)
{
	bool by_clock = h->until_ns <= w->now_ns + SIM_US;
	if (!by_clock && check_quorum_beyond(w, a, h, w->now_ns))
		check_fail(w, VIOLATION_FALSE_LOSS, "c%u resource %u is good until %.3f ms", a->index, h->resource,
		           (double)h->until_ns / (double)SIM_MS);
}

void check_key(struct world *w, struct bytes name)
{
	char buffer[SIM_MAX_KEY];
	for (unsigned i = 0; i < w->plan.actors; i++)
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++) {
			struct actor *a = &w->actors[i];
			struct handle *h = &a->handles[k];
			if (h->lock == NULL || h->deadline_ns == 0 || h->until_ns <= w->now_ns)
				continue;
			if (!bytes_equal(resource_key(&w->plan, h->resource, buffer), name))
				continue;
			if (!check_quorum_beyond(w, a, h, h->until_ns))
				check_fail(w, VIOLATION_DEADLINE, "the key of c%u's claim on resource %u went early", i,
				           h->resource);
		}
}

/* ---- tokens ---- */

static struct seen_token *token_row(struct check *c, struct bytes token)
{
	for (size_t i = c->token_count; i-- > 0;) {
		struct seen_token *row = &c->tokens[i];
		if (bytes_equal((struct bytes){row->text, row->size}, token))
			return row;
	}
	if (c->token_count == c->token_capacity) {
		c->token_capacity = c->token_capacity ? c->token_capacity * 2 : 64;
		c->tokens = sim_realloc(c->tokens, c->token_capacity * sizeof *c->tokens);
	}
	struct seen_token *row = &c->tokens[c->token_count++];
	*row = (struct seen_token){.size = token.size, .actor = SIM_NOBODY};
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
	if (row->actor == SIM_NOBODY) {
		row->actor = actor;
		row->life = life;
	}
	if (row->actor != actor || row->life != life || (row->nodes & 1u << node) != 0)
		check_fail(w, VIOLATION_TOKEN, "c%u set %.8s on n%u again", actor, token.at, node);
	row->nodes |= 1u << node;
	if (!row->left && settled(w, actor, life, node))
		world_after(w, 0, check_late_set, node, (uint64_t)(row - w->check.tokens));
}

void check_deleted(struct world *w, struct bytes token)
{
	token_row(&w->check, token)->deleted = true;
}

void check_released(struct world *w, const struct handle *h)
{
	if (h->token_size > 0 && !token_row(&w->check, (struct bytes){h->token, h->token_size})->deleted)
		check_fail(w, VIOLATION_RESULT, "%.8s was released, they say, but it was never deleted", h->token);
}

void check_left(struct world *w, const struct handle *h)
{
	token_row(&w->check, (struct bytes){h->token, h->token_size})->left = true;
}

/* ---- what is left behind ---- */

void check_settled(struct world *w, uint32_t actor, uint32_t node)
{
	const struct node *n = &w->nodes[node];
	uint32_t life = w->actors[actor].life;
	w->check.settled[actor][node] |= 1ull << (life & 63);
	for (size_t i = 0; i < n->keys.count; i++) {
		const struct key *key = &n->keys.keys[i];
		if (key->actor != actor || key->life != life ||
		    node_expiry_world(n, key) <= w->now_ns + EXPIRY_TOLERANCE_NS)
			continue;
		if (token_row(&w->check, (struct bytes){key->value, key->value_size})->left)
			continue;
		check_fail(w, VIOLATION_ORPHAN, "n%u has %.8s of c%u for another %.3f ms", node, key->value, actor,
		           (double)(node_expiry_world(n, key) - w->now_ns) / (double)SIM_MS);
	}
}

void check_owes(struct world *w, uint32_t actor, uint32_t node)
{
	w->check.settled[actor][node] &= ~(1ull << (w->actors[actor].life & 63));
}

void check_no_keys(struct world *w)
{
	for (unsigned i = 0; i < w->plan.nodes; i++) {
		struct node *n = &w->nodes[i];
		keyspace_expire(&n->keys, node_now_ms(w, n));
		for (size_t k = 0; k < n->keys.count; k++)
			check_fail(w, VIOLATION_LEFTOVER, "n%u has %.8s of c%u", i, n->keys.keys[k].value,
			           n->keys.keys[k].actor);
	}
}
