/* SPDX-License-Identifier: MIT */
/* The checkers. See check.h. */
#include "check.h"
#include "client.h"
#include "redis_types.h"

#include <stdarg.h>
#include <stdio.h>

#include "world.h"

const struct violation_row violations[VIOLATION_COUNT] = {
#define SIM_VIOLATION_ROW(name, text) [VIOLATION_##name] = {#name, text},
    SIM_VIOLATION_MAP(SIM_VIOLATION_ROW)
#undef SIM_VIOLATION_ROW
};

void check_fail(struct world *w, enum violation kind, const char *format, ...)
{
	struct check *c = &w->check;
	char line[480];
	/* A node that forgets the key and is kept out may be replaced by one whose yes comes late: at each moment
	 * between them fewer have the key, and still nobody else gets it. */
	if (w->plan.guard && kind == VIOLATION_CONTINUITY)
		return;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	TRACE(w, "VIOLATION %s: %s", violations[kind].name, line);
	if (c->first[0] == '\0')
		snprintf(c->first, sizeof c->first, "%s at %.6f ms: %s", violations[kind].name,
		         (double)w->now_ns / (double)SIM_MS, line);
	c->found[kind]++;
	/* Where an assumption is broken on purpose, the first consequence is not always the wanted one. */
	c->failed = w->plan.broken == BREAK_NONE || kind == VIOLATION_SPIN || kind == VIOLATION_BLOCKED;
}

void check_refuse(struct world *w, enum proof_theorem theorem, const char *text)
{
	char *first = w->check.refused[theorem];
	if (first[0] == '\0')
		snprintf(first, sizeof w->check.refused[theorem], "%s", text);
	check_fail(w, VIOLATION_PROOF, "%s: %s", proof_theorems[theorem], text);
}

/* ---- claims ---- */

/* Whether a node has the token for so long, under each of the handle's names. In a set it keeps nobody out
 * who shares. */
static bool has_beyond(const struct world *w, const struct node *n, const struct handle *h, uint64_t until_ns,
                       bool ours)
{
	char buffer[SIM_MAX_KEY];
	struct bytes token = {h->token, h->token_size};
	if (handle_is_by_time(h))
		return check_time_beyond(w, n, h, until_ns, ours);
	for (unsigned r = 0; r < w->plan.resources; r++) {
		struct bytes name = slot_key(&w->plan, r, h->slot, buffer);
		const struct key *key = keyspace_find(&n->redis.keys, w->plan.database, name, node_now_ms(w, n));
		struct key member;
		if (key != NULL && key->type == KEY_ZSET)
			key = !h->alone && zset_member(key, token, &member) ? &member : NULL;
		bool has = key != NULL && bytes_equal(key->value, token) && node_expiry_world(n, key) >= until_ns;
		if (handle_wants(h, r) && !has)
			return false;
	}
	return true;
}

/* How many nodes have it until then; or keep others out, as do those that are kept out themselves. */
static unsigned count_beyond(const struct world *w, const struct actor *a, const struct handle *h,
                             uint64_t until_ns, bool excludes)
{
	unsigned yes = 0;
	for (unsigned i = 0; i < a->node_count; i++) {
		const struct node *n = &w->nodes[a->order[i]];
		yes += has_beyond(w, n, h, until_ns, !excludes) || (excludes && w->plan.guard && !node_admits(w, n));
	}
	return yes;
}

bool check_quorum_beyond(const struct world *w, const struct actor *a, const struct handle *h,
                         uint64_t until_ns)
{
	return count_beyond(w, a, h, until_ns, false) >= a->quorum;
}

bool check_excludes(const struct world *w, const struct actor *a, const struct handle *h, uint64_t until_ns)
{
	return count_beyond(w, a, h, until_ns, true) >= a->quorum;
}

/* Until when the application relies on the lock. */
static uint64_t relied_until(const struct world *w, const struct handle *h)
{
	return w->plan.broken == BREAK_LATE_ACTION ? SIM_NEVER : h->until_ns;
}

