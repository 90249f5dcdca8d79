/* SPDX-License-Identifier: MIT */
/* Makes a row of the keys that all nodes have under a name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "../fence_number.h"
#include "../printable.h"
#include "../rival.h"
#include "../side_key.h"
#include "ls.h"

const char *const ls_odd_words[LS_ODDS] = {
#define LS_ODD_WORD(name, word, text, step) [LS_##name] = word,
    LS_ODD_MAP(LS_ODD_WORD)
#undef LS_ODD_WORD
};

enum { OFFERS_MS = 60000 }; /* the life that a script gives to offers */

/* ---- side keys ---- */

static bool has_side(const struct ls_look *look, unsigned node, enum ls_side side)
{
	return look->standing.finding[node].known && look->pttl_ms[node][side] >= -1;
}

static void count_sides(struct ls_row *row, const struct ls_look *look)
{
	for (int side = 0; side < LS_SIDES; side++) {
		struct ls_found_side *found = &row->side[side];
		*found = (struct ls_found_side){.pttl_ms = -2};
		for (unsigned i = 0; i < row->nodes; i++) {
			if (!has_side(look, i, (enum ls_side)side))
				continue;
			found->nodes++;
			/* No expiry is the longest life. */
			if (found->nodes == 1 || (uint64_t)look->pttl_ms[i][side] > (uint64_t)found->pttl_ms)
				found->pttl_ms = look->pttl_ms[i][side];
		}
	}
}

/* The largest number that a node tells. */
static uint64_t largest(const struct ls_look *look, enum ls_side side, bool by_size)
{
	uint64_t most = 0;
	for (unsigned i = 0; i < look->standing.nodes; i++) {
		if (!has_side(look, i, side))
			continue;
		uint64_t number =
		    by_size ? side_key_waiters(look->size[i][side]) : strtoull(look->text[i][side], NULL, 10);
		most = number > most ? number : most;
	}
	return most;
}

static uint64_t last_fence(const struct ls_look *look)
{
	uint64_t fence[REDLOCK_MAX_NODES] = {0};
	for (unsigned i = 0; i < look->standing.nodes; i++)
		if (has_side(look, i, LS_FENCE))
			fence[i] = strtoull(look->text[i][LS_FENCE], NULL, 10);
	return fence_number_of(fence, look->standing.nodes, look->standing.quorum);
}

/* The side key of the old SETNX protocol has the time in the key, when it was claimed, by the clock of the
 * same node, and the token. Returns the token's label; NULL: none. */
static const char *read_setnx(struct ls_row *row, const struct ls_look *look)
{
	unsigned node = look->standing.best;
	const char *text = look->text[node][LS_SETNX];
	unsigned long long ends, since;
	if (!has_side(look, node, LS_SETNX) || sscanf(text, "%llu %llu ", &ends, &since) != 2 ||
	    since > look->time_ms[node])
		return NULL;
	row->held_ms = look->time_ms[node] - since;
	row->held_is_exact = true;
	const char *label = strchr(text, '|');
	return label != NULL ? label + 1 : NULL;
}

/* ---- the lock ---- */

static const char *kind_of(const struct ls_row *row, const struct redlock_finding *finding)
{
	static const char *const words[] = {
	    [HOLDER_TOKEN] = "lock",        [HOLDER_TIME] = "setnx",    [HOLDER_REDISSON] = "redisson",
	    [HOLDER_SHARED] = "shared",     [HOLDER_VALUE] = "foreign", [HOLDER_TYPE] = "foreign",
	    [HOLDER_UNKNOWN] = "remainder", [HOLDER_NONE] = "remainder"};
	enum holder_kind kind = holder_kind_of(finding);
	return row->slots > 0 && kind == HOLDER_TOKEN ? "slot" : words[kind];
}

/* The time that is left for the holder: nodes with another key do not count. */
static int64_t least_life(const struct standing *standing)
{
	int64_t least_ms = -2;
	for (unsigned i = 0; i < standing->nodes; i++) {
		const struct redlock_finding *f = &standing->finding[i];
		if (!f->known || !holder_same(f, &standing->finding[standing->best]))
			continue;
		if (least_ms == -2 || (uint64_t)f->pttl_ms < (uint64_t)least_ms)
			least_ms = f->pttl_ms;
	}
	return least_ms;
}

static bool tell_holder(struct ls_row *row, const struct ls_look *look)
{
	const struct standing *standing = &look->standing;
	const struct redlock_finding *best = &standing->finding[standing->best];
	char text[HOLDER_TEXT_MAX];
	size_t length = 0;
	bool is_split = standing->state == STANDING_SPLIT, is_time = holder_kind_of(best) == HOLDER_TIME;
	const char *owner = is_split ? NULL : is_time ? read_setnx(row, look) : holder_owner(best, &length);
	length = is_time && owner != NULL ? strlen(owner) : length;
	row->identity = is_split ? 1 : holder_identity(best);
	row->pttl_ms = least_life(standing);
	if (is_split)
		snprintf(text, sizeof text, "%u holders", standing->holders);
	else if (owner != NULL)
		printable(owner, length, text, sizeof text);
	else if (is_time)
		printable(best->value, best->value_kept, text, sizeof text);
	else
		holder_who(best, text, sizeof text);
	row->holder = strdup(text);
	row->owner = owner != NULL ? strndup(owner, length) : NULL;
	return row->holder != NULL && (owner == NULL || row->owner != NULL);
}

