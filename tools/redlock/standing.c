/* SPDX-License-Identifier: MIT */
/* Finds out who has a lock. */
#include "standing.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define STANDING_NAME(name, word) word,
    STANDING_MAP(STANDING_NAME)
#undef STANDING_NAME
};

const char *standing_name(enum standing_state state)
{
	return names[state];
}

/* ---- from findings to a verdict ---- */

/* No expiry is the longest life. */
static bool lives_longer(const struct redlock_finding *a, const struct redlock_finding *b)
{
	return (uint64_t)a->pttl_ms > (uint64_t)b->pttl_ms;
}

static void count_node(struct standing *standing, unsigned index)
{
	const struct redlock_finding *finding = &standing->finding[index];
	unsigned same = 0, longest = index;
	bool first = true;
	if (!finding->known)
		return;
	standing->known++;
	if (holder_kind_of(finding) == HOLDER_NONE) {
		standing->free++;
		return;
	}
	standing->endless += finding->pttl_ms == -1;
	for (unsigned i = 0; i < standing->nodes; i++) {
		if (!holder_same(finding, &standing->finding[i]))
			continue;
		same++;
		first = first && i >= index;
		if (lives_longer(&standing->finding[i], &standing->finding[longest]))
			longest = i;
	}
	standing->holders += first;
	if (same > standing->most) {
		standing->most = same;
		standing->best = longest;
	}
}

static unsigned silent(const struct standing *standing)
{
	return standing->nodes - standing->known;
}

static enum standing_state judge(const struct standing *standing)
{
	if (standing->most >= standing->quorum)
		return STANDING_HELD;
	if (standing->known < standing->quorum)
		return STANDING_UNKNOWN;
	if (standing->holders == 0)
		return STANDING_FREE;
	if (standing->most + silent(standing) >= standing->quorum) /* a live lock may be there */
		return STANDING_UNKNOWN;
	return standing->holders == 1 ? STANDING_LEFTOVER : STANDING_SPLIT;
}

void standing_conclude(struct standing *standing)
{
	for (unsigned i = 0; i < standing->nodes; i++)
		count_node(standing, i);
	standing->state = judge(standing);
}

void standing_doubt(struct standing *standing, uint64_t nodes, uint64_t left_ms)
{
	for (unsigned i = 0; i < standing->nodes; i++)
		standing->forgetful += (nodes >> i & 1) != 0 && holder_kind_of(&standing->finding[i]) == HOLDER_NONE;
	if (standing->most < standing->quorum && standing->most + standing->forgetful >= standing->quorum) {
		standing->state = STANDING_UNKNOWN;
		standing->forgetful_ms = left_ms;
	}
}

unsigned standing_count(const struct standing *standing, const char *value, size_t length)
{
	unsigned count = 0;
	for (unsigned i = 0; i < standing->nodes; i++) {
		const struct redlock_finding *finding = &standing->finding[i];
		count += finding->known && strcmp(finding->type, "string") == 0 && finding->value_len == length &&
		         memcmp(finding->value, value, length) == 0;
	}
	return count;
}

/* They are told as words. */
static bool has_word(const struct redlock_finding *finding, const char *word)
{
	size_t length = strlen(word);
	const char *at = finding->value, *end = at + finding->value_kept;
	for (const char *next; at < end; at = next + 1) {
		next = memchr(at, ' ', (size_t)(end - at));
		next = next != NULL ? next : end;
		if ((size_t)(next - at) == length && memcmp(at, word, length) == 0)
			return true;
	}
	return false;
}

unsigned standing_count_sharing(const struct standing *standing, const char *value)
{
	unsigned count = 0;
	for (unsigned i = 0; i < standing->nodes; i++)
		count +=
		    holder_kind_of(&standing->finding[i]) == HOLDER_SHARED && has_word(&standing->finding[i], value);
	return count;
}

