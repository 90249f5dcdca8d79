/* SPDX-License-Identifier: MIT */
#include "net/replicas.h"

#include <stdio.h>

#include "net/submit.h"
#include "proto/answer.h"

/* Drops the texts of the answer: they point into the buffer of the reply, which the reply to WAIT overwrites.
 * Only a hand-over needs the texts of a yes, and clients whose nodes wait for replicas hand nothing over. */
bool rl_replicas_hold(struct rl_node *n, const struct rl_answer *answer)
{
	if (answer->vote.code != REDLOCK_VOTE_YES)
		return false;
	n->held = *answer;
	n->held.vote.told &= RL_TOLD(TOKEN) - 1; /* numbers only: TOKEN is the first text in core/vote.h */
	n->held.vote.token = n->held.vote.offer = (struct rl_slice){"", 0};
	rl_outbox_hold_front(&n->link.outbox);
	return true;
}

static void miss(struct rl_node *n, const struct rl_reply_value *v)
{
	char text[96];
	bool error = v->type == RL_REPLY_ERROR;
	enum redlock_vote_code vote = error ? rl_answer_of_error(v->text) : REDLOCK_VOTE_UNREPLICATED;
	snprintf(text, sizeof text, "%lld of %u replicas have acknowledged it", (long long)v->integer,
	         n->link.endpoint.replicas);
	rl_link_remember(&n->link, vote, error ? v->text : text);
	n->held.vote = (struct rl_vote){.code = vote};
}

bool rl_replicas_take(struct rl_node *n, const struct rl_reply *reply, struct rl_answer *ret)
{
	struct rl_outbox *asked = &n->link.outbox;
	const struct rl_entry entry = *rl_outbox_front(asked);
	const struct rl_reply_value *v = &reply->value;
	bool held = entry.wait_ms > 0, error = v->type == RL_REPLY_ERROR;
	if (!error && v->type != RL_REPLY_INTEGER) {
		rl_link_fail_protocol(&n->link);
		return false;
	}
	if (held) {
		n->unreplicated = error || v->integer < n->link.endpoint.replicas;
		if (n->unreplicated)
			miss(n, v);
		bool made = rl_ops[entry.operation].claims && entry.own_value;
		if (made && (n->unreplicated || entry.given_up) && !rl_submit_give_back(n, &entry))
			n->ledger.lingering++;
		*ret = n->held;
		rl_outbox_pop(asked); /* the request, whose entry was kept */
	}
	rl_outbox_pop(asked); /* WAIT */
	return held;
}
