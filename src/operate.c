/* SPDX-License-Identifier: MIT */
/* Carries out the decisions of the core: tokens, requests to the nodes, results and notices; and gives
 * answers to the core. */
#include "operate.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "core/enter.h"
#include "core/lock.h"
#include "core/policy.h"
#include "core/queue.h"
#include "core/trace.h"
#include "kept.h"
#include "net/submit.h"
#include "options.h"
#include "places.h"
#include "proto/ops.h"
#include "seen.h"
#include "stats.h"

/* ---- tokens ---- */

/* In the far future as seconds, milli-, micro- or nanoseconds, as a number of 64 bits, as one of 32 that is
 * cut off or kept at its limit, and as a fraction. A parser of numbers reads it up to the point, or all of
 * it. */
#define FAR_FUTURE "9223372034707292159." /* 0x7fffffff7fffffff */

static char *put_decimal(char *at, const unsigned char *random)
{
	enum { PREFIX = sizeof FAR_FUTURE - 1 };
	memcpy(at, FAR_FUTURE, PREFIX);
	for (unsigned i = PREFIX; i < RL_HANDLE_TOKEN_DIGITS; i++)
		at[i] = (char)('0' + random[i - PREFIX] % 10);
	return at + RL_HANDLE_TOKEN_DIGITS;
}

/* Gives the handle a token that is fresh for every attempt: a late release of one attempt must not delete the
 * key of the next. False: no random bytes are available. */
static bool make_token(redlock_client *c, redlock_lock *lock)
{
	unsigned char random[RL_HANDLE_TOKEN_BYTES];
	if (rl_random_pool_take(&c->random, c->loop.now_ns, random, sizeof random) < 0)
		return false;
	bool decimal = lock->core.policy->decimal;
	size_t owner_size = decimal ? 0 : c->owner_size; /* strict parsers of numbers reject a suffix */
	char *digits = rl_handle_token_bytes(lock);
	char *at = decimal ? put_decimal(digits, random) : rl_slice_put_hex(digits, random, sizeof random);
	if (!decimal && c->places.channel[0] != '\0')
		rl_places_mark(&c->places, digits, lock->core.rules->sticky_ns > 0);
	memcpy(at, c->owner, owner_size);
	lock->token_size = (uint16_t)(RL_HANDLE_TOKEN_DIGITS + owner_size);
	lock->told = 0;
	return true;
}

/* ---- effects ---- */

/* A key that nobody has: the name and fresh digits. The handle keeps its token, whose keys may still exist.
 * Nothing: no memory, or no random bytes. */
static struct rl_slice name_probe(redlock_client *c, const redlock_lock *lock, struct rl_buffer *buffer)
{
	unsigned char random[RL_HANDLE_TOKEN_BYTES];
	struct rl_slice name = rl_handle_name(lock);
	if (!rl_buffer_reserve(buffer, name.size + RL_HANDLE_TOKEN_DIGITS) ||
	    rl_random_pool_take(&c->random, c->loop.now_ns, random, sizeof random) < 0)
		return (struct rl_slice){NULL, 0};
	memcpy(buffer->bytes, name.bytes, name.size);
	rl_slice_put_hex(buffer->bytes + name.size, random, sizeof random);
	return (struct rl_slice){buffer->bytes, name.size + RL_HANDLE_TOKEN_DIGITS};
}

/* The name that the nodes are asked for: a slot that is held counts as a plain lock of that name. Empty: out
 * of memory. */
static struct rl_slice name_of(redlock_client *c, const redlock_lock *lock, unsigned operation,
                               struct rl_buffer *buffer)
{
	if (operation == RL_OP_PROBE)
		return name_probe(c, lock, buffer);
	bool of_slot = operation == RL_OP_EXTEND || operation == RL_OP_QUERY;
	if (lock->core.claim.slot == 0 || !of_slot)
		return rl_handle_name(lock);
	return rl_request_slot(buffer, rl_handle_name(lock), lock->core.claim.slot);
}

