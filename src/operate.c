/* SPDX-License-Identifier: MIT */
/* What the core decides, done: tokens, requests to the nodes, results and notices; and answers, given to the
 * core. */
#include <string.h>

#include "client.h"
#include "core/finding.h"
#include "core/policy.h"
#include "core/trace.h"
#include "os/bell.h"

/* ---- events to be pulled ---- */

static void push_events(redlock_client *c, redlock_lock *lock, unsigned bits)
{
	lock->pending |= bits;
	if (lock->queued || bits == 0)
		return;
	lock->queued = true;
	lock->next_queued = NULL;
	lock->previous_queued = c->queue_tail;
	if (c->queue_tail != NULL)
		c->queue_tail->next_queued = lock;
	else
		c->queue_head = lock;
	c->queue_tail = lock;
	rl_bell_ring(c->notice_fd);
}

static void unqueue(redlock_client *c, redlock_lock *lock)
{
	lock->queued = false;
	*(lock->previous_queued != NULL ? &lock->previous_queued->next_queued : &c->queue_head) =
	    lock->next_queued;
	*(lock->next_queued != NULL ? &lock->next_queued->previous_queued : &c->queue_tail) =
	    lock->previous_queued;
	if (c->queue_head == NULL)
		rl_bell_silence(c->notice_fd);
}

bool rl_next_event(redlock_client *c, struct redlock_event *ret)
{
	redlock_lock *lock = c->queue_head;
	if (lock == NULL)
		return false;
	unsigned number = (unsigned)__builtin_ctz(lock->pending);
	lock->pending &= lock->pending - 1;
	*ret = (struct redlock_event){.lock = lock, .kind = rl_observe_events[number]};
	if (ret->kind == REDLOCK_EVENT_DONE) {
		ret->operation = lock->done_operation;
		ret->result = lock->done_result;
	}
	if (lock->pending == 0)
		unqueue(c, lock);
	return true;
}

void rl_drop_events(redlock_client *c, redlock_lock *lock)
{
	lock->pending = 0;
	if (lock->queued)
		unqueue(c, lock);
}

/* ---- tokens ---- */

enum { TOKEN_BYTES = 20, TOKEN_DIGITS = 2 * TOKEN_BYTES };

/* Fresh for every attempt: a late release of one attempt must not delete the key of the next. False: no
 * random bytes to be had. */
static bool sign(redlock_client *c, redlock_lock *lock)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char random[TOKEN_BYTES];
	if (rl_random_take(&c->random, c->now_ns, random, sizeof random) < 0)
		return false;
	char *at = lock->token;
	for (size_t i = 0; i < sizeof random; i++) {
		*at++ = digits[random[i] >> 4];
		*at++ = digits[random[i] & 15];
	}
	size_t owner_size = strlen(c->owner);
	memcpy(at, c->owner, owner_size);
	lock->token_size = TOKEN_DIGITS + owner_size;
	return true;
}

/* ---- effects ---- */

/* A key that nobody has: the name and the digits of the fresh token behind it. */
static bool name_probe(const redlock_lock *lock, struct rl_buffer *ret)
{
	if (!rl_buffer_reserve(ret, lock->name.size + TOKEN_DIGITS))
		return false;
	memcpy(ret->bytes, lock->name.bytes, lock->name.size);
	memcpy(ret->bytes + lock->name.size, lock->token, TOKEN_DIGITS);
	ret->size = lock->name.size + TOKEN_DIGITS;
	return true;
}

