/* SPDX-License-Identifier: MIT */
#include "core/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/finding.h"
#include "core/lock.h"
#include "core/policy.h"

static const char *const phase_names[] = {
    [RL_IDLE] = "idle",       [RL_ACQUIRING] = "acquiring", [RL_PAUSED] = "paused",
    [RL_HELD] = "held",       [RL_LOST] = "lost",           [RL_RELEASING] = "releasing",
    [RL_LOOKING] = "looking", [RL_INSISTING] = "insisting", [RL_WATCHING] = "watching",
    [RL_RAISING] = "raising", [RL_KEPT] = "kept",
};

static const char *const event_names[] = {
    [RL_EV_ACQUIRE] = "acquire", [RL_EV_EXTEND] = "extend", [RL_EV_RELEASE] = "release",
    [RL_EV_QUERY] = "query",     [RL_EV_CANCEL] = "cancel", [RL_EV_REPLY] = "reply",
    [RL_EV_TICK] = "tick",       [RL_EV_WAKE] = "wake",     [RL_EV_HAND] = "hand",
    [RL_EV_LEAP] = "clock",      [RL_EV_PASS] = "pass",     [RL_EV_TURN] = "turn",
    [RL_EV_GUARDED] = "guarded", [RL_EV_LATE] = "late",     [RL_EV_SHORTER] = "shorter",
    [RL_EV_RECALL] = "recall",
};

static const char *const op_words[RL_OP_COUNT] = {
#define WORD(name, word, tells) word,
    RL_OP_MAP(WORD)
#undef WORD
};

struct text {
	char *bytes;
	size_t size;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(t->bytes + t->used, t->size - t->used, format, args);
	va_end(args);
	if (n > 0)
		t->used += (size_t)n < t->size - t->used ? (size_t)n : t->size - t->used - 1;
}

static void add_time(struct text *t, const char *before, uint64_t ns)
{
	add(t, "%s%" PRIu64 ".%03u", before, ns / RL_NS_PER_MS, (unsigned)(ns % RL_NS_PER_MS / 1000));
}

static char vote_letter(enum redlock_vote_code code)
{
	static const char letters[] = {
	    [REDLOCK_KIND_PENDING] = '.', [REDLOCK_KIND_YES] = 'Y',   [REDLOCK_KIND_NO] = 'N',
	    [REDLOCK_KIND_MISSING] = '-', [REDLOCK_KIND_FATAL] = '!',
	};
	return code == REDLOCK_VOTE_TIMEOUT      ? 'T'
	       : code == REDLOCK_VOTE_QUARANTINE ? 'Q'
	                                         : letters[redlock_vote_kind(code)];
}

static void add_votes(struct text *t, const struct rl_lock *lock)
{
	if (lock->round.operation == REDLOCK_OP_NONE)
		return;
	add(t, " ");
	for (unsigned i = 0; i < lock->rules->node_count; i++)
		add(t, "%c", vote_letter(lock->votes[i].code));
}

static void add_key_owners(struct text *t, const struct rl_lock *lock)
{
	static const char letters[] = "?_*0123456789abcdefghijklmnopqrstuvw";
	add(t, " keys ");
	for (unsigned i = 0; i < lock->rules->node_count; i++)
		add(t, "%c", letters[lock->votes[i].whose]);
}

static bool sends_request(const struct rl_effects *fx, const struct rl_ask *ask)
{
	return fx->send.operation != RL_OP_NONE && fx->send.operation == ask->request;
}

/* Whether this step sends the request that this kind of lock uses for `operation`. */
static bool sends(const struct rl_lock *lock, const struct rl_effects *fx, enum redlock_operation operation)
{
	return sends_request(fx, &lock->policy->asks[operation]);
}

/* Whether all of these nodes get the request through their queues: the waiter asks for its turn. */
static bool is_enter_only(const struct rl_effects *fx)
{
	return fx->send.enter != 0 && fx->send.enter == fx->send.nodes;
}

static unsigned enter_operation(const struct rl_policy *policy)
{
	return policy->slots ? RL_OP_SLOT_ENTER : policy->several ? RL_OP_ENTER_ALL : RL_OP_ENTER;
}

/* The numbers of REDLOCK_OP_UPGRADE and _DOWNGRADE are those of other operations in op_words. */
static const char *done_word(enum redlock_operation operation)
{
	return operation == REDLOCK_OP_UPGRADE     ? "upgrade"
	       : operation == REDLOCK_OP_DOWNGRADE ? "downgrade"
	                                           : op_words[operation];
}