/* For how long a waiter that was woken goes first: it has to come by then. */
static uint64_t patience_ms(const redlock_lock *lock)
{
	enum { LEAST_MS = 10, PART = 4 };
	return rl_time_max(lock->core.rules->node_timeout_ns / PART / RL_NS_PER_MS, LEAST_MS);
}

/* No waiter is known. Only the gate is asked whether somebody waits, if it is the node at which waiters look
 * first; waiters pass over a node that has no connection. The other nodes get the cheapest form of a release.
 */
static uint32_t without_queue(const redlock_client *c, const redlock_lock *lock)
{
	return ~(1u << rl_nodes_gate(&c->nodes, lock->core.queue.turn));
}

/* Whether the gate alone is asked who waits. A caller's own value may be released by a process that has just
 * opened its client, and does not know yet which node is the gate: then all are asked. */
static bool wakes_at_gate(const redlock_client *c, const struct rl_request *request)
{
	bool by_value = request->operation == RL_OP_LEAVE && request->own_value;
	return request->operation == RL_OP_RELEASE || (by_value && rl_nodes_are_identified(&c->nodes));
}

/* Messages have the name: one that is too long for them is not handed over. Nor is one of a cluster: a script
 * there cannot know who hears its message, as the servers tell it each other. And what is handed over has no
 * WAIT after it. */
static bool may_be_handed(const redlock_client *c, const redlock_lock *lock)
{
	enum { OFFERED_NAME = 1024 };
	return c->nodes.clusters == NULL && !c->nodes.replicated && lock->name_size <= OFFERED_NAME;
}

/* For how long a vote waits for replicas: half of the node timeout, so that a missing replica is told before
 * the node is out of time. */
static uint16_t wait_ms(const redlock_lock *lock)
{
	return (uint16_t)rl_time_min(lock->core.rules->node_timeout_ns / RL_NS_PER_MS / 2, UINT16_MAX);
}

/* Adds to a request what the queue needs to know. */
static void add_place(redlock_client *c, const redlock_lock *lock, const struct rl_effects *fx,
                      struct rl_request *request, char text[RL_PLACES_TEXT])
{
	request->enter = fx->send.enter;
	request->patience_ms = patience_ms(lock);
	request->bars = fx->queue.bars;
	request->quiet = fx->queue.quiet;
	request->offered_ns = may_be_handed(c, lock) ? fx->queue.offered_ns : 0;
	if (fx->queue.stands || fx->queue.quits)
		request->place = rl_places_name(&c->places, lock, fx->queue.call, text);
	if (fx->queue.tidies)
		request->token = request->place; /* no key has a place as its value, but some may be empty */
}

/* A node that has not answered the claim may take it when the heir has come and gone there, and would hand
 * over a key that nobody expects any more. It is told to release; but not the gate, whose queue has the
 * heir's place. A client that keeps locks reads its answers late: which of them are missing says little
 * there. Returns these nodes. */
static uint32_t release_unanswered(redlock_client *c, const redlock_lock *lock, struct rl_request request,
                                   uint32_t nodes)
{
	nodes &= lock->core.rules->sticky_ns == 0 ? lock->core.claim.unanswered : 0;
	nodes &= ~(1u << lock->core.queue.gate);
	request.operation = RL_OP_LEAVE;
	request.next = (struct rl_slice){"", 0};
	request.bars = true;
	if (nodes != 0)
		rl_nodes_submit(&c->nodes, &request, nodes, c->loop.now_ns);
	return nodes;
}

