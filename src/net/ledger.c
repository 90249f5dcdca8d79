/* SPDX-License-Identifier: MIT */
#include "net/ledger.h"

#include <string.h>

#include "core/time.h"

/* The most bytes of releases that are kept for the next connection. One release is always taken, however
 * large. */
#define DEBT_BYTES ((size_t)128 * 1024)

/* How long a SET in the buffer of a server that answers again may stay there. Seconds would do. */
#define GHOST_LIFE_NS (60000 * RL_NS_PER_MS)

void rl_ledger_keep(struct rl_ledger *l, const struct rl_entry *entry, struct rl_slice bytes)
{
	struct rl_entry debt = *entry;
	debt.tag.seq = 0;
	debt.set_number = 0;
	bool room = l->debts.count == 0 || rl_outbox_size(&l->debts) + bytes.size <= DEBT_BYTES;
	if (!room || !rl_outbox_push(&l->debts, &debt, bytes))
		l->lingering++;
}

void rl_ledger_lose(struct rl_ledger *l, const struct rl_entry *entry)
{
	enum rl_ghost_rule ghost = rl_ops[entry->operation].ghost;
	bool leaves = ghost == RL_GHOST_ALWAYS || (ghost == RL_GHOST_OWN && entry->own_value);
	l->left_ghost = l->left_ghost || leaves;
	l->ghost_own = l->ghost_own || (leaves && entry->own_value);
	if (leaves && entry->goes_on && l->ghost_token_count++ < RL_GHOST_TOKENS)
		l->ghost_tokens[l->ghost_token_count - 1] = entry->token_hash;
}

bool rl_ledger_has_ghost_of(const struct rl_ledger *l, uint32_t token_hash, uint64_t now_ns)
{
	bool may_be = l->ghost_token_count > RL_GHOST_TOKENS;
	for (unsigned i = 0; i < l->ghost_token_count && !may_be; i++)
		may_be = l->ghost_tokens[i] == token_hash;
	return may_be && rl_ledger_has_ghost(l, now_ns);
}

bool rl_ledger_doubts_yes(const struct rl_ledger *l, const struct rl_entry *entry,
                          const struct rl_slice *bytes, uint64_t now_ns)
{
	const struct rl_op *op = &rl_ops[entry->operation];
	if (op->doubts || !op->relies || entry->own_value)
		return (op->doubts || (op->relies && l->ghost_own)) && rl_ledger_has_ghost(l, now_ns);
	if (l->ghost_token_count == 0)
		return false;
	uint32_t hash = bytes != NULL ? rl_slice_hash(rl_outbox_request(entry, *bytes).token) : entry->token_hash;
	return rl_ledger_has_ghost_of(l, hash, now_ns);
}

void rl_ledger_doubt(struct rl_ledger *l)
{
	l->ghost_stays = true;
	l->ghost_gone_ns = UINT64_MAX;
}

static void add_ghost(struct rl_ledger *l, const struct rl_facts *facts)
{
	if (facts->client_id > 0 && facts->run_id_known && l->ghost_count < RL_GHOSTS) {
		struct rl_ghost *ghost = &l->ghosts[l->ghost_count++];
		ghost->client_id = facts->client_id;
		memcpy(ghost->run_id, facts->run_id, sizeof ghost->run_id);
	} else {
		rl_ledger_doubt(l);
	}
}

void rl_ledger_break(struct rl_ledger *l, const struct rl_facts *facts, uint64_t now_ns)
{
	l->ghost_stays = rl_ledger_has_ghost(l, now_ns);
	if (l->left_ghost)
		add_ghost(l, facts);
	l->left_ghost = false;
}

void rl_ledger_opened(struct rl_ledger *l, uint64_t now_ns)
{
	l->ghost_count = 0;
	l->ghost_own = l->ghost_own && l->ghost_stays;
	l->ghost_token_count = l->ghost_stays ? l->ghost_token_count : 0;
	if (l->ghost_stays && l->ghost_gone_ns == UINT64_MAX)
		l->ghost_gone_ns = rl_time_add(now_ns, GHOST_LIFE_NS);
}

/* A release that was answered with an error, or "not there" while a late SET may still come, settles nothing.
 * Nor does one that deleted the key, while an earlier copy of it may still come and the value is used again.
 */
static bool may_linger(const struct rl_ledger *l, const struct rl_entry *entry, enum redlock_vote_code vote,
                       uint64_t now_ns)
{
	if (!entry->owed)
		return false;
	if (vote == REDLOCK_VOTE_YES)
		return entry->own_value && l->ghost_own && rl_ledger_has_ghost(l, now_ns);
	return vote == REDLOCK_VOTE_NO ? rl_ledger_has_ghost(l, now_ns) : true;
}

void rl_ledger_settle(struct rl_ledger *l, const struct rl_entry *entry, enum redlock_vote_code vote,
                      uint64_t now_ns)
{
	if (may_linger(l, entry, vote, now_ns))
		l->lingering++;
}