bool standing_blocks_for_ever(const struct standing *standing)
{
	return standing->endless > standing->nodes - standing->quorum;
}

bool standing_is_stuck(const struct standing *standing)
{
	return standing_blocks_for_ever(standing) && holder_time_left(&standing->finding[standing->best]) <= 0;
}

bool standing_is_shared(const struct standing *standing)
{
	return standing->state == STANDING_HELD &&
	       holder_kind_of(&standing->finding[standing->best]) == HOLDER_SHARED;
}

/* ---- words ---- */

static const char *leftover_consequence(const struct standing *standing)
{
	if (standing->free >= standing->quorum)
		return "blocks nobody";
	return standing_blocks_for_ever(standing)
	           ? "blocks others until somebody deletes it: `redlock break NAME`"
	           : "blocks others until it expires";
}

/* When the node has no key any more; INT64_MAX: never. A node that was not waited for may have none. */
static int64_t free_in_ms(const struct redlock_finding *finding)
{
	if (finding->known && finding->pttl_ms == -1)
		return INT64_MAX;
	return finding->known && finding->pttl_ms > 0 ? finding->pttl_ms : 0;
}

/* When a quorum of the nodes has no key any more. */
static int64_t quorum_free_in_ms(const struct standing *standing)
{
	int64_t soonest = INT64_MAX;
	for (unsigned i = 0; i < standing->nodes; i++) {
		int64_t when = free_in_ms(&standing->finding[i]);
		unsigned free = 0;
		for (unsigned k = 0; k < standing->nodes; k++)
			free += free_in_ms(&standing->finding[k]) <= when;
		if (free >= standing->quorum && when < soonest)
			soonest = when;
	}
	return soonest;
}

/* When a split ends by itself, if no client tries again. */
static const char *split_end(const struct standing *standing, char *buffer, size_t size)
{
	if (standing_blocks_for_ever(standing))
		return "and not by TTL, as keys have no expiry";
	snprintf(buffer, size, "or by TTL in %.1f s%s", (double)quorum_free_in_ms(standing) / 1000,
	         standing->known < standing->nodes ? " at the earliest" : "");
	return buffer;
}

/* Says that nodes in quarantine may have forgotten a lock. */
static void doubt(const struct standing *standing, const char *holder, char *buffer, size_t size)
{
	char when[48] = "";
	const char *plural = standing->forgetful == 1 ? "" : "s";
	if (standing->forgetful_ms > 0)
		snprintf(when, sizeof when, ", for another %.1f s", (double)standing->forgetful_ms / 1000);
	if (standing->most > 0)
		snprintf(buffer, size, STANDING_TEXT_MAYBE, holder, standing->most, standing->nodes,
		         standing->forgetful, plural, when);
	else
		snprintf(buffer, size, STANDING_TEXT_FORGOTTEN, standing->forgetful, standing->nodes, when);
}

static void verdict(const struct standing *standing, const char *holder, char *buffer, size_t size)
{
	char end[48];
	switch (standing->state) {
	case STANDING_FREE:
		snprintf(buffer, size, "free");
		break;
	case STANDING_HELD:
		snprintf(buffer, size, "%s by %s on %s%u of %u nodes",
		         standing_is_shared(standing) ? "shared" : "held", holder,
		         standing->known < standing->nodes ? "at least " : "", standing->most, standing->nodes);
		break;
	case STANDING_SPLIT:
		snprintf(buffer, size, STANDING_TEXT_SPLIT, standing->holders, standing->quorum, standing->nodes,
		         split_end(standing, end, sizeof end));
		break;
	case STANDING_LEFTOVER:
		snprintf(buffer, size, STANDING_TEXT_LEFTOVER, holder, standing->most, standing->nodes,
		         leftover_consequence(standing));
		break;
	case STANDING_UNKNOWN:
		if (standing->forgetful > 0)
			doubt(standing, holder, buffer, size);
		else if (standing->known >= standing->quorum)
			snprintf(buffer, size, STANDING_TEXT_OPEN, holder, standing->most, standing->nodes,
			         silent(standing), silent(standing) == 1 ? "" : "s");
		else
			snprintf(buffer, size, STANDING_TEXT_FEW, standing->known, standing->nodes, standing->quorum);
		break;
	}
}