static void check_overlap(struct world *w, const struct actor *a, const struct handle *h)
{
	old_check_overlap(w, a, h);
	for (unsigned i = 0; i < w->plan.actors; i++)
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++) {
			const struct handle *other = &w->actors[i].handles[k];
			bool meet = handle_conflicts(h, other) && w->plan.broken != BREAK_COUNTING;
			if (other == h || !other->held || !meet || relied_until(w, other) <= w->now_ns)
				continue;
			if (handle_shares(h, other)) {
				world_hit(w, COVER_SHARED_WITH);
				continue;
			}
			check_fail(w, VIOLATION_OVERLAP, "c%u relies on resource %u until %.3f ms, c%u until %.3f ms",
			           a->index, h->resource, (double)h->until_ns / (double)SIM_MS, i,
			           (double)other->until_ns / (double)SIM_MS);
		}
}

/* Slots: however they are numbered, no more hold than there are. All who share the name have one of them. */
static void check_count(struct world *w, const struct actor *a, const struct handle *h)
{
	unsigned holders = 0, most = 0, sharing = 0;
	for (unsigned i = 0; i < w->plan.actors; i++)
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++) {
			const struct handle *other = &w->actors[i].handles[k];
			if (!other->held || !handle_wants(other, h->resource) || relied_until(w, other) <= w->now_ns)
				continue;
			unsigned slots = other->options.slots > 0 ? other->options.slots : 1;
			most = slots > most ? slots : most;
			sharing += handle_shares(other, other);
			holders += !handle_shares(other, other) || sharing == 1;
		}
	if (holders > most)
		check_fail(w, VIOLATION_OVERLAP, "c%u is one of %u who hold resource %u, which has %u slots",
		           a->index, holders, h->resource, most);
	if (holders > 1)
		world_hit(w, COVER_SLOTS_HELD);
}

/* Checks the limits of a handle's options. A round began at its deadline - TTL + drift, with the drift of the
 * default options. */
static void check_caps(struct world *w, const struct actor *a, struct handle *h, bool raised)
{
	const struct redlock_lock_options *o = &h->options;
	uint64_t ttl_ns = o->ttl_ms * SIM_MS;
	h->raised = raised ? h->raised + 1 : 0;
	if (!raised && h->passed)
		h->began_ns = actor_now(w, a);
	else if (!raised)
		h->began_ns = h->deadline_ns - ttl_ns + ttl_ns / 100 + 2 * SIM_MS;
	if (h->adopted)
		return;
	if (o->max_extends != 0 && h->raised > o->max_extends)
		check_fail(w, VIOLATION_CAP, "c%u extended %u times", a->index, h->raised);
	if (o->max_hold_ms != 0 && h->deadline_ns > h->began_ns + o->max_hold_ms * SIM_MS)
		check_fail(w, VIOLATION_CAP, "c%u holds beyond %.3f ms", a->index, (double)o->max_hold_ms);
}

/* A lock was granted: numbers rise in the order of grants, whatever happens to the nodes. */
static void check_fence(struct world *w, const struct actor *a, const struct handle *h)
{
	uint64_t number = redlock_lock_fence(h->lock);
	bool shares = h->options.mode == REDLOCK_SHARED && !h->alone;
	if ((number != 0) != (h->options.fence != 0 && !shares))
		check_fail(w, VIOLATION_FENCE, "c%u has number %llu on resource %u", a->index,
		           (unsigned long long)number, h->resource);
	if (number == 0)
		return;
	for (unsigned i = 0; i < w->plan.resources; i++) {
		uint64_t *highest = &w->check.fences[i];
		if (i != h->resource && !h->both)
			continue;
		TRACE(w, "c%u has number %llu on resource %u", a->index, (unsigned long long)number, i);
		if (number <= *highest)
			check_fail(w, VIOLATION_FENCE, "c%u has number %llu on resource %u after %llu", a->index,
			           (unsigned long long)number, i, (unsigned long long)*highest);
		*highest = number;
	}
}