/* Asks the nodes. A node that does not take the request has voted; the vote is counted by rl_operate(). */
static void send_to_nodes(redlock_client *c, redlock_lock *lock, const struct rl_effects *fx)
{
	bool own = !rl_policy_of(&lock->core)->signs;
	struct rl_request request = {
	    .operation = fx->send,
	    .tag = {lock->slot, c->slots[lock->slot].generation, fx->seq},
	    .name = lock->name,
	    .token = {lock->token, lock->token_size},
	    .ttl_ms = fx->ttl_ns / RL_NS_PER_MS,
	    .owed = fx->owed,
	    .by_text = own,
	};
	struct rl_buffer probe_name = {0};
	bool named = fx->send != REDLOCK_OP_PROBE || name_probe(lock, &probe_name);
	if (fx->send == REDLOCK_OP_PROBE)
		request.name = (struct rl_slice){probe_name.bytes, probe_name.size};
	rl_wire_reset(&c->wire);
	for (unsigned i = 0; i < c->node_count; i++) {
		if ((fx->nodes >> i & 1) == 0)
			continue;
		request.unproven = own && fx->seq == 0 && (fx->owed >> i & 1) == 0;
		enum redlock_vote_code vote =
		    named ? rl_node_submit(&c->nodes[i], &request, &c->wire, c->now_ns) : REDLOCK_VOTE_BACKLOG;
		if (vote == REDLOCK_VOTE_PENDING || fx->seq == 0)
			continue;
		c->refused_seq = fx->seq;
		c->refused_nodes |= 1u << i;
		c->refused_votes[i] = vote;
	}
	rl_buffer_free(&probe_name);
}

/* Those that are events. */
static unsigned pullable(uint32_t observed)
{
#define EVENT_BIT(name, words, event) | ((event) != 0 ? RL_OBSERVE_##name : 0u)
	return observed & (0u RL_OBSERVE_MAP(EVENT_BIT));
#undef EVENT_BIT
}

static void report(redlock_client *c, redlock_lock *lock, const struct rl_effects *fx)
{
	bool done = (fx->observed & RL_OBSERVE_DONE) != 0;
	if (done) {
		lock->done_operation = fx->done;
		lock->done_result = fx->result;
	}
	if (!done || !lock->waited) {
		push_events(c, lock, pullable(fx->observed));
		return;
	}
	push_events(c, lock, pullable(fx->observed & ~(uint32_t)RL_OBSERVE_DONE));
	lock->done = true;
	rl_wake_done(c, lock);
}

