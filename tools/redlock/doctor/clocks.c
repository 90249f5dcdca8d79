/* SPDX-License-Identifier: MIT */
/*
 * The nodes' clocks. TIME is read by the server at a moment between sending and the answer: so its clock,
 * less ours, is between two numbers, and what is said of it is what holds for all between them.
 */
#include <stdlib.h>

#include "../clock.h"
#include "check.h"
#include "doctor.h"

enum { ROUNDS = 3 };

/* ---- TIME ---- */

static bool read_time(const struct redlock_reply *reply, int64_t *ret_us)
{
	if (reply->kind != REDLOCK_REPLY_ARRAY || reply->count != 2)
		return false;
	int64_t s = strtoll(reply->items[0].text, NULL, 10), us = strtoll(reply->items[1].text, NULL, 10);
	*ret_us = s * 1000000 + us;
	return s > 0 && s < INT64_MAX / 2000000000 && us >= 0 && us < 1000000;
}

static void note_moment(struct doctor_clock *clock, bool first, const struct redlock_question *q,
                        int64_t said_us)
{
	const struct doctor_moment moment = {.low_ns = said_us * 1000 - (int64_t)q->answered_ns,
	                                     .high_ns = (said_us + 1) * 1000 - (int64_t)q->sent_ns,
	                                     .at_ns = q->answered_ns,
	                                     .said_us = said_us};
	struct doctor_moment *best = first ? &clock->first : &clock->last;
	uint64_t rtt_ns = q->answered_ns - q->sent_ns;
	if (clock->rtt_ns == 0 || rtt_ns < clock->rtt_ns)
		clock->rtt_ns = rtt_ns;
	if (best->at_ns == 0 || moment.high_ns - moment.low_ns < best->high_ns - best->low_ns)
		*best = moment;
}

static void take_time(struct doctor_node *node, bool first, const struct redlock_question *q)
{
	int64_t said_us;
	node->answered = q->reply != NULL;
	node->sees[DOCTOR_TIME] = node->answered && read_time(q->reply, &said_us);
	if (node->sees[DOCTOR_TIME])
		note_moment(&node->clock, first, q, said_us);
	else
		doctor_note_why(node, DOCTOR_TIME, q);
}

static bool ask_round(struct doctor *doctor, bool first, bool all)
{
	static const char *const time[] = {"TIME", NULL};
	struct doctor_asks asks = {0};
	bool ok = true;
	for (unsigned i = 0; i < doctor->nodes && ok; i++)
		ok = (!all && !doctor->node[i].answered) || doctor_asks_add(&asks, i, time);
	ok = ok && doctor_asks_run(doctor, &asks);
	for (size_t q = 0; q < asks.count && ok; q++)
		take_time(&doctor->node[asks.list[q].node], first, &asks.list[q]);
	doctor_asks_free(&asks);
	return ok;
}

bool doctor_look_at_clocks(struct doctor *doctor, bool first)
{
	bool ok = true;
	for (unsigned round = 0; round < ROUNDS && ok; round++)
		ok = ask_round(doctor, first, first && round == 0);
	doctor->wall_ns = clock_ahead_ns();
	return ok;
}

/* ---- what follows ---- */