/* ---- what is odd ---- */

static bool is_endless(const struct ls_row *row, const struct standing *standing)
{
	bool endless = standing->endless > 0;
	for (int side = 0; side < LS_SIDES; side++)
		endless |= row->side[side].nodes > 0 && row->side[side].pttl_ms == -1;
	return endless;
}

static bool has_type(const struct standing *standing, enum holder_kind kind)
{
	for (unsigned i = 0; i < standing->nodes; i++)
		if (holder_kind_of(&standing->finding[i]) == kind)
			return true;
	return false;
}

/* The number of slots, the fencing number and the marker of the last run are kept on purpose, for a time.
 * Each wait in a queue may leave offers, which end after a minute. */
static bool is_orphan(const struct ls_row *row)
{
	const struct ls_found_side *side = row->side;
	bool stay = side[LS_OFFERS].nodes > 0 && (uint64_t)side[LS_OFFERS].pttl_ms > OFFERS_MS;
	for (int i = 0; i < LS_SIDES; i++)
		stay |= side[i].nodes > 0 && side[i].pttl_ms == -1 && i != LS_FENCE;
	return ls_row_is_remainder(row) && (row->side[LS_QUEUE].nodes + row->side[LS_SETNX].nodes > 0 || stay);
}

static unsigned find_odd(const struct ls_row *row, const struct standing *standing)
{
	const bool is[LS_ODDS] = {
	    [LS_NO_EXPIRY] = is_endless(row, standing),
	    [LS_SPLIT] = standing->state == STANDING_SPLIT,
	    [LS_BELOW] = standing->state == STANDING_LEFTOVER,
	    [LS_TYPE] = has_type(standing, HOLDER_TYPE),
	    [LS_ORPHAN] = is_orphan(row),
	    [LS_DOUBT] = standing->forgetful > 0 && standing->state == STANDING_UNKNOWN,
	};
	unsigned odd = 0;
	for (unsigned i = 0; i < LS_ODDS; i++)
		odd |= (unsigned)is[i] << i;
	return odd;
}

/* Only where there are any, as these are large. False: out of memory. */
static bool note_rivals(struct ls_row *row, const struct standing *standing)
{
	struct rivals rivals;
	if (!rivals_note(&rivals, standing, clock_ns()))
		return true;
	row->rivals = malloc(sizeof rivals);
	if (row->rivals != NULL)
		*row->rivals = rivals;
	return row->rivals != NULL;
}

/* A token without a label is 40 hex digits, as many other values are: a lock has an expiry or side keys. */
static bool is_any_hash(const struct ls_row *row, const struct redlock_finding *best)
{
	unsigned sides = 0;
	for (int side = 0; side < LS_SIDES; side++)
		sides += row->side[side].nodes;
	return row->votes > 0 && row->pttl_ms == -1 && sides == 0 && row->owner == NULL &&
	       holder_kind_of(best) == HOLDER_TOKEN;
}

bool ls_row_make(struct ls_row *row, struct ls_look *look, const struct ls_nodes *nodes, size_t prefix_length)
{
	struct standing *standing = &look->standing;
	standing->nodes = nodes->report.nodes;
	standing->quorum = nodes->report.quorum;
	standing_conclude(standing);
	standing_doubt(standing, nodes->forgetful, nodes->forgetful_ms);
	*row = (struct ls_row){.key = strdup(look->name->text),
	                       .found_as = look->name,
	                       .slot = look->name->slot,
	                       .state = standing->state,
	                       .votes = standing->most,
	                       .known = standing->known,
	                       .nodes = standing->nodes,
	                       .quorum = standing->quorum,
	                       .pttl_ms = -2,
	                       .read_ns = clock_ns()};
	count_sides(row, look);
	uint64_t slots = largest(look, LS_SLOTS, false);
	row->slots = slots <= REDLOCK_MAX_SLOTS ? (unsigned)slots : 0;
	row->kind = kind_of(row, &standing->finding[standing->best]);
	row->waiting = largest(look, LS_QUEUE, true);
	row->fence = last_fence(look);
	row->name = row->key != NULL ? row->key + prefix_length : NULL;
	bool ok = row->key != NULL && note_rivals(row, standing);
	if (standing->most > 0)
		ok = tell_holder(row, look) && ok;
	row->is_any_hash = is_any_hash(row, &standing->finding[standing->best]);
	row->odd = find_odd(row, standing);
	return ok;
}

bool ls_row_is_remainder(const struct ls_row *row)
{
	return row->votes == 0;
}

bool ls_row_is_of_interest(const struct ls_row *row)
{
	return row->odd != 0 || !ls_row_is_remainder(row);
}

/* A slot that nobody holds has no keys of its own: those beside the name are told with the name. */
bool ls_row_is_there(const struct ls_row *row)
{
	unsigned sides = 0;
	for (int side = 0; side < LS_SIDES; side++)
		sides += row->side[side].nodes;
	return row->votes > 0 || (sides > 0 && row->slot == 0);
}

void ls_row_clear(struct ls_row *row)
{
	free(row->key);
	free(row->holder);
	free(row->owner);
	free(row->rivals);
	*row = (struct ls_row){0};
}

void ls_rows_free(struct ls_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		ls_row_clear(&rows->list[i]);
	free(rows->list);
	*rows = (struct ls_rows){0};
}
