/* SPDX-License-Identifier: MIT */
#include "proto/side.h"

#include <string.h>

#include "proto/hashslot.h"

/* clang-format off */ /* its versions do not agree on this */
#define SLICE(text) {text, sizeof(text) - 1}
/* clang-format on */

/* Scripts that see the key of the count make those of slots from it (ops/lib/slots.lua). */
static const struct rl_slice marks[RL_SIDE_KINDS] = {
    [RL_SIDE_QUEUE] = SLICE(":redlock:queue"), [RL_SIDE_OFFERS] = SLICE(":redlock:offers"),
    [RL_SIDE_FENCE] = SLICE(":redlock:fence"), [RL_SIDE_SETNX] = SLICE(":redlock:setnx"),
    [RL_SIDE_LAST] = SLICE(":redlock:last"),   [RL_SIDE_COUNT] = SLICE(":redlock:slots"),
    [RL_SIDE_SLOT] = SLICE(":redlock:slot:"),
};

static bool has_tag(struct rl_slice name)
{
	return rl_hashslot_tag(name).bytes != name.bytes;
}

struct rl_slice rl_side_key(char *room, struct rl_slice name, enum rl_side side)
{
	size_t brace = has_tag(name) ? 0 : 1;
	memcpy(room, "{", brace);
	memcpy(room + brace, name.bytes, name.size);
	memcpy(room + brace + name.size, "}", brace);
	memcpy(room + 2 * brace + name.size, marks[side].bytes, marks[side].size);
	return (struct rl_slice){room, 2 * brace + name.size + marks[side].size};
}

/* A name with the prefix in front of it, up to `size`: a mark may begin in the prefix. */
struct whole {
	struct rl_slice prefix, name;
	size_t size;
};

static char byte_at(const struct whole *w, size_t i)
{
	return i < w->prefix.size ? w->prefix.bytes[i] : w->name.bytes[i - w->prefix.size];
}

static bool ends_in(const struct whole *w, struct rl_slice mark)
{
	size_t same = 0;
	while (same < mark.size && same < w->size &&
	       byte_at(w, w->size - 1 - same) == mark.bytes[mark.size - 1 - same])
		same++;
	return same == mark.size;
}

/* Any number of digits: a name must not become a side key when there may be more slots than today. */
static bool is_slot(struct whole w)
{
	size_t size = w.size;
	while (w.size > 0 && byte_at(&w, w.size - 1) >= '0' && byte_at(&w, w.size - 1) <= '9')
		w.size--;
	return w.size < size && ends_in(&w, marks[RL_SIDE_SLOT]);
}

bool rl_side_is_reserved(struct rl_slice prefix, struct rl_slice name)
{
	static const struct rl_slice set = SLICE(RL_SIDE_SET);
	const struct whole w = {prefix, name, prefix.size + name.size};
	bool reserved = w.size == set.size && ends_in(&w, set);
	for (unsigned side = 0; side < RL_SIDE_SLOT; side++)
		reserved |= ends_in(&w, marks[side]);
	return reserved || is_slot(w);
}
