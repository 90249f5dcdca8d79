/* SPDX-License-Identifier: MIT */
#include "admit.h"

#include <stdio.h>
#include <string.h>

#include "core/time.h"
#include "net/admission.h"
#include "net/permit.h"
#include "net/record.h"

#define READ_NS (200 * RL_NS_PER_MS)
#define AGAIN_NS (50 * RL_NS_PER_MS)
#define COUNTERS_NS (1000 * RL_NS_PER_MS)

static const struct rl_set_record *record_of(const struct rl_nodes *ns, unsigned i)
{
	return &ns->set->records[i];
}

static bool is_open(const struct rl_nodes *ns, unsigned i)
{
	return ns->list[i].link.state == RL_LINK_OPEN && record_of(ns, i)->met;
}

static bool votes(const struct rl_nodes *ns, unsigned i)
{
	return is_open(ns, i) && ns->list[i].admission->opinion.kind == RL_SET_PASSES;
}

/* Whether the node's quarantine is over, the node has told its id, and nothing else stands against the node.
 */
static bool is_over(const struct rl_nodes *ns, unsigned i)
{
	const struct rl_set_record *r = record_of(ns, i);
	const struct rl_set_opinion *o = &ns->list[i].admission->opinion;
	return r->verdict == RL_SET_OVER && r->quarantine[0] != '\0' && is_open(ns, i) &&
	       o->kind == RL_SET_REFUSE && o->vote == REDLOCK_VOTE_QUARANTINE;
}

/* Whether the node was admitted when too few other nodes were there to report its counters. */
static bool lacks_counters(const struct rl_nodes *ns, unsigned i)
{
	const struct rl_set_record *r = record_of(ns, i);
	return r->floor == RL_SET_UNKNOWN && r->quarantine[0] != '\0' && votes(ns, i);
}

static unsigned count_counting(const struct rl_nodes *ns, uint32_t among)
{
	unsigned count = 0;
	for (unsigned i = 0; i < ns->count; i++)
		count += (among >> i & 1) != 0 && votes(ns, i) && record_of(ns, i)->floor != RL_SET_UNKNOWN;
	return count;
}

/* A client with an older list of members must not write it over a newer one. */
static bool may_repair(const struct rl_set *set)
{
	return set->config[0] != '\0' && set->step == set->latest;
}

static bool find_node(const struct rl_nodes *ns, unsigned *ret)
{
	for (unsigned i = 0; i < ns->count; i++)
		if (is_over(ns, i) && !ns->list[i].admission->asking) {
			*ret = i;
			return true;
		}
	for (unsigned i = 0; i < ns->count; i++)
		if (lacks_counters(ns, i) && !ns->list[i].admission->asking) {
			*ret = i;
			return count_counting(ns, UINT32_MAX) >= ns->quorum;
		}
	return false;
}

static void begin(struct rl_admit *g, const struct rl_nodes *ns, uint64_t now_ns)
{
	*g = (struct rl_admit){.reading = true, .node = g->node, .until_ns = rl_time_add(now_ns, READ_NS)};
	memcpy(g->quarantine, record_of(ns, g->node)->quarantine, sizeof g->quarantine);
	for (unsigned i = 0; i < ns->count; i++)
		g->to_ask |= (uint32_t)(i != g->node && votes(ns, i)) << i;
}

/* A node with an unanswered question is asked once more: that answer may be older than the end of the
 * quarantine. */
static void read_others(struct rl_admit *g, struct rl_nodes *ns, uint64_t now_ns)
{
	for (unsigned i = 0; i < ns->count; i++) {
		struct rl_node *n = &ns->list[i];
		uint32_t bit = UINT32_C(1) << i;
		if (n->admission->asking || ((g->to_ask | g->asked) & bit) == 0)
			continue;
		if ((g->asked & bit) != 0) {
			g->read |= bit;
			g->asked &= ~bit;
			continue;
		}
		rl_record_ask(n, now_ns); /* unless its connection is too old, and is made anew */
		if (n->admission->asking) {
			g->to_ask &= ~bit;
			g->asked |= bit;
		}
	}
}

/* The largest number that a quorum has seen. False: too few know. */
static bool find_floor(const struct rl_admit *g, const struct rl_nodes *ns, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < ns->count; i++) {
		const struct rl_set_record *r = record_of(ns, i);
		if ((g->read >> i & 1) == 0 || !votes(ns, i) || r->floor == RL_SET_UNKNOWN)
			continue;
		*ret = rl_time_max(*ret, r->floor);
		*ret = rl_time_max(*ret, r->most);
	}
	return count_counting(ns, g->read) >= ns->quorum;
}

static void finish(struct rl_admit *g, struct rl_nodes *ns, uint64_t now_ns)
{
	char floor[24] = "";
	uint64_t number;
	bool over = is_over(ns, g->node), counted = find_floor(g, ns, &number);
	bool same = strcmp(g->quarantine, record_of(ns, g->node)->quarantine) == 0;
	g->reading = false;
	g->again_ns = rl_time_add(now_ns, over || counted ? AGAIN_NS : COUNTERS_NS);
	if (counted)
		snprintf(floor, sizeof floor, "%llu", (unsigned long long)number);
	if (may_repair(ns->set) && same && (over || (counted && lacks_counters(ns, g->node))))
		rl_record_admit(&ns->list[g->node], floor, now_ns);
}

/* A node's clock has moved: all are asked for their time at once, so that they can be compared. */
static void compare_clocks(struct rl_nodes *ns, uint64_t now_ns)
{
	ns->set->doubts = false;
	for (unsigned i = 0; i < ns->count; i++)
		rl_record_ask(&ns->list[i], now_ns);
}

void rl_admit_turn(struct rl_admit *g, struct rl_nodes *ns, uint64_t now_ns)
{
	if (ns->set->doubts)
		compare_clocks(ns, now_ns);
	if (!g->reading && now_ns >= g->again_ns && may_repair(ns->set) && find_node(ns, &g->node))
		begin(g, ns, now_ns);
	if (g->reading)
		read_others(g, ns, now_ns);
	if (g->reading && ((g->to_ask | g->asked) == 0 || now_ns >= g->until_ns))
		finish(g, ns, now_ns);
	for (unsigned i = 0; i < ns->count; i++) {
		if (now_ns >= rl_permit_deadline(&ns->list[i]))
			rl_permit_tick(&ns->list[i], now_ns);
		rl_admission_renews(&ns->list[i], now_ns);
	}
}

uint64_t rl_admit_deadline(const struct rl_admit *g, const struct rl_nodes *ns)
{
	uint64_t next = g->reading ? g->until_ns : UINT64_MAX;
	unsigned node;
	next = rl_time_min(next, ns->set->changed ? 0 : rl_set_deadline(ns->set));
	if (!g->reading && g->again_ns > 0 && may_repair(ns->set) && find_node(ns, &node))
		next = g->again_ns;
	for (unsigned i = 0; i < ns->count; i++)
		next = rl_time_min(next, rl_permit_deadline(&ns->list[i]));
	return next;
}