const char *standing_text(const struct standing *standing, char *buffer, size_t size)
{
	char holder[HOLDER_TEXT_MAX];
	verdict(standing, holder_text(&standing->finding[standing->best], holder, sizeof holder), buffer, size);
	return buffer;
}

const char *standing_life(const struct standing *standing, char *buffer, size_t size)
{
	int64_t pttl_ms = standing->finding[standing->best].pttl_ms;
	buffer[0] = '\0';
	if (standing->state == STANDING_HELD && pttl_ms < 0)
		snprintf(buffer, size, STANDING_TEXT_NEVER);
	else if (standing->state == STANDING_HELD)
		snprintf(buffer, size, STANDING_TEXT_EXPIRES, (double)pttl_ms / 1000);
	return buffer;
}

const char *standing_words(const struct standing *standing, char *buffer, size_t size)
{
	const struct redlock_finding *best = &standing->finding[standing->best];
	char holder[HOLDER_TEXT_MAX];
	verdict(standing, holder_who(best, holder, sizeof holder), buffer, size);
	size_t used = strlen(buffer);
	if (standing->state != STANDING_HELD)
		return buffer;
	if (standing->seen_ms > 0) {
		buffer[used++] = ',';
		used += (size_t)snprintf(buffer + used, size - used, STANDING_TEXT_SEEN,
		                         (double)standing->seen_ms / 1000, standing->renewed ? " and renewed" : "");
	}
	(void)standing_life(standing, buffer + used, size - used);
	return buffer;
}

const char *standing_remedy(const struct standing *standing)
{
	enum holder_kind kind = holder_kind_of(&standing->finding[standing->best]);
	if (standing->state != STANDING_HELD || !standing_blocks_for_ever(standing))
		return "";
	return kind == HOLDER_TYPE || kind == HOLDER_REDISSON ? "; if nobody needs it: `redlock break NAME`"
	                                                      : "; if its holder is gone: `redlock break NAME`";
}

/* In an object that is open. */
static void put_members(const struct standing *standing, struct json *json)
{
	const struct redlock_finding *best = &standing->finding[standing->best];
	bool any = standing->most > 0;
	json_text(json, "state", standing_name(standing->state));
	json_text(json, "kind", holder_kind_name(any ? holder_kind_of(best) : HOLDER_NONE));
	char who[HOLDER_TEXT_MAX];
	if (any)
		json_text(json, "who", holder_who(best, who, sizeof who));
	else
		json_null(json, "who");
	const char *owner;
	size_t length;
	if (any && (owner = holder_owner(best, &length)) != NULL)
		json_bytes(json, "owner", owner, length);
	else
		json_null(json, "owner");
	json_number(json, "held_on", standing->most);
	json_number_or_null(json, "pttl_ms", any, best->pttl_ms);
	json_number_or_null(json, "held_for_ms", standing->seen_ms > 0, (int64_t)standing->seen_ms);
	json_bool(json, "blocks_for_ever", standing_blocks_for_ever(standing));
}

void standing_json(const struct standing *standing, const char *key, struct json *json)
{
	json_open(json, key, '{');
	put_members(standing, json);
	json_close(json, '}');
}

void standing_json_token(const struct standing *standing, struct json *json)
{
	const struct redlock_finding *best = &standing->finding[standing->best];
	json_open(json, NULL, '{');
	put_members(standing, json);
	if (standing->most > 0 && holder_kind_of(best) == HOLDER_TOKEN)
		json_bytes(json, "token", best->value, best->value_kept);
	else
		json_null(json, "token");
	json_close(json, '}');
}