/* The middle of what the clock may be, as it was last. */
static int64_t middle_ns(const struct doctor_node *node)
{
	return node->clock.last.low_ns / 2 + node->clock.last.high_ns / 2;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* The clock of most nodes. Of fewer than three, or where most do not agree within a second, it is not known
 * which one is right, and ours counts. */
static int64_t reference_ns(const struct doctor *doctor, bool *ret_of_most)
{
	enum { AGREE_NS = 1000000000 };
	int64_t all[REDLOCK_MAX_NODES] = {0};
	unsigned count = 0, near = 0;
	for (unsigned i = 0; i < doctor->nodes; i++)
		if (doctor->node[i].sees[DOCTOR_TIME])
			all[count++] = middle_ns(&doctor->node[i]);
	qsort(all, count, sizeof all[0], compare);
	int64_t median_ns = all[count / 2];
	for (unsigned i = 0; i < count; i++)
		near += llabs(all[i] - median_ns) < AGREE_NS;
	*ret_of_most = count >= 3 && near > count / 2;
	return *ret_of_most ? median_ns : doctor->wall_ns;
}

/* The part of a range that is certain: 0 if the range has 0 in it. */
static int64_t at_least(int64_t low, int64_t high)
{
	return low > 0 ? low : high < 0 ? high : 0;
}

int64_t doctor_clock_offset_ns(const struct doctor *doctor, const struct doctor_node *node,
                               bool *ret_from_most)
{
	int64_t reference = reference_ns(doctor, ret_from_most);
	return at_least(node->clock.last.low_ns - reference, node->clock.last.high_ns - reference);
}

static bool agrees(const struct doctor *doctor, const struct doctor_node *node)
{
	int64_t offset_ns =
	    at_least(node->clock.last.low_ns - doctor->wall_ns, node->clock.last.high_ns - doctor->wall_ns);
	return node->sees[DOCTOR_TIME] && (uint64_t)llabs(offset_ns) <= doctor->allowance_ns;
}

static unsigned count_told(const struct doctor *doctor)
{
	unsigned count = 0;
	for (unsigned i = 0; i < doctor->nodes; i++)
		count += doctor->node[i].sees[DOCTOR_TIME];
	return count;
}

static unsigned count_agreeing(const struct doctor *doctor)
{
	unsigned count = 0;
	for (unsigned i = 0; i < doctor->nodes; i++)
		count += agrees(doctor, &doctor->node[i]);
	return count;
}

int64_t doctor_clock_own_offset_ns(const struct doctor *doctor)
{
	bool of_most;
	int64_t reference = reference_ns(doctor, &of_most);
	return of_most ? doctor->wall_ns - reference : 0;
}

int64_t doctor_clock_gain_ns(const struct doctor_node *node, uint64_t *ret_elapsed_ns)
{
	const struct doctor_moment *a = &node->clock.first, *b = &node->clock.last;
	*ret_elapsed_ns = b->at_ns - a->at_ns;
	return a->at_ns != 0 && b->at_ns != 0 ? at_least(b->low_ns - a->high_ns, b->high_ns - a->low_ns) : 0;
}

/* Valkey 9 counts microseconds by another clock until it looks at the wall clock again. */
bool doctor_clock_stands(const struct doctor_node *node)
{
	const struct doctor_moment *a = &node->clock.first, *b = &node->clock.last;
	return a->at_ns != 0 && b->at_ns > a->at_ns &&
	       (uint64_t)llabs(b->said_us - a->said_us) < (b->at_ns - a->at_ns) / 1000 / 100;
}

/* ---- findings ---- */

static bool is_off(const struct doctor *doctor, int64_t offset_ns, bool from_most, const char *but,
                   struct found *found)
{
	FIND("%.3f s %s that of %s%s", (double)llabs(offset_ns) / 1e9, offset_ns < 0 ? "behind" : "ahead of",
	     from_most ? "most nodes" : "this machine", but);
	return (uint64_t)llabs(offset_ns) > doctor->allowance_ns;
}

DOCTOR_LOOK_AT(doctor_clock_is_off)
{
	UNUSED;
	bool from_most;
	int64_t offset_ns = doctor_clock_offset_ns(doctor, node, &from_most);
	bool is_as_ours = from_most && agrees(doctor, node);
	return is_off(doctor, offset_ns, from_most, is_as_ours ? ", as is that of this machine" : "", found);
}

/* Which clock is right nobody can tell here: what is known is which ones agree. */
DOCTOR_LOOK_AT(doctor_own_clock_is_off)
{
	UNUSED;
	int64_t offset_ns = doctor_clock_own_offset_ns(doctor);
	unsigned told = count_told(doctor), same = count_agreeing(doctor);
	char but[128] = "";
	if (offset_ns == 0 && told >= 3 && same <= told / 2) {
		FIND("not that of %u of %u nodes, and most nodes do not agree on the time either: which clock is "
		     "right is "
		     "not known here",
		     told - same, told);
		return true;
	}
	if (same > 0)
		snprintf(but, sizeof but,
		         ", and agrees with that of %u: either the clocks of most nodes are wrong, or these", same);
	return is_off(doctor, offset_ns, true, but, found);
}
