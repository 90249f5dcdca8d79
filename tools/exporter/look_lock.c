/* SPDX-License-Identifier: MIT */
#include "look_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../redlock/holder.h"
#include "../redlock/side_key.h"

enum { ASK_TYPE, ASK_PTTL, ASK_VALUE, ASK_QUEUE, ASK_FENCE, ASKS };

struct look_watched {
	const char *name;           /* without the prefix */
	char *key, *queue, *fence;  /* with it */
	struct redlock_finding had; /* the holder of the last look, */
	double since_s, ttl_s;      /* since when it is seen, by CLOCK_MONOTONIC, and its longest rest */
};

/* ---- life ---- */

static bool name_keys(struct look_watched *w, const char *prefix, const char *name)
{
	w->name = name;
	w->key = side_key_slot(prefix, name, 0);
	w->queue = side_key_new(prefix, name, "queue");
	w->fence = side_key_new(prefix, name, "fence");
	return w->key != NULL && w->queue != NULL && w->fence != NULL;
}

bool look_locks_open(struct look_locks *locks, redlock_client *client, const char *prefix,
                     const char *const *names, unsigned count, char *why, size_t size)
{
	locks->list = calloc(count + 1, sizeof *locks->list);
	for (unsigned i = 0; locks->list != NULL && i < count; i++) {
		redlock_lock *lock = NULL; /* whether it can be the name of a lock */
		if (redlock_lock_new(client, names[i], NULL, &lock) < 0) {
			(void)redlock_client_last_error(client, why, size);
			return false;
		}
		redlock_lock_free(lock);
		locks->count++;
		if (!name_keys(&locks->list[i], prefix != NULL ? prefix : "", names[i]))
			return false;
	}
	return locks->list != NULL;
}

void look_locks_close(struct look_locks *locks)
{
	for (unsigned i = 0; i < locks->count; i++) {
		free(locks->list[i].key);
		free(locks->list[i].queue);
		free(locks->list[i].fence);
	}
	free(locks->list);
}

/* ---- answers of a node ---- */

/* How many wait: each entry of the queue ends with a semicolon. -1: the node does not tell. */
static int64_t count_waiters(const struct redlock_reply *r)
{
	int64_t count = 0;
	if (r == NULL || (r->kind != REDLOCK_REPLY_STRING && r->kind != REDLOCK_REPLY_NIL))
		return -1;
	for (size_t i = 0; i < r->length; i++)
		count += r->text[i] == ';';
	return count;
}

/* As redlock_query() finds it, but of keys that are no string the type alone is known. */
static void take_finding(struct redlock_finding *f, const struct redlock_question *q)
{
	const struct redlock_reply *type = q[ASK_TYPE].reply, *pttl = q[ASK_PTTL].reply,
	                           *value = q[ASK_VALUE].reply;
	f->known = type != NULL && type->kind == REDLOCK_REPLY_STATUS && pttl != NULL &&
	           pttl->kind == REDLOCK_REPLY_INTEGER;
	if (!f->known)
		return;
	snprintf(f->type, sizeof f->type, "%s", type->text);
	f->pttl_ms = pttl->integer;
	f->value_len = 1;
	if (value == NULL || value->kind != REDLOCK_REPLY_STRING)
		return;
	f->value_len = value->length;
	f->value_kept = value->length < sizeof f->value ? value->length : sizeof f->value;
	memcpy(f->value, value->text, f->value_kept);
}

/* ---- together ---- */

static bool is_key(const struct redlock_finding *f)
{
	return f->known && holder_kind_of(f) != HOLDER_NONE;
}

/* The node with the most frequent key; `ret_votes` nodes have it. */
static unsigned most_frequent(const struct redlock_finding *f, unsigned nodes, unsigned *ret_votes)
{
	unsigned best = 0;
	*ret_votes = 0;
	for (unsigned i = 0; i < nodes; i++) {
		unsigned same = 0;
		for (unsigned n = 0; is_key(&f[i]) && n < nodes; n++)
			same += is_key(&f[n]) && holder_same(&f[i], &f[n]);
		if (same > *ret_votes) {
			*ret_votes = same;
			best = i;
		}
	}
	return best;
}

/* When fewer than a quorum have the key: the quorum's shortest of the longest rests. No expiry: below 0. */
static double remaining_s(const struct redlock_finding *f, unsigned nodes, unsigned quorum, unsigned best)
{
	double rest = -1;
	for (unsigned i = 0; i < nodes; i++) {
		unsigned longer = 0;
		if (!is_key(&f[i]) || !holder_same(&f[i], &f[best]) || f[i].pttl_ms < 0)
			continue;
		for (unsigned n = 0; n < nodes; n++)
			longer += is_key(&f[n]) && holder_same(&f[n], &f[best]) &&
			          (f[n].pttl_ms < 0 || f[n].pttl_ms >= f[i].pttl_ms);
		if (longer >= quorum && (double)f[i].pttl_ms / 1000 > rest)
			rest = (double)f[i].pttl_ms / 1000;
	}
	return rest;
}

