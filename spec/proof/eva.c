/* SPDX-License-Identifier: MIT */
/*
 * The steps of the core for EVA of Frama-C (spec/proof/eva): a lock of the kind KIND, under any rules that
 * options permit and rl_lock_init() admits, takes any events in any order. EVA follows all values at once,
 * and reports each expression that might be a run-time error. Kind RL_KIND_COUNT stands for the reading of
 * the shortest replies, of any bytes.
 */
#include "core/kinds.h"
#include "core/lock.h"
#include "net/resp.h"

enum { NODES = REDLOCK_MAX_NODES };

/* Whatever fits: EVA reads any value from a volatile variable. */
static volatile uint64_t any;
static volatile char any_char;

static struct rl_ballot votes[NODES];
static struct redlock_finding findings[NODES];
static uint64_t numbers[sizeof(struct rl_numbers) / sizeof(uint64_t) + NODES];
static uint8_t order[NODES];
static char text[256];

/* Instead of __builtin_ctz(), which the core asks of sets of nodes that are not empty. */
int eva_ctz(unsigned nodes);
int eva_ctz(unsigned nodes)
{
	return (int)(any % NODES);
}

static unsigned below(unsigned bound)
{
	return (unsigned)(any % bound);
}

static struct rl_slice any_text(void)
{
	return (struct rl_slice){text, below(sizeof text + 1)};
}

/* Options are milliseconds, and no longer than a year. */
static uint64_t any_time(void)
{
	return (1 + any % (UINT64_C(366) * 86400 * 1000)) * RL_NS_PER_MS;
}

static struct rl_rules any_rules(const struct rl_policy *policy)
{
	struct rl_rules r = {.policy = policy};
	r.node_count = 1 + below(NODES);
	r.quorum = 1 + below(NODES);
	r.drift_ppm = below(1000001);
	r.slots = policy->slots ? 1 + below(REDLOCK_MAX_SLOTS) : 0;
	r.ttl_ns = any_time();
	r.node_timeout_ns = any_time();
	r.drift_base_ns = any_time();
	r.min_validity_ns = any_time();
	r.wait_ns = any;
	r.noquorum_wait_ns = any;
	r.quarantine_wait_ns = any;
	r.retry_min_ns = any_time();
	r.retry_max_ns = any_time();
	r.renew_ns = below(2) ? 0 : any_time();
	r.danger_ns = any;
	r.max_hold_ns = any;
	r.sticky_ns = any;
	r.max_extends = any;
	r.follows = below(2);
	return r;
}

static struct rl_vote any_vote(void)
{
	struct rl_vote v = {.code = (enum redlock_vote_code)(1 + below(REDLOCK_VOTE_COUNT - 1))};
	v.told = (uint32_t)any;
	v.verdict = (int32_t)any;
	v.waiting = (int32_t)any;
	v.place = (int32_t)any;
	v.name = (int32_t)any;
	v.slot = (int32_t)any;
	v.flags = (int32_t)any;
	v.ours = (int32_t)any;
	v.size = (int64_t)any;
	v.pttl_ms = (int64_t)any;
	v.left_ms = (int64_t)any;
	v.time_ms = (int64_t)any;
	v.number = (int64_t)any;
	v.token = any_text();
	v.value = any_text();
	return v;
}

static struct rl_event any_event(unsigned nodes)
{
	struct rl_event e = {.kind = (enum rl_event_kind)below(RL_EV_SHORTER + 1)};
	e.asked.result = (int)any;
	e.now_ns = any;
	e.around.entropy = any;
	e.asked.ttl_ns = any;
	e.around.behind_ns = any;
	e.message.offered_ns = any;
	e.leap_ns = any;
	e.permitted_ns = any;
	e.around.heir_ns = any;
	e.around.order = below(2) ? order : NULL;
	e.around.token = any_text();
	e.reply.vote = any_vote();
	e.reply.seq = (uint32_t)any;
	e.node = below(nodes);
	e.reply.operation = below(RL_OP_COUNT);
	e.around.hears = (uint32_t)any;
	e.reply.twins = (uint32_t)any & ((UINT32_C(1) << NODES) - 1);
	e.message.call = (uint16_t)any;
	e.reply.generation = (uint8_t)any;
	e.message.deaf = below(2);
	e.message.front = below(2);
	e.message.gone = below(2);
	e.asked.probe = below(2);
	e.asked.up = below(2);
	e.asked.passes = below(2);
	e.asked.keeps = below(2);
	e.reply.identified = below(2);
	e.around.ordered = below(2);
	e.reply.more = below(2);
	return e;
}

static void live(const struct rl_policy *policy)
{
	struct rl_lock lock;
	struct rl_effects effects;
	struct rl_rules rules = any_rules(policy);
	if (rules.quorum < rl_quorum_least(rules.node_count) || rules.quorum > rules.node_count ||
	    rules.retry_min_ns > rules.retry_max_ns)
		return;
	for (unsigned i = 0; i < NODES; i++)
		order[i] = (uint8_t)below(rules.node_count);
	rl_lock_init(&lock, &rules, votes);
	lock.findings = below(2) ? findings : NULL;
	lock.numbers = policy->draws || policy->slots ? (struct rl_numbers *)numbers : NULL;
	while (below(2)) {
		struct rl_event event = any_event(rules.node_count);
		(void)rl_lock_step(&lock, &event, &effects);
		(void)rl_lock_deadline(&lock);
		(void)rl_lock_valid_until(&lock, event.now_ns);
		(void)rl_lock_fence(&lock);
	}
}

static void read_replies(void)
{
	static char bytes[16];
	struct rl_reply_value value;
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = any_char;
	(void)rl_resp_short(bytes, below(sizeof bytes + 1), &value);
}

int main(void)
{
	if (KIND == RL_KIND_COUNT)
		read_replies();
	else
		live(&rl_kinds[KIND % RL_KIND_COUNT]);
	return 0;
}
