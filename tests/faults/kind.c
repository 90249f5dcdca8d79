/* SPDX-License-Identifier: MIT */
/* The kinds of locks of the fault tests. See kind.h. */
#include "kind.h"

#include <stdio.h>
#include <string.h>

static const struct kind kinds[] = {
    {.name = "alone", .names = {"counter"}, .cells = {1, {0}}},
    {.name = "reader", .names = {"counter"}, .cells = {1, {0}}, .shares = true},
    {.name = "slot", .names = {"counter"}, .cells = {1, {0}}, .slots = SLOTS},
    {.name = "both", .names = {"counter", "other"}, .cells = {2, {0, 1}}},
    {.name = "turned", .names = {"other", "counter"}, .cells = {2, {0, 1}}},
    {.name = "other", .names = {"other"}, .cells = {1, {1}}},
    {.name = "setnx", .names = {"counter"}, .cells = {1, {0}}, .setnx = true},
};

const struct kind *kind_named(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

int kind_lock(const struct kind *kind, redlock_client *client, struct redlock_lock_options *options,
              redlock_lock **ret_lock)
{
	options->mode = kind->shares ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
	options->slots = kind->slots;
	options->compat = kind->setnx ? REDLOCK_COMPAT_SETNX : REDLOCK_COMPAT_OFF;
	if (kind->names[1] != NULL)
		return redlock_lock_new_many(client, kind->names, 2, options, ret_lock);
	return redlock_lock_new(client, kind->names[0], options, ret_lock);
}

struct cells kind_cells(const struct kind *kind, const redlock_lock *lock)
{
	struct cells cells = kind->cells;
	if (kind->slots > 0 && redlock_lock_slot(lock, &cells.cell[0]) < 0)
		cells.count = 0; /* the history is refused */
	return cells;
}

const char *cells_text(const struct cells *cells, char *buffer, size_t size)
{
	size_t used = 0;
	for (unsigned i = 0; i < cells->count && used < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%s%u", i > 0 ? "," : "", cells->cell[i]);
	return buffer;
}
