/* SPDX-License-Identifier: MIT */
#include "break_targets.h"

#include <stdlib.h>
#include <string.h>

struct sought {
	struct break_targets *targets;
	const char *holder;
	unsigned node; /* its keys are being read */
	bool ok;
};

static struct break_target *find(const struct break_targets *targets, const char *token, unsigned slot)
{
	for (size_t i = 0; i < targets->count; i++)
		if (targets->list[i].slot == slot && strcmp(targets->list[i].token, token) == 0)
			return &targets->list[i];
	return NULL;
}

static struct break_target *append(struct break_targets *targets, const char *token, unsigned slot,
                                   bool shared)
{
	if (targets->count == targets->room) {
		size_t room = targets->room > 0 ? 2 * targets->room : 8;
		struct break_target *list = realloc(targets->list, room * sizeof *list);
		if (list == NULL)
			return NULL;
		targets->list = list;
		targets->room = room;
	}
	struct break_target *target = &targets->list[targets->count++];
	*target = (struct break_target){.slot = slot, .shared = shared};
	memcpy(target->token, token, strlen(token) + 1);
	return target;
}

static void add_foreign(struct sought *sought, unsigned slot)
{
	sought->targets->foreign[slot] |= UINT64_C(1) << sought->node;
	sought->targets->is_foreign = true;
}

static void add(struct sought *sought, const char *bytes, size_t length, unsigned slot, bool shared)
{
	char token[REDLOCK_MAX_TOKEN + 1];
	if (length == 0 || length > REDLOCK_MAX_TOKEN || memchr(bytes, '\0', length) != NULL) {
		add_foreign(sought, slot);
		return;
	}
	memcpy(token, bytes, length);
	token[length] = '\0';
	if (sought->holder != NULL && strcmp(sought->holder, token) != 0)
		return;
	struct break_target *target = find(sought->targets, token, slot);
	if (target == NULL)
		target = append(sought->targets, token, slot, shared);
	sought->ok &= target != NULL;
	if (target != NULL)
		target->nodes++;
}

/* A node tells tokens of some holders; the last one may be cut off where there was no room for all. */
static void add_sharing(struct sought *sought, const struct redlock_finding *finding)
{
	const char *at = finding->value, *end = at + finding->value_kept;
	bool is_cut = finding->value_kept == sizeof finding->value;
	while (at < end) {
		const char *next = memchr(at, ' ', (size_t)(end - at));
		if (next == NULL && is_cut)
			return;
		next = next != NULL ? next : end;
		add(sought, at, (size_t)(next - at), 0, true);
		at = next + 1;
	}
}

static void add_keys(struct sought *sought, const struct standing *standing, unsigned slot)
{
	for (unsigned i = 0; i < standing->nodes; i++) {
		const struct redlock_finding *finding = &standing->finding[i];
		enum holder_kind kind = holder_kind_of(finding);
		sought->node = i;
		sought->targets->answered |= (uint64_t)(kind != HOLDER_UNKNOWN) << i;
		if (kind == HOLDER_SHARED)
			add_sharing(sought, finding);
		else if (kind == HOLDER_REDISSON || kind == HOLDER_TYPE)
			add_foreign(sought, slot);
		else if (kind != HOLDER_NONE && kind != HOLDER_UNKNOWN)
			add(sought, finding->value, finding->value_len, slot, false);
	}
}

bool break_targets_find(struct break_targets *targets, struct status_picture *picture, const char *holder)
{
	struct sought sought = {.targets = targets, .holder = holder, .ok = true};
	*targets = (struct break_targets){0};
	add_keys(&sought, &picture->standing, 0);
	for (unsigned slot = 1; slot < picture->slots.count; slot++) {
		const struct standing *standing = status_slots_at(&picture->slots, slot);
		if (standing != NULL)
			add_keys(&sought, standing, slot);
	}
	/* Nodes show the tokens of 24 that share a lock: another one may be right all the same. */
	if (targets->count == 0 && holder != NULL && standing_is_shared(&picture->standing) &&
	    strlen(holder) <= REDLOCK_MAX_TOKEN)
		sought.ok &= append(targets, holder, 0, true) != NULL;
	return sought.ok;
}

bool break_targets_need_choice(const struct break_targets *targets)
{
	for (size_t i = 0; i < targets->count && targets->count > 1; i++)
		if (targets->list[i].shared || targets->list[i].slot > 0)
			return true;
	return false;
}
