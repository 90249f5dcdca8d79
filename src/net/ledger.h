/* SPDX-License-Identifier: MIT */
/*
 * The ledger of one node: requests that it still owes us, and requests that it may execute too late.
 *
 * Debts. A release must never overtake its own SET: on one connection order is given. When a connection
 * breaks, its unanswered releases become debts. The next connection first kills the old one at the server
 * (CLIENT KILL ID), so that no SET that still waits in the server's buffer can be executed later, then pays
 * the debts.
 *
 * Ghosts. A connection that broke before it had answered a SET, or another request that must not come late,
 * is a ghost until it was killed, or its server process is gone. Where that is not possible, an answer "not
 * there" proves nothing for a minute, and the key is counted as lingering.
 * docs/decisions/connections.md.
 *
 * A caller's own value may be used again. While a ghost with such a value stays, a SET of the value that says
 * YES is no vote, and is given back: the ghost may be the release of an older claim, which would delete the
 * key. The same goes for a random token whose yes was given back while its attempt goes on: no yes to that
 * token is a vote while a ghost of its release stays.
 *
 *     rl_ledger_lose(), rl_ledger_keep()    for each request that a broken connection leaves
 *     rl_ledger_break()                     after the last of them
 *     rl_ledger_opened()                    the next one is open, and has killed the `ghosts` that it can
 *     rl_ledger_settle()                    for each answer
 */
#ifndef RL_NET_LEDGER_H
#define RL_NET_LEDGER_H

#include "net/facts.h"
#include "net/outbox.h"

#define RL_GHOSTS 4
#define RL_GHOST_TOKENS 8

/* Ids begin at 1 in every server process, so that an id means nothing without the run_id. */
struct rl_ghost {
	int64_t client_id;
	char run_id[41];
};

struct rl_ledger {
	struct rl_outbox debts; /* releases for the next connection */
	unsigned lingering;
	struct rl_ghost ghosts[RL_GHOSTS];
	unsigned ghost_count;
	bool left_ghost;            /* the connection that is breaking is one */
	bool ghost_stays;           /* there was one that could not be killed */
	bool ghost_own;             /* one of them has a value of the caller: it may be used again */
	unsigned ghost_token_count; /* releases among them of random tokens whose attempts go on with these, */
	uint32_t ghost_tokens[RL_GHOST_TOKENS]; /* the hashes of the first of these tokens */
	uint64_t ghost_gone_ns; /* when it is presumed gone: some time after the server has answered again */
};

/* Keeps a release for the next connection, or counts its key as lingering. */
void rl_ledger_keep(struct rl_ledger *ledger, const struct rl_entry *entry, struct rl_slice bytes);

/* A request was sent, and what became of it is not known. */
void rl_ledger_lose(struct rl_ledger *ledger, const struct rl_entry *entry);

/* The connection that `facts` describes has ended. */
void rl_ledger_break(struct rl_ledger *ledger, const struct rl_facts *facts, uint64_t now_ns);

/* A ghost may still do something, from a connection that could not be ended: until some time after the server
 * answers. */
void rl_ledger_doubt(struct rl_ledger *ledger);
void rl_ledger_opened(struct rl_ledger *ledger, uint64_t now_ns);

static inline bool rl_ledger_has_ghost(const struct rl_ledger *ledger, uint64_t now_ns)
{
	return ledger->ghost_stays && now_ns < ledger->ghost_gone_ns;
}

/* Whether one of them is the release of a random token that its attempt goes on with, by the token's hash:
 * two tokens with one hash, and all tokens after many releases, cost a vote. */
bool rl_ledger_has_ghost_of(const struct rl_ledger *ledger, uint32_t token_hash, uint64_t now_ns);

/* Whether an older release may still come, and delete the key that a yes to this request relies on. `bytes`:
 * the request, NULL if it was parked. Without `ghost_stays` nothing is in doubt. */
bool rl_ledger_doubts_yes(const struct rl_ledger *ledger, const struct rl_entry *entry,
                          const struct rl_slice *bytes, uint64_t now_ns);

/* Counts the vote on a request that was owed. */
void rl_ledger_settle(struct rl_ledger *ledger, const struct rl_entry *entry, enum redlock_vote_code vote,
                      uint64_t now_ns);

#endif
