/* SPDX-License-Identifier: MIT */
#include "spread.h"

#include <stdio.h>
#include <string.h>

#include "core/quorum.h"
#include "core/sized.h"
#include "proto/buffer.h"
#include "proto/hashslot.h"

const char rl_spread_no_memory[] = "out of memory";

/* ---- sets ---- */

static const char *take_one(const void *from, struct rl_spread_sets *sets)
{
	struct redlock_node_set *set = &sets->list[sets->count];
	*set = (struct redlock_node_set){.size = sizeof *set};
	if (rl_sized_copy(set, sizeof *set, from) < 0)
		return "a node set has no size, or an option that this library does not know";
	if (set->name == NULL || !*set->name)
		return "a node set has no name";
	if (set->joining != 0 && (set->joining != 1 || sets->joining < REDLOCK_MAX_SETS))
		return "joining is 1 for one node set at most, and 0 for others";
	for (unsigned i = 0; i < sets->count; i++)
		if (strcmp(sets->list[i].name, set->name) == 0)
			return "two node sets have the same name";
	if (set->joining != 0)
		sets->joining = sets->count;
	sets->count++;
	return NULL;
}

const char *rl_spread_take(const struct redlock_options *o, struct rl_spread_sets *ret)
{
	const char *why = NULL;
	ret->count = 0;
	ret->joining = REDLOCK_MAX_SETS;
	if (o->sets == NULL || o->set_count < 1 || o->set_count > REDLOCK_MAX_SETS)
		return "1 to 16 node sets are needed";
	if (o->urls != NULL || o->url_count > 0 || o->quorum > 0)
		return "urls and quorum belong to each of the node sets";
	if (o->guarded_set != NULL)
		return "guarded_set is of one node set: leave it out";
	for (size_t i = 0; i < o->set_count && why == NULL; i++)
		why = take_one((const char *)o->sets + i * o->sets->size, ret);
	if (why == NULL && ret->joining < ret->count && ret->count == 1)
		why = "a node set cannot join without another one";
	if (ret->joining > ret->count)
		ret->joining = ret->count;
	if (why == NULL && ret->joining < ret->count && o->guard == REDLOCK_GUARD_REQUIRE)
		why = "a set cannot join guarded node sets, whose nodes refuse a list with other nodes: stop all "
		      "clients for longer than the longest TTL, and start them with the new list of sets";
	return why;
}

/* ---- names ---- */

/* FNV-1a. */
static uint64_t add_bytes(uint64_t hash, struct rl_slice text)
{
	for (size_t i = 0; i < text.size; i++)
		hash = (hash ^ (uint8_t)text.bytes[i]) * 0x100000001B3u;
	return hash;
}

/* The end of SplitMix64: each bit reaches all others. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

uint64_t rl_spread_weight(const char *set, struct rl_slice key)
{
	uint64_t of_set = mix(add_bytes(0xCBF29CE484222325u, rl_slice_of(set)));
	return mix(add_bytes(of_set, key));
}

static unsigned heaviest(const struct rl_spread_sets *sets, struct rl_slice key, bool with_joining)
{
	unsigned best = sets->joining == 0 ? 1 : 0;
	for (unsigned i = 0; i < sets->count; i++)
		if ((with_joining || i != sets->joining) &&
		    rl_spread_weight(sets->list[i].name, key) > rl_spread_weight(sets->list[best].name, key))
			best = i;
	return best;
}

/* The hash tag of a name, in `buffer`. False: out of memory. */
static bool find_tag(struct rl_slice prefix, const struct redlock_name *name, struct rl_buffer *buffer,
                     struct rl_slice *ret)
{
	if (!rl_buffer_reserve(buffer, prefix.size + name->len))
		return false;
	if (prefix.size > 0)
		memcpy(buffer->bytes, prefix.bytes, prefix.size);
	memcpy(buffer->bytes + prefix.size, name->bytes, name->len);
	*ret = rl_hashslot_tag((struct rl_slice){buffer->bytes, prefix.size + name->len});
	return true;
}

const char *rl_spread_choose(const struct rl_spread_sets *sets, struct rl_slice prefix,
                             const struct redlock_name *names, size_t count, struct rl_spread_choice *ret)
{
	const char *why = NULL;
	struct rl_buffer first = {0}, other = {0};
	struct rl_slice key, tag;
	bool ok = find_tag(prefix, &names[0], &first, &key);
	for (size_t i = 1; i < count && ok && why == NULL; i++) {
		ok = find_tag(prefix, &names[i], &other, &tag);
		if (ok && !rl_slice_same(tag, key))
			why = "the names may be in different node sets: use a hash tag, as {job}:a and {job}:b";
	}
	if (ok && why == NULL) {
		ret->set = heaviest(sets, key, false);
		ret->joins = sets->joining < sets->count && heaviest(sets, key, true) == sets->joining;
	}
	rl_buffer_free(&first);
	rl_buffer_free(&other);
	return ok ? why : rl_spread_no_memory;
}

