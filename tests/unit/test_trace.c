/* SPDX-License-Identifier: MIT */
/* The line of a step: every part of it, and what happens when it does not fit. */
#include "core/kinds.h"
#include "core/lock.h"
#include "core/trace.h"

#include "unit.h"

static struct rl_rules rules;
static struct rl_ballot
    ballots[REDLOCK_VOTE_COUNT > REDLOCK_MAX_NODES ? REDLOCK_VOTE_COUNT : REDLOCK_MAX_NODES];

static struct rl_lock lock_of(unsigned nodes)
{
	struct rl_lock lock;
	rules = (struct rl_rules){
	    .policy = &rl_kinds[RL_KIND_EXCLUSIVE], .node_count = nodes, .quorum = rl_quorum_least(nodes)};
	rl_lock_init(&lock, &rules, ballots);
	return lock;
}

static void expect(enum rl_phase before, const struct rl_event *event, const struct rl_lock *lock,
                   const struct rl_effects *fx, const char *want)
{
	char line[RL_TRACE_MAX];
	rl_trace_line(line, sizeof line, before, event, lock, fx);
	assert_string_equal(line, want);
}

TEST(events_and_phases)
{
	static const char *const phases[] = {"idle", "acquiring", "paused", "held", "lost", "releasing"};
	static const char *const events[] = {"acquire", "extend", "release", "query",
	                                     "turn",    "cancel", "reply",   "tick"};
	for (unsigned p = 0; p < COUNT(phases); p++)
		for (unsigned e = 0; e < COUNT(events); e++) {
			char want[128];
			struct rl_lock lock = lock_of(3);
			struct rl_effects fx = {0};
			struct rl_event event = {
			    .kind = (enum rl_event_kind)e, .now_ns = 1234567, .reply.vote.code = REDLOCK_VOTE_YES};
			bool until = p == RL_HELD || p == RL_PAUSED;
			lock.phase = (enum rl_phase)p;
			snprintf(want, sizeof want, "[    1.234] %s: %s%s -> %s%s", phases[p], events[e],
			         e == RL_EV_REPLY ? " #0 node 0 YES" : "", phases[p], until ? " until 0.000" : "");
			expect((enum rl_phase)p, &event, &lock, &fx, want);
		}
}

TEST(letters_of_votes)
{
	static const char letters[] = ".YNT-----------!!!!!!-!!-Q!!!--!!!---";
	struct rl_effects fx = {0};
	struct rl_event event = {.kind = RL_EV_TICK};
	assert_int_equal(strlen(letters), REDLOCK_VOTE_COUNT); /* one more than nodes */
	for (unsigned i = 0; i < REDLOCK_VOTE_COUNT; i++) {
		char want[64];
		struct rl_lock lock = lock_of(1);
		lock.round.operation = REDLOCK_OP_QUERY;
		lock.votes[0].code = (uint8_t)i;
		snprintf(want, sizeof want, "[    0.000] idle: tick -> idle %c", letters[i]);
		expect(RL_IDLE, &event, &lock, &fx, want);
	}
}

TEST(effects)
{
	struct rl_lock lock = lock_of(1);
	struct rl_event event = {.kind = RL_EV_TICK};
	static const struct {
		struct rl_effects fx;
		const char *text;
	} cases[] = {
	    {{.send.operation = REDLOCK_OP_ACQUIRE, .send.seq = 7, .send.ttl_ns = 10000000},
	     " | send acquire #7 ttl 10.000"},
	    {{.send.operation = REDLOCK_OP_EXTEND, .send.seq = 8, .send.ttl_ns = 1500000},
	     " | send extend #8 ttl 1.500"},
	    {{.send.operation = REDLOCK_OP_RELEASE, .send.seq = 9, .send.owed = 0x1f},
	     " | send release #9 owed 1f"},
	    {{.send.operation = REDLOCK_OP_QUERY, .send.seq = UINT32_MAX}, " | send query #4294967295"},
	    {{.done.operation = REDLOCK_OP_RELEASE, .done.result = REDLOCK_E_GONE}, " | done release GONE"},
	    {{.done.operation = REDLOCK_OP_QUERY, .done.result = 0}, " | done query OK"},
	    {{.observed = RL_OBSERVE_DANGER | RL_OBSERVE_LOST}, " | danger | lost"},
	    {{.observed = RL_OBSERVE_LOST,
	      .send.operation = REDLOCK_OP_QUERY,
	      .send.seq = 2,
	      .done.operation = REDLOCK_OP_EXTEND,
	      .done.result = -3},
	     " | lost | send query #2 | done extend LOST"},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		char want[160];
		snprintf(want, sizeof want, "[    0.000] idle: tick -> idle%s", cases[i].text);
		expect(RL_IDLE, &event, &lock, &cases[i].fx, want);
	}
}

