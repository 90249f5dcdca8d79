/* SPDX-License-Identifier: MIT */
#include "core/offset.h"

#include "core/time.h"
#include "core/validity.h"

/* A server that does not answer is not waited for longer than this before the others judge. */
#define PATIENCE_NS (1000 * RL_NS_PER_MS)

/* Later than the year 2090 no clock is right, and the sums below stay within 64 bits. */
#define LATEST_MS INT64_C(3800000000000)

struct bounds {
	int64_t least_ns, most_ns;
};

static struct bounds bounds_of(const struct rl_offset_reading *r)
{
	int64_t ms = r->wall_ms < 0 ? 0 : r->wall_ms > LATEST_MS ? LATEST_MS : r->wall_ms;
	int64_t wall_ns = ms * (int64_t)RL_NS_PER_MS;
	return (struct bounds){wall_ns - (int64_t)r->received_ns,
	                       wall_ns + (int64_t)RL_NS_PER_MS - (int64_t)r->sent_ns};
}

/* From now on it is where it was seen. */
static void begin(struct rl_offset *o, struct bounds seen, uint64_t at_ns,
                  const struct rl_offset_rules *rules)
{
	o->least_ns = seen.least_ns - (int64_t)rules->drift_ns;
	o->most_ns = seen.most_ns + (int64_t)rules->drift_ns;
	o->at_ns = at_ns;
	o->odd_ns = 0;
}

/* As time goes on it may be elsewhere. */
static void widen(struct rl_offset *o, uint64_t now_ns, const struct rl_offset_rules *rules)
{
	int64_t by_ns = (int64_t)rl_validity_drift(rl_time_sub(now_ns, o->at_ns), rules->drift_ppm, 0);
	o->least_ns -= by_ns;
	o->most_ns += by_ns;
	o->at_ns = now_ns;
}

static void narrow(struct rl_offset *o, struct bounds seen, const struct rl_offset_rules *rules)
{
	struct rl_offset fresh;
	begin(&fresh, seen, 0, rules);
	o->least_ns = fresh.least_ns > o->least_ns ? fresh.least_ns : o->least_ns;
	o->most_ns = fresh.most_ns < o->most_ns ? fresh.most_ns : o->most_ns;
	o->odd_ns = 0;
}

static struct bounds last_seen(const struct rl_offset *o)
{
	return (struct bounds){o->most_ns + o->moved_least_ns, o->least_ns + o->moved_most_ns};
}

static void put_out(struct rl_offset *o, uint64_t now_ns, const struct rl_offset_rules *rules)
{
	o->out_until_ns = rl_time_add(now_ns, rules->out_ns);
	begin(o, last_seen(o), o->at_ns, rules);
}

/* ---- the others judge ---- */

static bool has_been_read(const struct rl_offset *o, uint64_t since_ns)
{
	return o->at_ns != 0 && o->asked_ns > since_ns;
}

static bool moved_alike(const struct rl_offset *a, const struct rl_offset *b, uint64_t drift_ns)
{
	int64_t apart = (int64_t)drift_ns;
	return b->odd_ns != 0 && a->moved_least_ns <= b->moved_most_ns + apart &&
	       b->moved_least_ns <= a->moved_most_ns + apart;
}

/* A bit for each that moved as this one did, if these are most; our own clock counts as one that did not. */
static uint32_t find_alike(const struct rl_offset *all, unsigned count, unsigned index, uint64_t drift_ns)
{
	unsigned alike = 0, judges = 1;
	uint32_t nodes = UINT32_C(1) << index;
	for (unsigned i = 0; i < count; i++) {
		if (i == index || !has_been_read(&all[i], all[index].odd_ns))
			continue;
		bool is = moved_alike(&all[index], &all[i], drift_ns);
		judges++;
		alike += is;
		nodes |= (uint32_t)is << i;
	}
	return 2 * alike > judges ? nodes : 0;
}