/* ---- nodes ---- */

static unsigned quorum_of(const struct redlock_node_set *set)
{
	return set->quorum != 0 ? set->quorum : rl_quorum_least((unsigned)set->url_count);
}

static const char *check_nodes(const struct redlock_node_set *set)
{
	if (set->urls == NULL || set->url_count < 1 || set->url_count > REDLOCK_MAX_NODES)
		return "a node set has 1 to 31 URLs";
	if (quorum_of(set) < rl_quorum_least((unsigned)set->url_count) || quorum_of(set) > set->url_count)
		return "the quorum of a node set is between a majority and all of its nodes";
	return NULL;
}

/* Set b has at most all its nodes among the votes, so that all others are of set a: a number of votes that is
 * all nodes of b and a quorum of a contains that quorum. The same is true with a and b exchanged, so that the
 * larger of the two numbers contains a quorum of each set. */
static const char *join(const struct redlock_node_set *a, const struct redlock_node_set *b, const char **urls,
                        struct redlock_node_set *ret)
{
	unsigned of_a = (unsigned)b->url_count + quorum_of(a), of_b = (unsigned)a->url_count + quorum_of(b);
	if (a->url_count + b->url_count > REDLOCK_MAX_NODES)
		return "the set that joins and another one have more than 31 nodes together";
	memcpy(urls + a->url_count, b->urls, b->url_count * sizeof *urls);
	ret->url_count += b->url_count;
	ret->quorum = of_a > of_b ? of_a : of_b;
	ret->joining = 1;
	return NULL;
}

const char *rl_spread_nodes(const struct rl_spread_sets *sets, struct rl_spread_choice choice,
                            const char **urls, struct redlock_node_set *ret)
{
	const struct redlock_node_set *set = &sets->list[choice.set];
	const char *why = check_nodes(set);
	if (why == NULL && choice.joins)
		why = check_nodes(&sets->list[sets->joining]);
	if (why != NULL)
		return why;
	*ret = *set;
	ret->urls = urls;
	ret->joining = 0;
	memcpy(urls, set->urls, set->url_count * sizeof *urls);
	return choice.joins ? join(set, &sets->list[sets->joining], urls, ret) : NULL;
}

/* ---- for callers ---- */

static int refuse(const struct redlock_options *o, const char *why)
{
	if (o->error_text != NULL && o->error_text_size > 0)
		snprintf(o->error_text, o->error_text_size, "%s", why);
	return why == rl_spread_no_memory ? REDLOCK_E_NOMEM : REDLOCK_E_INVAL;
}

static const char *nodes_of(const struct redlock_options *o, const struct redlock_name *names, size_t count,
                            const char **urls, struct redlock_node_set *ret)
{
	const struct rl_slice prefix = {o->prefix, o->prefix != NULL ? strlen(o->prefix) : 0};
	struct rl_spread_sets sets = {.count = 1, .joining = 1};
	struct rl_spread_choice choice = {0};
	sets.list[0] = (struct redlock_node_set){
	    .size = sizeof *ret, .name = "", .urls = o->urls, .url_count = o->url_count, .quorum = o->quorum};
	const char *why = o->sets != NULL ? rl_spread_take(o, &sets) : NULL;
	for (size_t i = 0; i < count && why == NULL; i++)
		why = names[i].bytes == NULL || names[i].len == 0 ? "a name is empty" : NULL;
	if (why == NULL && o->sets != NULL)
		why = rl_spread_choose(&sets, prefix, names, count, &choice);
	return why == NULL ? rl_spread_nodes(&sets, choice, urls, ret) : why;
}

int redlock_nodes_of(const struct redlock_options *options, const struct redlock_name *names, size_t count,
                     const char **ret_urls, struct redlock_node_set *ret_set)
{
	struct redlock_options o;
	struct redlock_node_set set = {0};
	redlock_options_init(&o);
	if (options == NULL || names == NULL || count == 0 || ret_urls == NULL || rl_sized_check(ret_set) < 0 ||
	    rl_sized_copy(&o, sizeof o, options) < 0)
		return REDLOCK_E_INVAL;
	const char *why = nodes_of(&o, names, count, ret_urls, &set);
	return why == NULL ? rl_sized_return(ret_set, &set, sizeof set) : refuse(&o, why);
}
