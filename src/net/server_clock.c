/* SPDX-License-Identifier: MIT */
#include "net/server_clock.h"

#include <stdio.h>

#include "core/time.h"
#include "core/validity.h"
#include "os/clock.h"

/* How often a node tells its time: with renewals, and with claims. */
#define TIMED_NS (50 * RL_NS_PER_MS)
#define TIMED_CLAIM_NS (1000 * RL_NS_PER_MS)

/* A clock that is off by more than this is worth a word, though it harms nobody. */
#define APART_NS ((int64_t)1000000000)

bool rl_server_clock_times(const struct rl_node *n, const struct rl_request *r, uint64_t now_ns)
{
	const struct rl_admission *a = n->admission;
	const struct rl_op *op = &rl_ops[r->operation];
	uint64_t every_ns = op->claims ? TIMED_CLAIM_NS : TIMED_NS;
	return op->relies && !a->timing && now_ns >= rl_time_add(a->timed_ns, every_ns);
}

void rl_server_clock_timed(struct rl_node *n, uint64_t now_ns)
{
	n->admission->timing = true;
	n->admission->timed_ns = now_ns;
}

bool rl_server_clock_is_off(const struct rl_node *n)
{
	return n->admission->set->offsets[n->id].out_until_ns != 0;
}

/* Takes the server's time, which was asked for at `sent_ns`. The time at the beginning of this turn would be
 * too early for when the answer was received. */
void rl_server_clock_read(struct rl_node *n, uint64_t sent_ns, int64_t wall_ms)
{
	struct rl_set *set = n->admission->set;
	struct rl_offset_rules *rules = &set->clocks;
	uint64_t ttl_ns = rl_time_ms(set->ttl_ms);
	int64_t wall_ns;
	struct rl_offset_reading reading = {sent_ns, rl_clock_read(&wall_ns), wall_ms};
	if (ttl_ns == 0)
		return; /* it has no guard */
	rules->out_ns = rl_time_add(ttl_ns, rl_validity_drift(ttl_ns, rules->drift_ppm, rules->drift_ns));
	uint64_t was_until_ns = set->offsets[n->id].out_until_ns;
	uint32_t news = rl_offset_read(set->offsets, set->count, n->id, rules, &reading);
	set->doubts |= news != 0;
	set->changed |= news != 0 || was_until_ns != 0;
	for (unsigned i = 0; i < set->count; i++) {
		uint32_t bit = UINT32_C(1) << i;
		bool apart = rl_offset_apart_ns(set->offsets, set->count, i, wall_ns, APART_NS) != 0;
		news |= apart && (set->apart & bit) == 0 ? bit : 0;
		set->apart |= apart ? bit : 0;
	}
	set->wall_ns = wall_ns;
	set->warned |= news;
}

void rl_server_clock_warn(struct rl_node *n)
{
	const struct rl_set *set = n->admission->set;
	const struct rl_offset *o = &set->offsets[n->id];
	bool off = o->out_until_ns != 0, odd = off || o->odd_ns != 0;
	int64_t ns = odd ? rl_offset_moved_ns(o)
	                 : rl_offset_apart_ns(set->offsets, set->count, n->id, set->wall_ns, APART_NS);
	char text[128];
	snprintf(text, sizeof text, "its clock %s %+.3f s%s",
	         odd ? "has moved by" : "differs from ours and others' by", (double)ns / 1e9,
	         off ? ": it does not vote for a while" : "");
	rl_link_remember(&n->link, REDLOCK_VOTE_CLOCK, text);
}
