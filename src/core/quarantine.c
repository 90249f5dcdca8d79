/* SPDX-License-Identifier: MIT */
#include "core/quarantine.h"

#include "core/round.h"

/* Nodes whose quarantine is over are waited for so many node timeouts: some may be asked in vain for what the
 * repair needs. */
enum { REPAIR = 10 };

void rl_quarantine_keep(struct rl_lock *l, const struct rl_event *e)
{
	int64_t left = e->reply.vote.left_ms;
	if (l->numbers != NULL) /* 0: nobody can wait for the end */
		l->numbers->of[e->node] = left >= 0 ? rl_time_add(e->now_ns, rl_time_ms((uint64_t)left)) : 0;
}

/* So many quarantines end before that of this node. */
static unsigned rank(const struct rl_lock *l, uint32_t nodes, unsigned node)
{
	unsigned before = 0;
	for (unsigned i = 0; i < l->rules->node_count; i++) {
		bool sooner = l->numbers->of[i] < l->numbers->of[node] ||
		              (i < node && l->numbers->of[i] == l->numbers->of[node]);
		before += (nodes >> i & 1) != 0 && sooner;
	}
	return before;
}

/* When so many are over that a quorum can vote, if those that have not answered yet say yes; 0: they are not
 * what a quorum lacks, or one of them has no end that is known. A node in quarantine is not asked, so that
 * its vote is there first. */
static uint64_t find_end(const struct rl_lock *l, struct rl_count c)
{
	uint32_t nodes = rl_round_voted(l, REDLOCK_VOTE_QUARANTINE);
	for (unsigned i = 0; i < l->rules->node_count; i++)
		if ((nodes >> i & 1) != 0 && c.yes + c.out + rank(l, nodes, i) + 1 == c.quorum)
			return l->numbers->of[i];
	return 0;
}

/* How long to pause for it. Others that are missing may come back before: then as if there were none. */
static uint64_t length(struct rl_lock *l, const struct rl_event *e, uint64_t end, struct rl_count c)
{
	unsigned waiting = 0;
	for (unsigned i = 0; i < c.nodes; i++)
		waiting += l->votes[i].code == REDLOCK_VOTE_QUARANTINE;
	uint64_t pause = rl_time_sub(end, e->now_ns);
	if (pause == 0) {
		pause = rl_round_retry_pause(l);
		rl_round_retry_grow(l);
	}
	bool others = c.nodes - c.no - c.fatal - waiting >= c.quorum;
	uint64_t retry = rl_time_sub(rl_round_retry_at(l, e, RL_TIME_NEVER), e->now_ns);
	return others ? rl_time_min(pause, retry) : pause;
}

/* Extends the deadline of a wait, so that there is time for an attempt after the pause, and returns by how
 * much. */
static uint64_t put_off(const struct rl_lock *l, uint64_t *until, uint64_t now, uint64_t pause)
{
	uint64_t was = *until, left = rl_time_max(rl_time_sub(was, now), l->rules->node_timeout_ns);
	*until = rl_time_add(rl_time_add(now, pause), left);
	return *until - was;
}

static bool is_repaired_in_vain(struct rl_lock *l, uint64_t end, uint64_t now)
{
	if (end > now || l->numbers->quarantine_ns == 0)
		l->numbers->quarantine_ns = end;
	return now >= rl_time_add(l->numbers->quarantine_ns, REPAIR * l->rules->node_timeout_ns);
}

bool rl_quarantine_pause(struct rl_lock *l, const struct rl_event *e, uint64_t left)
{
	struct rl_count c = rl_round_count(l);
	uint64_t now = e->now_ns, end = l->numbers != NULL ? find_end(l, c) : 0;
	if (end == 0 || is_repaired_in_vain(l, end, now))
		return false;
	uint64_t pause = length(l, e, end, c), all = rl_time_max(rl_time_sub(end, now), pause);
	if (rl_time_add(all, l->wait.trip_ns) > left) {
		if (all > l->numbers->patience_ns)
			return false;
		uint64_t longer = put_off(l, &l->wait_until_ns, now, pause);
		l->numbers->patience_ns = rl_time_sub(
		    l->numbers->patience_ns, rl_time_max(longer, put_off(l, &l->wait.quorum_until_ns, now, pause)));
	}
	rl_round_pause(l, rl_time_add(now, pause));
	return true;
}

uint64_t rl_quarantine_end(const struct rl_lock *l)
{
	bool waits = l->phase == RL_PAUSED && l->verdict == REDLOCK_E_NOQUORUM && l->numbers != NULL;
	return waits ? l->numbers->quarantine_ns : 0;
}