/* Steele, Lea, Flood: SplitMix64. Spreads retries; nothing depends on its quality. */
static uint64_t next_entropy(redlock_client *c)
{
	uint64_t z = c->entropy += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static int step(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	struct rl_effects fx;
	enum rl_phase before = lock->core.phase;
	event->now_ns = c->now_ns;
	event->entropy = next_entropy(c);
	event->order = c->order;
	event->token = (struct rl_slice){lock->token, lock->token_size};
	int error = rl_lock_step(&lock->core, event, &fx);
	if (c->trace != NULL) {
		char line[RL_TRACE_MAX];
		rl_trace_line(line, sizeof line, before, event, &lock->core, &fx);
		c->trace(c->trace_user, line);
	}
	report(c, lock, &fx);
	if (event->kind == RL_EV_RELEASE && error == 0)
		rl_drop_events(c, lock); /* no notice after a release */
	if (fx.send == REDLOCK_OP_QUERY)
		(void)rl_handle_make_findings(lock); /* without memory a look tells less */
	if (fx.twin)
		c->nodes[event->node].duplicate = true; /* until a new connection says who it is, or does not */
	if (fx.sign && !sign(c, lock)) {
		struct rl_event cancel = {.kind = RL_EV_CANCEL, .result = REDLOCK_E_SYSTEM};
		rl_lock_step(&lock->core, &cancel, &fx); /* nothing was sent: what it gives back does not exist */
		report(c, lock, &fx);
	} else if (fx.send != REDLOCK_OP_NONE) {
		send_to_nodes(c, lock, &fx);
	}
	rl_schedule_set(&c->schedule, &lock->timer, rl_lock_deadline(&lock->core));
	return error;
}

/* Whether another handle claims the same value of the caller under the same name. What that one still has to
 * release would be the key of this one: so a value is claimed by one handle at a time. */
static bool value_is_claimed(const redlock_client *c, const redlock_lock *lock)
{
	if (rl_policy_of(&lock->core)->signs || lock->core.phase != RL_IDLE || rl_lock_busy(&lock->core))
		return false;
	for (const redlock_lock *l = c->locks; l != NULL; l = l->next)
		if (l != lock && !rl_policy_of(&l->core)->signs && l->core.phase != RL_IDLE &&
		    rl_slice_same(l->name, lock->name) &&
		    rl_slice_same((struct rl_slice){l->token, l->token_size},
		                  (struct rl_slice){lock->token, lock->token_size}))
			return true;
	return false;
}

int rl_operate(redlock_client *c, redlock_lock *lock, struct rl_event *event)
{
	if (event->kind == RL_EV_ACQUIRE && value_is_claimed(c, lock))
		return REDLOCK_E_BUSY;
	int error = step(c, lock, event);
	/* Only one round of a handle waits for votes, so that these are all of it. */
	while (c->refused_nodes != 0) {
		unsigned node = (unsigned)__builtin_ctz(c->refused_nodes);
		c->refused_nodes &= c->refused_nodes - 1;
		struct rl_event vote = {
		    .kind = RL_EV_REPLY,
		    .seq = c->refused_seq,
		    .node = node,
		    .vote.code = c->refused_votes[node],
		    .more = c->refused_nodes != 0,
		};
		step(c, lock, &vote);
	}
	return error;
}

/* ---- answers ---- */

/* Its identity, which it has under all of its addresses. */
static const char *known_as(const struct rl_node *n)
{
	return n->run_id[0] != '\0' ? n->run_id : n->endpoint.address;
}

void rl_order_nodes(redlock_client *c)
{
	for (unsigned i = 0; i < c->node_count; i++) {
		unsigned at = i;
		for (; at > 0 && strcmp(known_as(&c->nodes[c->order[at - 1]]), known_as(&c->nodes[i])) > 0; at--)
			c->order[at] = c->order[at - 1];
		c->order[at] = (uint8_t)i;
	}
}

/* Whether two nodes are one server: by identity, or where one of them tells none, by address. */
static bool same_server(const struct rl_node *a, const struct rl_node *b)
{
	if (a->link != RL_LINK_OPEN || b->link != RL_LINK_OPEN)
		return false;
	if (a->run_id_known && b->run_id_known)
		return strcmp(a->run_id, b->run_id) == 0;
	bool told = a->setup.count == 0 && b->setup.count == 0; /* or would have */
	return told && rl_address_same(&a->dial.peer, &b->dial.peer);
}

/* One server must not have two votes. */
static void compare_identities(redlock_client *c)
{
	for (unsigned i = 0; i < c->node_count; i++) {
		struct rl_node *a = &c->nodes[i];
		a->identified = a->duplicate = false;
		for (unsigned j = 0; j < c->node_count; j++)
			if (i != j && same_server(a, &c->nodes[j]))
				a->duplicate = true;
	}
	rl_order_nodes(c);
}

static bool all_identified(const redlock_client *c)
{
	for (unsigned i = 0; i < c->node_count; i++)
		if (!c->nodes[i].run_id_known)
			return false;
	return true;
}

/* What a node says, as values. */
static void take_vote(struct rl_vote *vote, const struct rl_node *node, const struct rl_answer *answer)
{
	vote->code = answer->vote;
	bool claim = answer->operation != REDLOCK_OP_RELEASE && answer->operation != REDLOCK_OP_QUERY;
	if (claim && node->duplicate && redlock_vote_kind(vote->code) < REDLOCK_KIND_MISSING)
		vote->code = REDLOCK_VOTE_DUPLICATE;
	if (answer->operation != REDLOCK_OP_QUERY || vote->code != REDLOCK_VOTE_YES)
		return;
	const struct rl_reply_value *items = answer->reply->items;
	vote->number_count = vote->text_count = 2;
	vote->numbers[RL_FINDING_PTTL] = items[1].integer;
	vote->numbers[RL_FINDING_SIZE] = items[2].integer;
	vote->texts[RL_FINDING_TYPE] = (struct rl_slice){items[0].text, items[0].kept};
	vote->texts[RL_FINDING_VALUE] = (struct rl_slice){items[3].text, items[3].kept};
}

void rl_take_answer(redlock_client *c, struct rl_node *node, const struct rl_answer *answer)
{
	if (node->identified)
		compare_identities(c);
	redlock_lock *lock = rl_client_find(c, answer->tag);
	if (lock == NULL)
		return;
	bool suspect = (lock->core.refused >> node->id & 1) != 0;
	struct rl_event event = {.kind = RL_EV_REPLY,
	                         .seq = answer->tag.seq,
	                         .node = node->id,
	                         .identified = !suspect || all_identified(c)};
	take_vote(&event.vote, node, answer);
	rl_operate(c, lock, &event);
}