/* Asks the nodes. The votes of those that do not take the request are counted by rl_operate(). */
static void send_to_nodes(redlock_client *c, redlock_lock *lock, const struct rl_effects *fx)
{
	struct rl_buffer buffer = {0};
	char place[RL_PLACES_TEXT];
	const struct rl_op *op = &rl_ops[fx->send.operation];
	const struct rl_policy *policy = lock->core.policy;
	bool other_name = fx->send.operation == RL_OP_PROBE || lock->core.claim.slot != 0;
	if (op->change == RL_CHANGE_LOOK)
		(void)rl_handle_make_findings(lock); /* without memory a look tells less */
	struct rl_request request = {.operation = fx->send.operation,
	                             .tag = rl_registry_tag(&c->handles, lock->slot, fx->send.seq),
	                             .name = other_name ? name_of(c, lock, fx->send.operation, &buffer)
	                                                : rl_handle_name(lock),
	                             .token = rl_handle_token(lock),
	                             .ttl_ms = fx->send.ttl_ns / RL_NS_PER_MS,
	                             .owed = fx->send.owed,
	                             .wait_ms = c->nodes.replicated ? wait_ms(lock) : 0,
	                             .own_value = !policy->signs,
	                             .fenced = fx->send.draws,
	                             .number = fx->send.operation == RL_OP_RAISE ? lock->core.numbers->fence : 0,
#define RULE(NAME, field) .rules[RL_RULE_##NAME] = lock->core.rules->field,
	                             RL_RULE_MAP(RULE)
#undef RULE
	};
	if (lock->also_size > 0) {
		request.also = rl_handle_others(lock);
		request.line = rl_handle_line(lock);
	}
	if (lock->core.rules->slots > 0) {
		request.first = lock->core.claim.first;
		request.kept = fx->send.keeps ? lock->core.claim.slot + 1U : 0;
	}
	if (fx->send.operation == RL_OP_HAND) {
		request.next = rl_seen_heir_offer(lock);
		c->stats.handed_over++;
	}
	if (op->gives_back && wakes_at_gate(c, &request))
		request.plain = without_queue(c, lock);
	if (fx->send.enter != 0 || fx->send.operation == RL_OP_LEAVE || op->scripted)
		add_place(c, lock, fx, &request, place);
	uint32_t elsewhere =
	    fx->queue.stands && !fx->queue.beside ? fx->send.nodes & ~(1u << lock->core.queue.gate) : 0;
	uint32_t released = 0;
	if (fx->send.operation == RL_OP_HAND)
		released = release_unanswered(c, lock, request, fx->send.nodes);
	rl_nodes_submit(&c->nodes, &request, fx->send.nodes & ~(elsewhere | released), c->loop.now_ns);
	/* The gate has the most to do, and its message says who comes next but one. */
	if (fx->send.operation == RL_OP_HAND)
		rl_submit_flush(&c->nodes.list[lock->core.queue.gate]);
	if (elsewhere != 0) { /* no place is taken there */
		request.place = (struct rl_slice){"", 0};
		rl_nodes_submit(&c->nodes, &request, elsewhere, c->loop.now_ns);
	}
	if (other_name)
		rl_buffer_free(&buffer);
}

/* Whether a handle claims, holds or offers the token, or is releasing it: then that release is still on its
 * way. */
static bool is_in_use(const redlock_client *c, struct rl_slice token)
{
	const redlock_lock *l = rl_registry_next(&c->handles, 0);
	for (; l != NULL; l = rl_registry_next(&c->handles, l->slot + 1)) {
		enum rl_phase phase = l->core.phase;
		bool has = rl_state_holds(&l->core) || phase == RL_LOST || phase == RL_RELEASING;
		if ((has || l->core.claim.open || l->core.queue.offered_ns != 0) &&
		    rl_slice_same(rl_handle_token(l), token))
			return true;
	}
	return false;
}

