/* SPDX-License-Identifier: MIT */
/* One sentence about why the last call on a handle failed, from its result, votes and findings. Nothing is
 * allocated, and no server is asked. */
#include <string.h>

#include "busy.h"
#include "client.h"
#include "sentence.h"
#include "tally.h"

/* ---- votes ---- */

/* Whether the last failure of a node explains this vote. While the node is connected it may be history: only
 * a failure of the same kind is told then. */
static bool is_explained(const struct rl_link *link, enum redlock_vote_code vote)
{
	bool connected = link->state == RL_LINK_OPEN && link->setup.count == 0;
	return redlock_vote_kind(vote) >= REDLOCK_KIND_MISSING && (!connected || link->failure == vote);
}

/* Why a node has no vote, in words; "": it is not known, or the node has one. */
static const char *trouble_of(const redlock_lock *lock, unsigned node)
{
	const struct rl_link *link = &lock->client->nodes.list[node].link;
	return is_explained(link, rl_tally_vote(lock, node)) ? rl_link_trouble(link) : "";
}

/* Whether a node keeps an operation from its quorum. An answer that was not needed does not; one that the
 * clock did not wait for does. */
static bool has_cause(const redlock_lock *lock, unsigned node)
{
	enum redlock_vote_kind kind = redlock_vote_kind(rl_tally_vote(lock, node));
	bool ran_out = lock->last_cause == RL_CAUSE_LOSS && lock->loss == REDLOCK_LOSS_EXPIRED;
	return kind >= REDLOCK_KIND_NO || (kind == REDLOCK_KIND_PENDING && (ran_out || lock->core.round.open));
}

static bool same_cause(const redlock_lock *lock, unsigned a, unsigned b)
{
	return has_cause(lock, a) && rl_tally_vote(lock, a) == rl_tally_vote(lock, b) &&
	       strcmp(trouble_of(lock, a), trouble_of(lock, b)) == 0;
}

/* "; nodes 2, 4: no answer in time" or, of a single node, "; node 1 redis://10.0.0.1:6379: ..." */
static void put_cause(struct rl_sentence *s, const redlock_lock *lock, unsigned node, uint32_t nodes)
{
	const char *address = lock->client->nodes.list[node].link.endpoint.address;
	const char *trouble = trouble_of(lock, node);
	bool many = (nodes & (nodes - 1)) != 0;
	rl_sentence_put(s, "; node%s %u", many ? "s" : "", node + 1);
	for (unsigned i = node + 1; i < lock->client->nodes.count; i++)
		if ((nodes >> i & 1) != 0)
			rl_sentence_put(s, ", %u", i + 1);
	if (!many) {
		rl_sentence_put(s, " ");
		rl_sentence_put_foreign(s, address, strlen(address));
	}
	rl_sentence_put(s, ": %s%s", redlock_vote_text(rl_tally_vote(lock, node)), *trouble ? ": " : "");
	rl_sentence_put_foreign(s, trouble, strlen(trouble));
}

/* How many voted yes, and what each of the others answered. */
static void put_votes(struct rl_sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	unsigned no = rl_tally_count(lock, REDLOCK_KIND_NO);
	rl_sentence_put(s, "%u of %u nodes voted yes", rl_tally_count(lock, REDLOCK_KIND_YES), ns->count);
	if (no > 0)
		rl_sentence_put(s, " and %u no", no);
	rl_sentence_put(s, ", %u are needed", ns->quorum);
	for (unsigned i = 0; i < ns->count; i++) {
		uint32_t nodes = rl_tally_group(lock, i, same_cause);
		if (nodes != 0)
			put_cause(s, lock, i, nodes);
	}
}

/* Votes that arrive after the end of an operation are counted: then the sentence says that they were late. */
static void put_no_quorum(struct rl_sentence *s, const redlock_lock *lock)
{
	bool late = rl_tally_count(lock, REDLOCK_KIND_YES) >= lock->client->nodes.quorum;
	rl_sentence_put(s, "no quorum%s: ", late ? " in time" : "");
	put_votes(s, lock);
}

/* ---- losses ---- */

/* The renewal or extend that came last, unless it succeeded. */
static void put_extend(struct rl_sentence *s, const redlock_lock *lock)
{
	bool confirmed = rl_tally_count(lock, REDLOCK_KIND_YES) >= lock->client->nodes.quorum;
	if (lock->core.round.operation != REDLOCK_OP_EXTEND || confirmed)
		return;
	rl_sentence_put(s, "; the last %s: ", lock->core.round.background ? "renewal" : "extend");
	put_votes(s, lock);
}