void check_claim(struct world *w, struct actor *a, struct handle *h)
{
	uint64_t deadline = redlock_deadline_ns(h->lock), leapt_ns = a->leapt_ns - h->leapt_ns;
	h->leapt_ns = a->leapt_ns;
	if (deadline == h->deadline_ns)
		return;
	uint64_t before = h->deadline_ns;
	h->deadline_ns = deadline;
	if (deadline == 0) {
		h->over = true;
		if (leapt_ns > 0 && h->until_ns > w->now_ns)
			h->until_ns = w->now_ns;
		return;
	}
	if (h->over)
		check_fail(w, VIOLATION_REVIVED, "c%u resource %u", a->index, h->resource);
	bool sooner = deadline < before;
	if (sooner && before - deadline > leapt_ns)
		check_fail(w, VIOLATION_BACKWARDS, "c%u resource %u", a->index, h->resource);
	if (sooner)
		world_hit(w, COVER_LEAPT);
	else if (before != 0)
		world_hit(w, h->running == REDLOCK_OP_EXTEND ? COVER_EXTENDED : COVER_RENEWED);
	if (h->options.slots > 0 && (redlock_lock_slot(h->lock, &h->slot) != 0 || h->slot >= h->options.slots))
		check_fail(w, VIOLATION_RESULT, "c%u has slot %u of resource %u", a->index, h->slot, h->resource);
	h->alone &= before != 0;
	if (before == 0) {
		check_fence(w, a, h);
		h->first_ns = w->now_ns;
	}
	/* not asked for: then it would be known outside */
	memcpy(h->token, rl_handle_token_bytes(h->lock), h->lock->token_size);
	h->token_size = h->lock->token_size;
	if (before == 0)
		h->passed = check_passed(w, a, h);
	if (!sooner)
		check_caps(w, a, h, before != 0);
	h->until_ns = drift_world(&a->clock, deadline);
	h->validity_ns = h->until_ns > w->now_ns ? h->until_ns - w->now_ns : 0;
	h->danger_seen &= sooner;
	handle_expect_notice(w, a->index, (uint32_t)(h - a->handles));
	TRACE(w, "c%u claims resource %u until %.6f ms", a->index, h->resource,
	      (double)h->until_ns / (double)SIM_MS);
	if (!check_excludes(w, a, h, h->until_ns))
		check_fail(w, VIOLATION_DEADLINE, "c%u claims resource %u until %.6f ms", a->index, h->resource,
		           (double)h->until_ns / (double)SIM_MS);
	if (before != 0 && !sooner)
		check_continuity(w, a, h);
	if (h->held)
		check_overlap(w, a, h);
	if (h->held)
		check_count(w, a, h);
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
	check_count(w, a, h);
}

void check_loss(struct world *w, struct actor *a, struct handle *h)
{
	check_claim(w, a, h); /* the wall clock may have been set since */
	bool by_clock = h->until_ns <= w->now_ns + SIM_US;
	if (!by_clock && check_quorum_beyond(w, a, h, w->now_ns))
		check_fail(w, VIOLATION_FALSE_LOSS, "c%u resource %u is good until %.3f ms", a->index, h->resource,
		           (double)h->until_ns / (double)SIM_MS);
}

/* Whether a claim that goes on is still good. */
static void check_standing(struct world *w, const struct actor *a, const struct handle *h)
{
	if (!check_excludes(w, a, h, h->until_ns))
		check_fail(w, VIOLATION_DEADLINE, "the key of c%u's claim on resource %u until %.6f ms goes early",
		           a->index, h->resource, (double)h->until_ns / (double)SIM_MS);
}

static bool stands(const struct world *w, const struct handle *h)
{
	return h->lock != NULL && h->deadline_ns != 0 && h->until_ns > w->now_ns;
}

void check_upgrade(struct world *w, struct actor *a, struct handle *h)
{
	h->alone = true;
	check_claim(w, a, h);
	check_grant(w, a, h);
	check_fence(w, a, h);
	if (stands(w, h))
		check_standing(w, a, h);
}

void check_key(struct world *w, struct bytes name)
{
	char buffer[SIM_MAX_KEY], beside[SIM_MAX_BESIDE];
	for (unsigned i = 0; i < w->plan.actors; i++)
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++) {
			const struct handle *h = &w->actors[i].handles[k];
			bool named = (handle_is_by_time(h) && bytes_equal(check_beside(w, h->resource, beside), name)) ||
			             bytes_equal(slot_key(&w->plan, h->resource, h->slot, buffer), name) ||
			             (h->both && bytes_equal(resource_key(&w->plan, h->resource ^ 1, buffer), name));
			if (stands(w, h) && named)
				check_standing(w, &w->actors[i], h);
		}
}

void check_clocks(struct world *w)
{
	for (unsigned i = 0; i < w->plan.actors; i++)
		for (unsigned k = 0; k < SIM_MAX_HANDLES; k++)
			if (stands(w, &w->actors[i].handles[k]))
				check_standing(w, &w->actors[i], &w->actors[i].handles[k]);
}