void rl_operate_decline(redlock_client *c, struct rl_slice name, struct rl_slice token, unsigned node)
{
	bool ours = token.size >= RL_HANDLE_TOKEN_DIGITS &&
	            token.size - RL_HANDLE_TOKEN_DIGITS == c->owner_size &&
	            rl_places_marks(&c->places, token.bytes);
	if (!ours || is_in_use(c, token))
		return;
	struct rl_request request = {
	    .operation = RL_OP_LEAVE,
	    .tag = rl_registry_nobody(),
	    .name = name,
	    .token = token,
	    .owed = 1u << node,
	    .patience_ms = RL_SUBMIT_PATIENCE_MS,
	};
	rl_nodes_submit(&c->nodes, &request, 1u << node, c->loop.now_ns);
}

/* A loss that no call reports is a cause of its own. Seldom: it stays out of the way of each step. */
static __attribute__((noinline)) void note_loss(redlock_lock *lock, const struct rl_effects *fx)
{
	lock->loss = rl_stats_loss(fx->observed) & 7;
	if ((fx->observed & RL_OBSERVE_LOST) != 0)
		rl_handle_note(lock, REDLOCK_E_LOST, RL_CAUSE_LOSS);
}

void rl_operate_report(redlock_client *c, redlock_lock *lock, const struct rl_effects *fx)
{
	uint32_t observed = fx->observed & RL_OBSERVE_EVENTS;
	if ((fx->observed & RL_COUNT_LOSSES) != 0)
		note_loss(lock, fx);
	if ((observed & RL_OBSERVE_DONE) != 0) {
		struct rl_waiter *waiter = lock->waiter;
		lock->done_operation = (uint8_t)fx->done.operation;
		lock->done_result = (int16_t)fx->done.result;
		rl_handle_note(lock, fx->done.result,
		               fx->done.result == REDLOCK_E_LOST ? RL_CAUSE_LOSS : RL_CAUSE_VOTES);
		if (waiter != NULL) {
			observed &= ~(uint32_t)RL_OBSERVE_DONE;
			rl_loop_serve(&c->loop, waiter, fx->done.result);
		}
	}
	if (observed != 0)
		rl_registry_push(&c->handles, lock, observed);
}