static uint64_t reached(const uint64_t *numbers, unsigned nodes, unsigned quorum)
{
	uint64_t last = 0;
	for (unsigned i = 0; i < nodes; i++) {
		unsigned as_high = 0;
		for (unsigned n = 0; n < nodes; n++)
			as_high += numbers[n] >= numbers[i];
		if (as_high >= quorum && numbers[i] > last)
			last = numbers[i];
	}
	return last;
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Since when the holder is seen, and its TTL as far as it was seen. */
static void follow_holder(struct look_watched *w, const struct redlock_finding *best, struct look_lock *ret)
{
	double now = now_s();
	if (!ret->held) {
		w->had = (struct redlock_finding){.known = 0};
		return;
	}
	if (!w->had.known || !holder_same(&w->had, best)) {
		w->had = *best;
		w->since_s = now;
		w->ttl_s = 0;
	}
	if (ret->remaining_s > w->ttl_s)
		w->ttl_s = ret->remaining_s;
	ret->since_s = now - w->since_s;
	ret->ttl_s = w->ttl_s;
}

/* A node in quarantine that has no key may have forgotten one. */
static bool tells(const struct redlock_finding *f, const struct look_node *node)
{
	return f->known && !(node->quarantined && holder_kind_of(f) == HOLDER_NONE);
}

static void conclude(struct look_watched *w, const struct redlock_finding *f, const struct look *look,
                     struct look_lock *ret)
{
	unsigned known = 0, best = most_frequent(f, look->count, &ret->votes);
	for (unsigned i = 0; i < look->count; i++)
		known += tells(&f[i], &look->node[i]);
	ret->known = known >= look->quorum;
	ret->held = ret->votes >= look->quorum;
	snprintf(ret->kind, sizeof ret->kind, "%s",
	         holder_kind_name(ret->held ? holder_kind_of(&f[best]) : HOLDER_NONE));
	if (ret->held)
		ret->remaining_s = remaining_s(f, look->count, look->quorum, best);
	size_t length = 0;
	const char *owner = ret->held ? holder_owner(&f[best], &length) : NULL;
	if (owner != NULL)
		snprintf(ret->owner, sizeof ret->owner, "%.*s", (int)length, owner);
	follow_holder(w, &f[best], ret);
}

static void take_lock(struct look_watched *w, const struct redlock_question *q, const struct look *look,
                      struct look_lock *ret)
{
	struct redlock_finding f[REDLOCK_MAX_NODES] = {0};
	uint64_t numbers[REDLOCK_MAX_NODES] = {0};
	*ret = (struct look_lock){.name = w->name, .waiting = -1};
	for (unsigned i = 0; i < look->count; i++, q += ASKS) {
		take_finding(&f[i], q);
		int64_t waiting = count_waiters(q[ASK_QUEUE].reply);
		if (waiting > ret->waiting)
			ret->waiting = waiting;
		const struct redlock_reply *number = q[ASK_FENCE].reply;
		if (number != NULL && number->kind == REDLOCK_REPLY_STRING)
			numbers[i] = strtoull(number->text, NULL, 10);
	}
	ret->fence = reached(numbers, look->count, look->quorum);
	conclude(w, f, look, ret);
}

struct words {
	const char *word[ASKS][4];
};

void look_locks_read(struct look_locks *locks, redlock_asker *asker, struct look *look, uint64_t timeout_ms)
{
	size_t each = (size_t)look->count * ASKS;
	struct words *words = calloc(locks->count + 1, sizeof *words);
	struct redlock_question *q = calloc(locks->count * each + 1, sizeof *q);
	for (unsigned i = 0; words != NULL && q != NULL && i < locks->count; i++) {
		const struct look_watched *w = &locks->list[i];
		words[i] = (struct words){{{"TYPE", w->key},
		                           {"PTTL", w->key},
		                           {"GETRANGE", w->key, "0", "1023"},
		                           {"GET", w->queue},
		                           {"GET", w->fence}}};
		for (unsigned n = 0; n < each; n++)
			q[i * each + n] = (struct redlock_question){.size = sizeof *q,
			                                            .node = n / ASKS,
			                                            .argc = n % ASKS == ASK_VALUE ? 4 : 2,
			                                            .argv = words[i].word[n % ASKS]};
	}
	if (words != NULL && q != NULL && locks->count > 0 &&
	    redlock_ask(asker, q, locks->count * each, timeout_ms) >= 0) {
		look->locks = locks->count;
		for (unsigned i = 0; i < locks->count; i++)
			take_lock(&locks->list[i], &q[i * each], look, &look->lock[i]);
	}
	free(words);
	free(q);
}
