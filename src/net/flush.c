/* SPDX-License-Identifier: MIT */
#include "net/flush.h"

#include "net/auth.h"
#include "net/submit.h"

/* Not before the opening commands are answered, which may say that this is another server; nor when a login
 * waits for what is under way. */
static bool may_talk(const struct rl_node *n)
{
	const struct rl_link *l = &n->link;
	bool ready = l->state == RL_LINK_OPEN && l->setup.count == 0 && l->gate == 0 && l->login == RL_LOGIN_NONE;
	return ready && rl_talk_may_go_on(&n->talk);
}

bool rl_flush_can_send(const struct rl_node *n)
{
	const struct rl_link *l = &n->link;
	if (l->state != RL_LINK_OPEN || l->watching_write)
		return l->state == RL_LINK_BROKEN;
	return rl_outbox_unsent(&l->setup).size > 0 ||
	       (rl_link_may_send(l) && rl_outbox_unsent(&l->outbox).size > 0) || may_talk(n);
}

/* Queues the next request that no caller asked for. False: out of memory. */
static bool ask_more(struct rl_node *n)
{
	bool idle = n->link.outbox.count + n->talk.parked.count == 0; /* the SETs of all debts have left */
	if (idle && n->ledger.debts.count > 0 && !rl_submit_debts(n))
		return false;
	return n->talk.parked.count == 0 || !may_talk(n) || rl_talk_go_on(&n->talk, &n->methods, &n->link.outbox);
}

void rl_flush(struct rl_node *n)
{
	struct rl_link *l = &n->link;
	if (l->state != RL_LINK_OPEN)
		return;
	if (!ask_more(n)) {
		rl_link_fail_memory(&n->link);
		return;
	}
	bool all = rl_link_send(l);
	if (all && l->login != RL_LOGIN_NONE && !rl_talk_is_begun(&n->talk))
		all = !rl_auth_go_on(l) || rl_link_send(l);
	if (l->state == RL_LINK_OPEN)
		rl_link_watch(l, !all || rl_stream_wants_write(&l->stream));
}