/* Steele, Lea, Flood: SplitMix64. Spreads retries; nothing depends on its quality. */
static uint64_t next_entropy(redlock_client *c)
{
	uint64_t z = c->entropy += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static void trace(const redlock_client *c, const redlock_lock *lock, enum rl_phase before,
                  const struct rl_event *event, const struct rl_effects *fx)
{
	char line[RL_TRACE_MAX];
	rl_trace_line(line, sizeof line, before, event, &lock->core, fx);
	c->trace(c->trace_user, line);
}

/* A handle that is not the first for its name among those of this client waits for the ones before it; a
 * holder may pass the lock on to it. */
static void stand_in_line(redlock_client *c, redlock_lock *lock, bool granted)
{
	bool waits = rl_enter_waits(&lock->core);
	bool holds = lock->in_line && lock->core.phase == RL_HELD;
	rl_places_line_up(&c->places, lock, waits || holds, c->loop.now_ns);
	if (waits && (rl_places_are_apart(lock) || rl_places_first_waiter(&c->places, lock) == lock))
		rl_places_wait(&c->places, lock, c->loop.now_ns);
	if (holds && granted)
		rl_places_held(&c->places, lock, c->loop.now_ns);
}

/* From now on the handle waits for another one of its names. */
static void line_up(redlock_client *c, redlock_lock *lock, uint8_t before)
{
	rl_places_change(&c->places, lock, before, c->loop.now_ns);
	rl_handle_turn(lock);
}

int rl_operate_step(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	struct rl_effects fx;
	enum rl_phase before = lock->core.phase;
	uint8_t line = lock->core.queue.line;
	event->now_ns = c->loop.now_ns;
	event->around.entropy = next_entropy(c);
	event->around.order = c->nodes.order;
	event->around.ordered = c->nodes.named || rl_nodes_look_ordered(&c->nodes);
	event->around.hears = 0;
	if (lock->core.queue.contended || lock->core.queue.behind_readers) { /* else nobody comes next */
		event->around.hears = rl_places_heard(&c->places, lock);
		event->around.heir_ns = rl_seen_heir_told(lock);
	}
	event->around.behind_ns =
	    c->places.first != NULL ? rl_places_behind_until(&c->places, lock, c->loop.now_ns) : 0;
	event->around.token = rl_handle_token(lock);
	int error = rl_lock_step(&lock->core, event, &fx);
	if (lock->core.queue.line != line)
		line_up(c, lock, line);
	if (c->trace != NULL)
		trace(c, lock, before, event, &fx);
	if (fx.observed != 0)
		rl_stats_count(&c->stats, lock, event, &fx);
	if (event->kind == RL_EV_RELEASE && error == 0) { /* no notice after a release */
		rl_registry_drop_events(&c->handles, lock);
		fx.observed &= ~(uint32_t)(RL_OBSERVE_DANGER | RL_OBSERVE_LOST);
	}
	if (fx.observed != 0)
		rl_operate_report(c, lock, &fx);
	if (fx.twin)
		c->nodes.list[event->node].duplicate = true; /* until a new connection says who it is, or does not */
	if (fx.send.sign && fx.send.operation != RL_OP_PROBE && !make_token(c, lock)) {
		struct rl_event cancel = {.kind = RL_EV_CANCEL, .asked.result = REDLOCK_E_SYSTEM};
		rl_lock_step(&lock->core, &cancel, &fx); /* nothing was sent: what it gives back does not exist */
		rl_stats_count(&c->stats, lock, &cancel, &fx);
		rl_operate_report(c, lock, &fx);
	} else if (fx.send.operation != RL_OP_NONE) {
		send_to_nodes(c, lock, &fx);
	} else if (fx.declines) {
		rl_operate_decline(c, rl_handle_name(lock), event->reply.vote.token, event->node);
	}
	rl_schedule_set(&c->loop.schedule, &lock->timer, rl_lock_deadline(&lock->core));
	if (lock->core.queue.contended || lock->in_line)
		stand_in_line(c, lock, fx.done.operation == REDLOCK_OP_ACQUIRE);
	if ((before == RL_KEPT) != (lock->core.phase == RL_KEPT))
		(before == RL_KEPT ? rl_kept_quit : rl_kept_join)(&c->kept, lock);
	return error;
}

/* A default TTL cannot follow the maximum where other times were asked for. */
static void tell_long(redlock_client *c, const redlock_lock *lock, unsigned node)
{
	unsigned long long ttl_ms = lock->core.rules->ttl_ns / RL_NS_PER_MS, most_ms = c->nodes.set->ttl_ms;
	char text[128];
	if (lock->core.rules->follows != 0)
		snprintf(text, sizeof text, "%llu ms are too few for this min_validity_ms or danger_ms", most_ms);
	else
		snprintf(text, sizeof text, "%llu ms instead of %llu ms at most", ttl_ms, most_ms);
	rl_link_remember(&c->nodes.list[node].link, REDLOCK_VOTE_LONG_TTL, text);
}

/* A node's answer is that the set permits no TTL so long. A handle for which nobody asked for a TTL gets the
 * longest one that the set permits. True: the node is asked for that. Where it is too late for that, the TTL
 * is not what keeps the vote away. Seldom: it stays out of the way of what is done for every event. */
static __attribute__((noinline)) bool ask_shorter(redlock_client *c, redlock_lock *lock,
                                                  struct rl_event *answer)
{
	struct rl_event event = {.kind = RL_EV_SHORTER, .reply.seq = answer->reply.seq, .node = answer->node};
	struct rl_rules shorter;
	memcpy(&shorter, lock->core.rules, sizeof shorter); /* rules are compared as bytes */
	if (rl_options_follow(&shorter, c->nodes.set->ttl_ms))
		(void)rl_registry_change_rules(&c->handles, lock, &shorter);
	bool follows = lock->core.rules->follows != 0;
	bool fits = lock->core.rules->ttl_ns <= rl_time_ms(c->nodes.set->ttl_ms);
	if (!fits)
		tell_long(c, lock, answer->node);
	bool asked = follows && fits && rl_operate_step(c, lock, &event) == 0;
	if (!asked && follows && fits && !lock->core.round.asked_ttl)
		answer->reply.vote.code = REDLOCK_VOTE_UNSENT;
	return asked;
}

/* Only one round of a handle waits for votes, so that these are all of it. Seldom, as ask_shorter(). */
static __attribute__((noinline)) void count_refusals(redlock_client *c, redlock_lock *lock)
{
	struct rl_event vote = {.kind = RL_EV_REPLY};
	while (rl_nodes_next_refusal(&c->nodes, &vote.node, &vote.reply.vote, c->loop.now_ns)) {
		c->nodes.list[vote.node].answered[vote.reply.vote.code]++;
		vote.reply.seq = c->nodes.refused_seq; /* a step may ask anew, and be refused */
		vote.reply.more = c->nodes.refused_by != 0;
		if (vote.reply.vote.code != REDLOCK_VOTE_LONG_TTL || !ask_shorter(c, lock, &vote))
			rl_operate_step(c, lock, &vote);
	}
}

/* Gives the lock back to the nodes when it is not in use. `deaf`: nobody has asked for it, as requests no
 * longer reach this client. */
void rl_operate_recall(redlock_client *c, redlock_lock *lock, bool deaf)
{
	rl_operate_step(c, lock,
	                &(struct rl_event){.kind = RL_EV_RECALL,
	                                   .message.deaf = deaf,
	                                   .around.heir_ns = rl_seen_heir_told(lock)});
}

/* After a step: counts the votes of nodes that did not take the request, and wakes the handle that is next.
 */
void rl_operate_settle(redlock_client *c, redlock_lock *lock)
{
	if (c->nodes.refused_by != 0)
		count_refusals(c, lock);
	redlock_lock *next = c->places.next;
	if (next == NULL)
		return;
	c->places.next = NULL;
	rl_operate_step(c, next,
	                &(struct rl_event){.kind = RL_EV_WAKE,
	                                   .message.front = true}); /* it asks when its time has come: now */
}

int rl_operate(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	int error = rl_operate_step(c, lock, event);
	rl_operate_settle(c, lock);
	return error;
}

static __attribute__((noinline)) void tell_leap(redlock_client *c)
{
	struct rl_event event = {.kind = RL_EV_LEAP, .leap_ns = c->loop.leap_ns};
	c->loop.leapt_ns = rl_time_add(c->loop.leapt_ns, c->loop.leap_ns);
	if (c->nodes.set != NULL)
		rl_nodes_leap(&c->nodes, c->loop.leap_ns);
	c->loop.leap_ns = 0;
	redlock_lock *lock = rl_registry_next(&c->handles, 0);
	for (; lock != NULL; lock = rl_registry_next(&c->handles, lock->slot + 1))
		rl_operate(c, lock, &event);
}

void rl_operate_catch_up(redlock_client *c)
{
	if (c->loop.leap_ns > 0)
		tell_leap(c);
}

void rl_operate_notice(redlock_client *c)
{
	struct rl_event event = {.kind = RL_EV_GUARDED, .permitted_ns = rl_time_ms(c->nodes.set->ttl_ms)};
	c->nodes.set->noticed = false;
	redlock_lock *lock = rl_registry_next(&c->handles, 0);
	for (; lock != NULL; lock = rl_registry_next(&c->handles, lock->slot + 1)) {
		(void)rl_handle_make_numbers(lock); /* without memory quarantines are not waited for */
		rl_operate(c, lock, &event);
	}
}

/* ---- answers ---- */

/* A server that has two names has one vote on who holds the lock; but what it says of its own key is true. */
static bool votes_once(unsigned operation)
{
	const struct rl_op *op = &rl_ops[operation];
	return !op->gives_back && op->change != RL_CHANGE_LOOK;
}

/* Where two nodes are one server. Seldom, as ask_shorter(). */
static __attribute__((noinline)) void tell_twins(const redlock_client *c, const redlock_lock *lock,
                                                 struct rl_event *event)
{
	if (votes_once(event->reply.operation))
		event->reply.twins = rl_nodes_twins(&c->nodes, event->node, &lock->core, rl_handle_name(lock));
}

/* As tell_twins(), and a node that its answers have proved to be a duplicate has no vote. */
static __attribute__((noinline)) void count_once(const redlock_client *c, const struct rl_node *node,
                                                 const redlock_lock *lock, struct rl_event *event)
{
	if (c->nodes.shared)
		tell_twins(c, lock, event);
	if (node->duplicate && votes_once(event->reply.operation) &&
	    redlock_vote_kind(event->reply.vote.code) < REDLOCK_KIND_MISSING)
		event->reply.vote.code = REDLOCK_VOTE_DUPLICATE;
}

/* A node with a queue says more: who has the lock, and who comes next. Seldom, as ask_shorter(). */
static __attribute__((noinline)) void take_entered(redlock_client *c, redlock_lock *lock,
                                                   struct rl_event *event)
{
	rl_seen_learn(lock, event, c->loop.now_ns);
	rl_operate(c, lock, event);
	bool ours = event->reply.seq == lock->core.claim.seq && event->node == lock->core.queue.gate;
	if (event->reply.vote.code == REDLOCK_VOTE_YES && ours &&
	    rl_vote_tells(&event->reply.vote, RL_FIELD_OFFER))
		rl_seen_keep_heir(lock, event->reply.vote.offer, c->loop.now_ns);
}

void rl_operate_answer(redlock_client *c, struct rl_node *node, const struct rl_answer *answer)
{
	if (node->identified)
		rl_nodes_identify(&c->nodes);
	redlock_lock *lock = rl_registry_find(&c->handles, answer->tag);
	if (lock == NULL) {
		node->answered[answer->vote.code]++;
		return;
	}
	bool suspect = (lock->core.claim.refused >> node->id & 1) != 0;
	struct rl_event event = {.kind = RL_EV_REPLY,
	                         .node = node->id,
	                         .reply = {.vote = answer->vote,
	                                   .seq = answer->tag.seq,
	                                   .operation = answer->operation,
	                                   .identified = !suspect || rl_nodes_are_identified(&c->nodes)}};
	if (node->guards && answer->vote.code == REDLOCK_VOTE_LONG_TTL && ask_shorter(c, lock, &event))
		return;
	if (node->guards)
		event.reply.generation = answer->generation;
	if (c->nodes.shared | node->duplicate)
		count_once(c, node, lock, &event);
	node->answered[event.reply.vote.code]++;
	if (event.reply.seq == lock->core.round.seq)
		rl_stats_add(&node->round_trip, c->loop.now_ns - lock->core.round.t0_ns);
	if ((rl_state_tells(event.reply.operation) & RL_TELLS_QUEUE) != 0)
		take_entered(c, lock, &event);
	else
		rl_operate(c, lock, &event);
}

/* ---- what is kept ---- */

void rl_operate_give_back_all(redlock_client *c)
{
	for (redlock_lock *lock; (lock = c->kept.first) != NULL;) {
		rl_operate_recall(c, lock, true);
		rl_operate_settle(c, lock);
	}
}

void rl_operate_check_kept(redlock_client *c)
{
	for (redlock_lock *lock = c->kept.first, *next; lock != NULL; lock = next) {
		next = lock->next_in_line;
		if (rl_kept_may(&c->kept, &c->loop, &c->places, lock))
			continue;
		rl_operate_recall(c, lock, true);
		rl_operate_settle(c, lock);
	}
}
