/* SPDX-License-Identifier: MIT */
#include "core/kinds.h"

#include <stddef.h>

#include "core/fence.h"
#include "core/finding.h"
#include "core/many.h"
#include "core/queue.h"
#include "core/round.h"
#include "core/share.h"
#include "core/slots.h"

/* From every node, also from those that said no or nothing. */
static void from_all(const struct rl_lock *l, struct rl_effects *fx)
{
	fx->send.nodes = l->claim.asked;
	fx->send.owed = l->claim.owed;
}

/* A failed client tries again, and the next waiter would find the same keys: this release wakes nobody. */
static void from_all_quietly(const struct rl_lock *l, struct rl_effects *fx)
{
	from_all(l, fx);
	fx->queue.quiet = true;
}

/* A key with a caller's own value may be that of another acquisition of the same caller, an earlier or a
 * later one: it is ours to delete only where it is known that this attempt made it. A node that has not said
 * so yet finds out by itself (net/submit.c). */
static void where_proven(const struct rl_lock *l, struct rl_effects *fx)
{
	fx->send.nodes = l->claim.owed;
	fx->send.owed = l->claim.owed & rl_round_voted(l, REDLOCK_VOTE_YES);
}

/* The operations of a lock whose key has one token as its value. */
#define TOKEN_HOLDS                                                                                          \
	[REDLOCK_OP_EXTEND] = {RL_OP_EXTEND, rl_round_weigh_extend, .refused = REDLOCK_E_LOST},                  \
	[REDLOCK_OP_RELEASE] = {RL_OP_RELEASE, rl_round_weigh_release, .refused = REDLOCK_E_GONE}
#define TOKEN_ASKS                                                                                           \
	[REDLOCK_OP_ACQUIRE] = {RL_OP_ACQUIRE, rl_round_weigh_claim, REDLOCK_E_BUSY, .keep = rl_queue_learn},    \
	TOKEN_HOLDS

/* The queries of kinds with fresh tokens: their callers want to see every node. */
#define TOKEN_LOOKS                                                                                          \
	[REDLOCK_OP_QUERY] = {RL_OP_QUERY, rl_round_weigh_check, REDLOCK_E_GONE, true, rl_finding_keep},         \
	[REDLOCK_OP_PROBE] = {RL_OP_PROBE, rl_round_weigh_check, REDLOCK_E_GONE, true, NULL}

#define MANY_HOLDS                                                                                           \
	[REDLOCK_OP_EXTEND] = {RL_OP_EXTEND_ALL, rl_round_weigh_extend, REDLOCK_E_LOST, .keep = rl_many_keep},   \
	[REDLOCK_OP_RELEASE] = {RL_OP_RELEASE_ALL, rl_round_weigh_release, REDLOCK_E_GONE}

#define SETNX_ASKS                                                                                           \
	[REDLOCK_OP_ACQUIRE] = {RL_OP_SETNX, rl_round_weigh_claim, REDLOCK_E_BUSY},                              \
	[REDLOCK_OP_EXTEND] = {RL_OP_SETNX_EXTEND, rl_round_weigh_extend, REDLOCK_E_LOST},                       \
	[REDLOCK_OP_RELEASE] = {RL_OP_SETNX_RELEASE, rl_round_weigh_release, REDLOCK_E_GONE}

/* A release finds the key in either form. */
#define SHARE_ENDS                                                                                           \
	[REDLOCK_OP_RELEASE] = {RL_OP_SHARE_RELEASE, rl_round_weigh_release, REDLOCK_E_GONE},                    \
	[REDLOCK_OP_QUERY] = {RL_OP_SHARE_QUERY, rl_round_weigh_check, REDLOCK_E_GONE, true, rl_finding_keep}
#define SHARE_ASKS                                                                                           \
	[REDLOCK_OP_ACQUIRE] = {RL_OP_SHARE, rl_share_weigh, REDLOCK_E_BUSY, .keep = rl_share_keep},             \
	[REDLOCK_OP_EXTEND] = {RL_OP_SHARE_EXTEND, rl_round_weigh_extend, REDLOCK_E_LOST}, SHARE_ENDS

