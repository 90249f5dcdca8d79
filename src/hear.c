/* SPDX-License-Identifier: MIT */
#include "hear.h"

#include "kept.h"
#include "operate.h"
#include "places.h"
#include "seen.h"

static void take_over(redlock_client *c, redlock_lock *lock, const struct rl_heard *heard,
                      struct rl_event *event)
{
	event->kind = RL_EV_HAND;
	event->message.offered_ns = heard->offered_ns;
	event->reply.vote = (struct rl_vote){.waiting = (int32_t)heard->waiting, .token = heard->token};
	if (c->nodes.shared)
		event->reply.twins = rl_nodes_twins(&c->nodes, event->node, &lock->core, rl_handle_name(lock));
	rl_operate(c, lock, event);
	bool ours = rl_slice_same(heard->token, rl_handle_token(lock));
	if (ours && heard->offer.size > 0)
		rl_seen_keep_heir(lock, heard->offer, c->loop.now_ns);
}

/* A waiter of another client has found a token that says that its lock may be kept. The client does not keep
 * that name for a while: clients that take turns are better off without. */
static void give_back(redlock_client *c, const struct rl_heard *heard)
{
	redlock_lock *lock = rl_kept_wanted(&c->handles, heard);
	if (lock == NULL)
		return;
	rl_kept_back_off(&c->kept, lock, c->loop.now_ns);
	rl_seen_keep_heir(lock, heard->offer, c->loop.now_ns);
	rl_operate_recall(c, lock, false);
	rl_operate_settle(c, lock);
}

/* A second vote of one server; or the key may be released, as an earlier yes of the node was no vote. */
static bool is_no_vote(const redlock_client *c, const struct rl_heard *heard, unsigned node)
{
	const struct rl_node *n = &c->nodes.list[node];
	return n->duplicate || rl_submit_may_release(n, heard->name, heard->token, c->loop.now_ns);
}

/* If the waiter has gone, its turn goes to the next one: at once if the handle is there to say so, else when
 * the turn ends by itself. */
void rl_hear_message(redlock_client *c, const struct rl_heard *heard, unsigned node)
{
	struct rl_event event = {.kind = RL_EV_WAKE, .node = node};
	event.message.gone = heard->gone;
	if (heard->wanted) {
		give_back(c, heard);
		return;
	}
	redlock_lock *lock = heard->gone ? rl_places_waits_for(&c->places, heard->name, node)
	                                 : rl_places_find(&c->handles, heard->number, &event.message.call);
	if (heard->handed && is_no_vote(c, heard, node))
		return; /* it is asked, and says so */
	bool named = lock != NULL && (!heard->handed || rl_slice_same(heard->name, rl_handle_name(lock)));
	if (named && heard->handed)
		take_over(c, lock, heard, &event);
	else if (named)
		rl_operate(c, lock, &event);
	else if (heard->handed)
		rl_operate_decline(c, heard->name, heard->token, node);
}

void rl_hear_no_more(redlock_client *c, uint32_t nodes)
{
	redlock_lock *lock = rl_registry_next(&c->handles, 0);
	for (; lock != NULL; lock = rl_registry_next(&c->handles, lock->slot + 1)) {
		struct rl_event event = {.kind = RL_EV_WAKE, .node = lock->core.queue.gate, .message.deaf = true};
		rl_places_deafen(lock, nodes);
		if (lock->core.queue.placed && (nodes >> event.node & 1) != 0)
			rl_operate(c, lock, &event);
	}
}