static bool may_be_judged(const struct rl_offset *all, unsigned count, unsigned index, uint64_t now_ns)
{
	const struct rl_offset *o = &all[index];
	bool all_read = true;
	if (o->odd_ns == 0 || !has_been_read(o, o->odd_ns))
		return false;
	for (unsigned i = 0; i < count; i++)
		all_read &= all[i].at_ns == 0 || has_been_read(&all[i], o->odd_ns);
	return all_read || now_ns >= rl_time_add(o->odd_ns, PATIENCE_NS);
}

static uint32_t judge(struct rl_offset *all, unsigned count, const struct rl_offset_rules *rules,
                      uint64_t now_ns)
{
	uint32_t odd = 0, ours = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!may_be_judged(all, count, i, now_ns))
			continue;
		odd |= UINT32_C(1) << i;
		ours |= find_alike(all, count, i, rules->drift_ns);
	}
	for (unsigned i = 0; i < count; i++) {
		if ((ours >> i & 1) != 0)
			begin(&all[i], last_seen(&all[i]), all[i].at_ns, rules);
		else if ((odd >> i & 1) != 0)
			put_out(&all[i], now_ns, rules);
	}
	return odd & ~ours;
}

/* ---- readings ---- */

static void take(struct rl_offset *o, const struct rl_offset_rules *rules, const struct rl_offset_reading *r)
{
	struct bounds seen = bounds_of(r);
	if (o->at_ns == 0)
		begin(o, seen, r->received_ns, rules);
	widen(o, r->received_ns, rules);
	o->asked_ns = r->sent_ns;
	o->moved_least_ns = seen.least_ns - o->most_ns;
	o->moved_most_ns = seen.most_ns - o->least_ns;
	if (o->moved_least_ns > 0 || o->moved_most_ns < 0) {
		o->odd_ns = o->odd_ns != 0 ? o->odd_ns : r->received_ns;
		return;
	}
	narrow(o, seen, rules);
	if (r->sent_ns >= o->out_until_ns)
		o->out_until_ns = 0;
}

uint32_t rl_offset_read(struct rl_offset *all, unsigned count, unsigned index,
                        const struct rl_offset_rules *rules, const struct rl_offset_reading *reading)
{
	struct rl_offset *o = &all[index];
	bool was_odd = o->odd_ns != 0;
	take(o, rules, reading);
	bool again = o->out_until_ns != 0 && o->odd_ns != 0;
	if (again)
		put_out(o, reading->received_ns, rules);
	uint32_t off = judge(all, count, rules, reading->received_ns);
	return off | (uint32_t)(again || (!was_odd && o->odd_ns != 0)) << index;
}

void rl_offset_leap(struct rl_offset *all, unsigned count, uint64_t leap_ns)
{
	int64_t by_ns = (int64_t)rl_time_min(leap_ns, INT64_MAX / 4);
	for (unsigned i = 0; i < count; i++)
		if (all[i].most_ns <= INT64_MAX / 4)
			all[i].most_ns += by_ns;
}

/* ---- how far ---- */

int64_t rl_offset_moved_ns(const struct rl_offset *o)
{
	return o->moved_least_ns > 0 ? o->moved_least_ns : o->moved_most_ns < 0 ? o->moved_most_ns : 0;
}

static int64_t distance_ns(int64_t least_a, int64_t most_a, int64_t least_b, int64_t most_b)
{
	return least_a > most_b ? least_a - most_b : most_a < least_b ? most_a - least_b : 0;
}

int64_t rl_offset_apart_ns(const struct rl_offset *all, unsigned count, unsigned index, int64_t wall_ns,
                           int64_t allowed_ns)
{
	const struct rl_offset *o = &all[index];
	int64_t apart = distance_ns(o->least_ns, o->most_ns, wall_ns, wall_ns);
	unsigned far = 0, judges = 0;
	if (o->at_ns == 0)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		if (i == index || all[i].at_ns == 0)
			continue;
		int64_t d = distance_ns(o->least_ns, o->most_ns, all[i].least_ns, all[i].most_ns);
		judges++;
		far += d > allowed_ns || d < -allowed_ns;
	}
	return 2 * far >= judges && (apart > allowed_ns || apart < -allowed_ns) ? apart : 0;
}