TEST(times)
{
	struct rl_lock lock = lock_of(1);
	struct rl_effects fx = {0};
	struct rl_event event = {.kind = RL_EV_TICK, .now_ns = 123456789999};
	lock.phase = RL_HELD;
	lock.valid_until_ns = 2592000000ull * RL_NS_PER_MS + 999999;
	expect(RL_HELD, &event, &lock, &fx, "[123456.789] held: tick -> held until 2592000000.999");
	lock.phase = RL_PAUSED;
	lock.wait.retry_at_ns = 5;
	expect(RL_ACQUIRING, &event, &lock, &fx, "[123456.789] acquiring: tick -> paused until 0.000");
}

/* The longest line that can be: it must fit into RL_TRACE_MAX. */
static void longest(struct rl_lock *lock, struct rl_event *event, struct rl_effects *fx)
{
	*lock = lock_of(REDLOCK_MAX_NODES);
	lock->phase = RL_RELEASING;
	lock->round.operation = REDLOCK_OP_ACQUIRE;
	*event = (struct rl_event){.kind = RL_EV_REPLY,
	                           .now_ns = UINT64_MAX,
	                           .reply.seq = UINT32_MAX,
	                           .node = 30,
	                           .reply.vote.code = REDLOCK_VOTE_DUPLICATE};
	*fx = (struct rl_effects){.send.operation = REDLOCK_OP_ACQUIRE,
	                          .send.seq = UINT32_MAX,
	                          .send.ttl_ns = UINT64_MAX,
	                          .done.operation = REDLOCK_OP_ACQUIRE,
	                          .done.result = REDLOCK_E_CANCELLED,
	                          .observed = RL_OBSERVE_DANGER | RL_OBSERVE_LOST};
}

TEST(longest_line_fits)
{
	struct rl_lock lock;
	struct rl_event event;
	struct rl_effects fx;
	longest(&lock, &event, &fx);
	expect(RL_RELEASING, &event, &lock, &fx,
	       "[18446744073709.551] releasing: reply #4294967295 node 30 DUPLICATE -> releasing "
	       "............................... | danger | lost | send acquire #4294967295 ttl "
	       "18446744073709.551 | done acquire CANCELLED");
}

/* Cut at every size: a prefix with a NUL, and not a byte beyond. */
TEST(cut_at_every_size)
{
	struct rl_lock lock;
	struct rl_event event;
	struct rl_effects fx;
	char whole[RL_TRACE_MAX];
	longest(&lock, &event, &fx);
	rl_trace_line(whole, sizeof whole, RL_IDLE, &event, &lock, &fx);
	for (size_t size = 0; size <= strlen(whole) + 1; size++) {
		char line[RL_TRACE_MAX + 16];
		char untouched[RL_TRACE_MAX + 16];
		memset(line, 0x7e, sizeof line);
		memset(untouched, 0x7e, sizeof untouched);
		rl_trace_line(line + 8, size, RL_IDLE, &event, &lock, &fx);
		assert_memory_equal(line, untouched, 8);
		assert_memory_equal(line + 8 + size, untouched, sizeof line - 8 - size);
		if (size == 0)
			continue;
		assert_int_equal(strlen(line + 8), size - 1);
		assert_memory_equal(line + 8, whole, size - 1);
	}
}

TESTS()