#define SHARED_BY_TURNS                                                                                      \
	.asks = {SHARE_ASKS, [REDLOCK_OP_PROBE] = {RL_OP_PROBE, rl_round_weigh_check, REDLOCK_E_GONE, true,      \
	                                           NULL}},                                                       \
	.signs = true, .tries_again = true, .contends = true, .shares = true, .confirm = rl_share_confirm,       \
	.give_back = from_all_quietly

const struct rl_policy rl_kinds[RL_KIND_COUNT] = {
    [RL_KIND_EXCLUSIVE] =
        {
            .asks = {TOKEN_ASKS, TOKEN_LOOKS},
            .signs = true,
            .tries_again = true,
            .contends = true,
            .polls = true,
            .heirs = true,
            .many = &rl_kinds[RL_KIND_MANY],
            .give_back = from_all,
        },
    [RL_KIND_FENCED] =
        {
            .asks = {[REDLOCK_OP_ACQUIRE] = {RL_OP_ACQUIRE, rl_fence_weigh, REDLOCK_E_BUSY,
                                             .keep = rl_fence_keep, .draws = true},
                     TOKEN_HOLDS,
                     TOKEN_LOOKS},
            .signs = true,
            .tries_again = true,
            .contends = true,
            .polls = true,
            .draws = true,
            .many = &rl_kinds[RL_KIND_MANY_FENCED],
            .confirm = rl_fence_confirm,
            .give_back = from_all,
        },
    /* A query with a token asks whether the token holds; a query without one wants to see every node. */
    [RL_KIND_OWN_VALUE] =
        {
            .asks =
                {
                    TOKEN_ASKS,
                    [REDLOCK_OP_QUERY] = {RL_OP_QUERY, rl_round_weigh_check, REDLOCK_E_GONE, false,
                                          rl_finding_keep},
                },
            .asks[RL_ASK_ATTACH] = {RL_OP_EXTEND, rl_round_weigh_check, .refused = REDLOCK_E_GONE},
            .give_back = where_proven,
        },
    /* A waiter for one name must not keep another one: a release wakes it, and never hands it the lock. */
    [RL_KIND_MANY] =
        {
            .asks = {[REDLOCK_OP_ACQUIRE] = {RL_OP_CLAIM_ALL, rl_round_weigh_claim, REDLOCK_E_BUSY,
                                             .keep = rl_many_keep},
                     MANY_HOLDS},
            .signs = true,
            .tries_again = true,
            .contends = true,
            .several = true,
            .give_back = from_all_quietly,
        },
    [RL_KIND_MANY_FENCED] =
        {
            .asks = {[REDLOCK_OP_ACQUIRE] = {RL_OP_CLAIM_ALL, rl_fence_weigh, REDLOCK_E_BUSY,
                                             .keep = rl_fence_keep, .draws = true},
                     MANY_HOLDS},
            .signs = true,
            .tries_again = true,
            .contends = true,
            .several = true,
            .draws = true,
            .confirm = rl_fence_confirm,
            .give_back = from_all_quietly,
        },
    /* Waiters ask again after random pauses: holders of the old protocol wake nobody. */
    [RL_KIND_SETNX] =
        {
            .asks = {SETNX_ASKS,
                     [REDLOCK_OP_QUERY] = {RL_OP_SETNX_QUERY, rl_round_weigh_check, REDLOCK_E_GONE,
                                           true, rl_finding_keep},
                     [REDLOCK_OP_PROBE] = {RL_OP_PROBE, rl_round_weigh_check, REDLOCK_E_GONE, true, NULL}},
            .signs = true,
            .tries_again = true,
            .renews_early = true,
            .give_back = from_all,
        },
    [RL_KIND_SETNX_OWN] =
        {
            .asks = {SETNX_ASKS, [REDLOCK_OP_QUERY] = {RL_OP_SETNX_QUERY,
                                                       rl_round_weigh_check, REDLOCK_E_GONE, false,
                                                       rl_finding_keep}},
            .asks[RL_ASK_ATTACH] = {RL_OP_SETNX_EXTEND, rl_round_weigh_check, .refused = REDLOCK_E_GONE},
            .renews_early = true,
            .give_back = where_proven,
        },
    /* A client recognises a token in a message by its first digits, which these tokens lack: they are not
     * handed over. */
    [RL_KIND_NUMBER] =
        {
            .asks = {TOKEN_ASKS, TOKEN_LOOKS},
            .signs = true,
            .tries_again = true,
            .contends = true,
            .polls = true,
            .decimal = true,
            .give_back = from_all,
        },
    /* A held slot is queried and extended as a plain lock of the slot's name (operate.c). */
    [RL_KIND_SLOTS] =
        {
            .asks = {[REDLOCK_OP_ACQUIRE] = {RL_OP_SLOT, rl_slots_weigh, REDLOCK_E_BUSY,
                                             .keep = rl_slots_keep},
                     [REDLOCK_OP_EXTEND] = {RL_OP_EXTEND, rl_round_weigh_extend, .refused = REDLOCK_E_LOST},
                     [REDLOCK_OP_RELEASE] =
                         {RL_OP_SLOT_RELEASE, rl_round_weigh_release, .refused = REDLOCK_E_GONE},
                     TOKEN_LOOKS},
            .signs = true,
            .tries_again = true,
            .contends = true,
            .slots = true,
            .confirm = rl_slots_confirm,
            .give_back = from_all_quietly,
        },
    /* An acquire would not know which slot the value had before. */
    [RL_KIND_SLOTS_OWN] =
        {
            .asks = {[REDLOCK_OP_EXTEND] = {RL_OP_EXTEND, rl_round_weigh_extend, .refused = REDLOCK_E_LOST},
                     [REDLOCK_OP_RELEASE] = {RL_OP_SLOT_RELEASE,
                                             rl_round_weigh_release, .refused = REDLOCK_E_GONE},
                     [REDLOCK_OP_QUERY] = {RL_OP_QUERY, rl_round_weigh_check, REDLOCK_E_GONE, false,
                                           rl_finding_keep}},
            .asks[RL_ASK_ATTACH] = {RL_OP_EXTEND, rl_round_weigh_check, .refused = REDLOCK_E_GONE},
            .slots = true,
            .give_back = where_proven,
        },
    [RL_KIND_SHARED] = {SHARED_BY_TURNS, .alone = &rl_kinds[RL_KIND_ALONE],
                        .asks[RL_ASK_UPGRADE] = {RL_OP_UPGRADE, rl_round_weigh_claim, REDLOCK_E_BUSY,
                                                 .keep = rl_share_keep_turn}},
    [RL_KIND_SHARED_FENCED] = {SHARED_BY_TURNS, .alone = &rl_kinds[RL_KIND_ALONE], .draws = true,
                               .asks[RL_ASK_UPGRADE] = {RL_OP_UPGRADE, rl_fence_weigh, REDLOCK_E_BUSY,
                                                        .keep = rl_share_keep_turn, .draws = true}},
    [RL_KIND_SHARED_OWN] =
        {
            .asks = {SHARE_ASKS},
            .asks[RL_ASK_ATTACH] = {RL_OP_SHARE_EXTEND, rl_round_weigh_check, .refused = REDLOCK_E_GONE},
            .shares = true,
            .confirm = rl_share_confirm,
            .give_back = where_proven,
        },
    /* A renewal sent before the upgrade may still arrive after it: an extend of such a node is doubted, too.
     * A second upgrade keeps the number. One that a quorum refuses is lost, as nobody else may be there. */
    [RL_KIND_ALONE] =
        {
            .asks = {[REDLOCK_OP_EXTEND] = {RL_OP_UPGRADE, rl_round_weigh_extend, REDLOCK_E_LOST},
                     SHARE_ENDS},
            .signs = true,
            .contends = true,
            .alone = &rl_kinds[RL_KIND_ALONE],
            .asks[RL_ASK_UPGRADE] = {RL_OP_UPGRADE, rl_round_weigh_extend, REDLOCK_E_LOST},
            .give_back = from_all,
        },
};