static void put_reason(struct rl_sentence *s, unsigned loss)
{
	static const char *const reasons[] = {
	    [REDLOCK_LOSS_EXPIRED] = "its validity has ended",
	    [REDLOCK_LOSS_GONE] = "a quorum of nodes no longer has it",
	    [REDLOCK_LOSS_LEAP] = "the wall clock was set forward beyond its validity",
	};
	rl_sentence_put(s, "the lock was lost: %s", reasons[loss]);
}

static void put_loss(struct rl_sentence *s, const redlock_lock *lock)
{
	put_reason(s, lock->loss);
	put_extend(s, lock);
}

/* Whether the validity has ended and no event or call has noticed that yet. */
static bool is_over(const redlock_lock *lock)
{
	const struct rl_loop *loop = &lock->client->loop;
	return lock->core.phase == RL_HELD &&
	       lock->core.valid_until_ns <= rl_time_add(loop->now_ns, loop->leap_ns);
}

static void put_limit(struct rl_sentence *s, const redlock_lock *lock)
{
	const struct rl_rules *r = lock->core.rules;
	rl_sentence_put(s, "%s: ", redlock_strerror(REDLOCK_E_LIMIT));
	if (r->max_extends > 0)
		rl_sentence_put(s, "max_extends is %llu", (unsigned long long)r->max_extends);
	if (r->max_hold_ns > 0)
		rl_sentence_put(s, "%smax_hold_ms is %llu", r->max_extends > 0 ? ", " : "",
		                (unsigned long long)(r->max_hold_ns / RL_NS_PER_MS));
}

/* The notice DANGER was given, and nothing has extended the lock since. */
static bool is_in_danger(const redlock_lock *lock)
{
	return lock->core.phase == RL_HELD && lock->core.warned;
}

static void put_danger(struct rl_sentence *s, const redlock_lock *lock)
{
	rl_sentence_put(s, "the validity ends soon");
	put_extend(s, lock);
}

/* Only an extend, of all calls on a handle, has an argument that can be wrong. */
static void put_invalid(struct rl_sentence *s, const redlock_lock *lock)
{
	const struct rl_rules *r = lock->core.rules;
	rl_sentence_put(
	    s, "an extend is for 10 ms to 30 days, and longer than node timeout + drift (node timeout %llu ms)",
	    (unsigned long long)(r->node_timeout_ns / RL_NS_PER_MS));
}

static void put_other(struct rl_sentence *s, const redlock_lock *lock)
{
	static const char *const causes[RL_CAUSE_COUNT] = {
	    [RL_CAUSE_RUNS] = "another operation of the handle runs",
	    [RL_CAUSE_EVENT] = "redlock_next() has not returned the end of its last operation",
	    [RL_CAUSE_HELD] = "the lock is held already",
	    [RL_CAUSE_LOST] = "the lock was lost, and has to be released first",
	    [RL_CAUSE_IDLE] = "the lock is not held",
	    [RL_CAUSE_KIND] = "locks of this kind do not have this operation",
	};
	const char *cause = causes[lock->last_cause];
	rl_sentence_put(s, "%s%s%s", redlock_strerror(lock->last_result), cause != NULL ? ": " : "",
	                cause != NULL ? cause : "");
}

int redlock_last_error(const redlock_lock *lock, char *text, size_t size)
{
	int error = text != NULL || size == 0 ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	struct rl_sentence s = {.text = text, .size = size};
	if (lock->last_result == REDLOCK_E_BUSY && lock->last_cause == RL_CAUSE_VOTES)
		rl_busy_put(&s, lock);
	else if (lock->last_result == REDLOCK_E_NOQUORUM && lock->last_cause == RL_CAUSE_VOTES)
		put_no_quorum(&s, lock);
	else if (lock->last_cause == RL_CAUSE_LOSS)
		put_loss(&s, lock);
	else if (lock->last_result == 0 && is_over(lock))
		put_reason(&s, REDLOCK_LOSS_EXPIRED);
	else if (lock->last_result == 0 && is_in_danger(lock))
		put_danger(&s, lock);
	else if (lock->last_result == REDLOCK_E_LIMIT)
		put_limit(&s, lock);
	else if (lock->last_result == REDLOCK_E_INVAL)
		put_invalid(&s, lock);
	else
		put_other(&s, lock);
	rl_loop_leave(&lock->client->loop);
	return (int)s.length;
}