static void add_effects(struct text *t, const struct rl_lock *lock, const struct rl_effects *fx)
{
	for (unsigned i = 0; i < RL_OBSERVE_COUNT; i++)
		if ((fx->observed >> i & 1) != 0 && rl_observe_words[i] != NULL)
			add(t, " | %s", rl_observe_words[i]);
	if (fx->send.operation != RL_OP_NONE)
		add(t, " | send %s #%" PRIu32,
		    op_words[is_enter_only(fx) ? enter_operation(lock->policy) : fx->send.operation], fx->send.seq);
	if (fx->send.again || fx->queue.tidies ||
	    (sends(lock, fx, REDLOCK_OP_ACQUIRE) && lock->queue.stage == RL_STAGE_GATE))
		add(t, "%s to %" PRIx32, fx->send.again ? " again" : "", fx->send.nodes);
	if (fx->send.enter != 0 && !is_enter_only(fx))
		add(t, " by the queue");
	if (fx->queue.beside)
		add(t, " in line everywhere");
	if (fx->send.operation == RL_OP_SLOT && lock->claim.first > 0)
		add(t, " from %u on", lock->claim.first);
	if (fx->send.operation == RL_OP_RAISE)
		add(t, " number %" PRIu64, lock->numbers->fence);
	if (fx->send.keeps)
		add(t, " but %u to %" PRIx32, lock->claim.slot, fx->send.nodes);
	if (fx->queue.quits)
		add(t, " quits");
	if (fx->queue.bars)
		add(t, fx->queue.quiet ? " bars quietly" : " bars");
	bool upgrades = sends_request(fx, &lock->policy->asks[RL_ASK_UPGRADE]);
	if (sends(lock, fx, REDLOCK_OP_ACQUIRE) || sends(lock, fx, REDLOCK_OP_EXTEND) || upgrades)
		add_time(t, " ttl ", fx->send.ttl_ns);
	if (fx->declines)
		add(t, " | declines");
	bool passes_on = fx->send.operation == RL_OP_LEAVE || fx->send.operation == RL_OP_HAND;
	if (sends(lock, fx, REDLOCK_OP_RELEASE) || (passes_on && !fx->queue.tidies))
		add(t, " owed %" PRIx32, fx->send.owed);
	if (fx->done.operation != REDLOCK_OP_NONE)
		add(t, " | done %s %s", done_word(fx->done.operation), redlock_error_name(fx->done.result));
}

void rl_trace_line(char *line, size_t size, enum rl_phase before, const struct rl_event *event,
                   const struct rl_lock *lock, const struct rl_effects *effects)
{
	if (size == 0)
		return;
	struct text t = {line, size, 0};
	add(&t, "[%5" PRIu64 ".%03u] %s: %s", event->now_ns / RL_NS_PER_MS,
	    (unsigned)(event->now_ns % RL_NS_PER_MS / 1000), phase_names[before], event_names[event->kind]);
	if (event->kind == RL_EV_WAKE || event->kind == RL_EV_HAND)
		add(&t, " node %u", event->node);
	if (event->kind == RL_EV_LEAP)
		add_time(&t, " leapt ", event->leap_ns);
	if (event->kind == RL_EV_REPLY)
		add(&t, " #%" PRIu32 " node %u %s", event->reply.seq, event->node,
		    redlock_vote_name(rl_finding_vote(event)));
	add(&t, " -> %s", phase_names[lock->phase]);
	add_votes(&t, lock);
	if (lock->phase == RL_HELD)
		add_time(&t, " until ", lock->valid_until_ns);
	if (lock->phase == RL_HELD && rl_lock_fence(lock) != 0)
		add(&t, " number %" PRIu64, rl_lock_fence(lock));
	if (lock->phase == RL_HELD && lock->rules->slots > 0)
		add(&t, " slot %u", lock->claim.slot);
	if (lock->phase == RL_KEPT)
		add_time(&t, " until ", lock->hold.keep_until_ns);
	if (lock->phase == RL_PAUSED)
		add_time(&t, " until ", lock->wait.retry_at_ns);
	if (event->kind == RL_EV_REPLY && event->reply.seq != 0 && event->reply.seq == lock->look.seq)
		add_key_owners(&t, lock);
	if (lock->phase == RL_WATCHING)
		add_time(&t, " until ", lock->round.deadline_ns);
	add_effects(&t, lock, effects);
}
