/* SPDX-License-Identifier: MIT */
#include "net/loss.h"

bool rl_loss_is_unknown(enum redlock_vote_code vote)
{
	return vote == REDLOCK_VOTE_CLOSED || vote == REDLOCK_VOTE_GARBAGE || vote == REDLOCK_VOTE_TIMEOUT;
}

enum redlock_vote_code rl_loss_unsent_vote(const struct rl_node *n, enum redlock_vote_code otherwise)
{
	return rl_loss_is_unknown(n->link.failure) ? otherwise : n->link.failure;
}

enum redlock_vote_code rl_loss_vote(const struct rl_node *n, bool unsent)
{
	if (unsent)
		return rl_loss_unsent_vote(n, REDLOCK_VOTE_UNSENT);
	bool known = rl_loss_is_unknown(n->link.failure);
	enum redlock_vote_code unknown = known ? n->link.failure : REDLOCK_VOTE_CLOSED;
	return n->link.setup.count > 0 ? rl_loss_unsent_vote(n, unknown) : unknown;
}

void rl_loss_begin(struct rl_node *n)
{
	if (n->breaking)
		return;
	n->breaking = true;
	n->first_unsent = 0;
	n->parked_popped = n->talk.parked.popped;
}

/* Whether somebody waits for it. */
static bool hand_out(const struct rl_entry *entry, enum redlock_vote_code vote, struct rl_answer *ret)
{
	*ret = (struct rl_answer){.tag = entry->tag, .operation = entry->operation, .vote.code = vote};
	return entry->tag.seq != 0;
}

/* A release whose SET was never sent has nothing to delete. */
static bool set_never_left(const struct rl_node *n, const struct rl_entry *release)
{
	uint64_t unsent_from = release->set_parked ? n->parked_popped + 1 : n->first_unsent;
	return unsent_from != 0 && release->set_number >= unsent_from;
}

static void keep_release(struct rl_node *n, const struct rl_entry *entry, const struct rl_outbox *from)
{
	if (entry->owed && !set_never_left(n, entry))
		rl_ledger_keep(&n->ledger, entry, rl_outbox_front_bytes(from));
}

/* Whether another server of the cluster is to be asked for what was not executed here. The release of a claim
 * that never left is not needed. */
static bool goes_on(struct rl_node *n, const struct rl_entry *entry, enum redlock_vote_code vote)
{
	bool request = entry->setup == RL_SETUP_NONE && entry->step == RL_STEP_NONE && !entry->given_up;
	bool needless = entry->owed && set_never_left(n, entry);
	return n->redirect != NULL && request && !needless && !rl_loss_is_unknown(vote) &&
	       rl_redirect_keep(n->redirect, RL_REDIRECT_UNSENT, &n->link.outbox);
}

static void lose_asked(struct rl_node *n, const struct rl_entry *entry, enum redlock_vote_code vote)
{
	keep_release(n, entry, &n->link.outbox);
	if (rl_loss_is_unknown(vote))
		rl_ledger_lose(&n->ledger, entry);
	if (entry->given_up && rl_loss_is_unknown(vote))
		n->ledger.lingering++;
}

/* Takes the front of the outbox, which has this vote. True: it is handed out, to be counted or asked again.
 */
static bool take_front(struct rl_node *n, enum redlock_vote_code vote, struct rl_answer *ret)
{
	struct rl_outbox *asked = &n->link.outbox;
	struct rl_entry entry = *rl_outbox_front(asked);
	if (!rl_loss_is_unknown(vote) && n->first_unsent == 0)
		n->first_unsent = asked->popped + 1;
	bool on = goes_on(n, &entry, vote);
	if (!on)
		lose_asked(n, &entry, vote);
	rl_outbox_pop(asked);
	return hand_out(&entry, vote, ret) || on;
}

static bool next_asked(struct rl_node *n, struct rl_answer *ret)
{
	struct rl_outbox *asked = &n->link.outbox;
	const struct rl_entry *front;
	while ((front = rl_outbox_front(asked)) != NULL) {
		enum redlock_vote_code refused = (enum redlock_vote_code)front->refused;
		if (refused == REDLOCK_VOTE_PENDING) {
			if (take_front(n, rl_loss_vote(n, rl_outbox_front_unsent(asked)), ret))
				return true;
			continue;
		}
		struct rl_entry entry = *front;
		rl_outbox_pop(asked);
		if (hand_out(&entry, refused, ret))
			return true;
	}
	return false;
}

static bool next_parked(struct rl_node *n, struct rl_answer *ret)
{
	struct rl_outbox *parked = &n->talk.parked;
	const struct rl_entry *front;
	while ((front = rl_outbox_front(parked)) != NULL) {
		struct rl_entry entry = *front;
		enum redlock_vote_code vote = rl_loss_vote(n, !rl_talk_front_begun(&n->talk));
		keep_release(n, &entry, parked);
		rl_outbox_pop(parked);
		if (hand_out(&entry, vote, ret))
			return true;
	}
	return false;
}

bool rl_loss_next_unsent(struct rl_node *n, struct rl_answer *ret)
{
	while (n->link.outbox.count > 0)
		if (take_front(n, REDLOCK_VOTE_UNSENT, ret))
			return true;
	n->first_unsent = 0;
	return false;
}

bool rl_loss_next(struct rl_node *n, struct rl_answer *ret)
{
	return next_asked(n, ret) || next_parked(n, ret);
}
