/* SPDX-License-Identifier: MIT */
#include "proto/ops.h"

#include "proto/ops_rows.h"

const struct rl_op rl_ops[RL_OP_COUNT] =
    {
        [RL_OP_NONE] = {.script = RL_SCRIPT_COUNT},
        [RL_OP_ACQUIRE] =
            {
                .forms = FORM(PLAIN) | RL_FORMS_GUARD,
                .words = {[RL_FORM_PLAIN] = WORDS(WORD("SET"), NAME, TOKEN, WORD("NX"), WORD("PX"), TTL),
                          GUARD_SCRIPT(CLAIM, WORD("2"), NAME, SET, TOKEN, TTL, PASS, TIMED)},
                .script = RL_SCRIPT_COUNT,
                .guard_script = RL_SCRIPT_CLAIM,
                .outcomes = OUTCOMES({YES, OK}, {NO, NIL}),
                .guard_outcomes = ADMITTED("iiiis", {.vote = REDLOCK_VOTE_PENDING}),
                .claims = true,
                .enters = RL_OP_ENTER,
                .undo = RL_OP_RELEASE,
                .ghost = RL_GHOST_ALWAYS, /* it would come back when it was released */
                .rights = "set",
            },
        [RL_OP_EXTEND] =
            {
                .forms = SCRIPTED | RL_FORMS_GUARD,
                .words = {SCRIPT(EXTEND, NAME, TOKEN, TTL),
                          GUARD_SCRIPT(GUARDED_EXTEND, WORD("2"), NAME, SET, TOKEN, TTL, PASS, TIMED)},
                .script = RL_SCRIPT_EXTEND,
                .guard_script = RL_SCRIPT_GUARDED_EXTEND,
                .change = RL_CHANGE_LENGTHEN,
                .parked_as = RL_FORM_SHA,
                .outcomes = COMPARED,
                .guard_outcomes = ADMITTED("iiiis", {.vote = REDLOCK_VOTE_PENDING}),
                .again = true,
                .rights = "get pttl pexpire",
                .watch_rights = "watch multi exec getrange pttl pexpire",
            },
        [RL_OP_RELEASE] =
            {
                .forms = RL_FORMS_QUEUE | DELETES,
                .words = {QUEUE_SCRIPT(VACATE, LOOKS, TOKEN), DELETE},
                .script = RL_SCRIPT_RELEASE,
                .queue_script = RL_SCRIPT_VACATE,
                .change = RL_CHANGE_DELETE,
                .parked_as = RL_FORM_SHA,
                .outcomes = RELEASED,
                .again = true,
                .gives_back = true,
                .wakes = RL_OP_LEAVE,
                .ghost = RL_GHOST_OWN, /* it would delete the key of the next acquisition */
                .rights = "get del",
                .watch_rights = "watch multi exec getrange del",
            },
        [RL_OP_QUERY] =
            {
                .forms = SCRIPTED,
                .words = {SCRIPT(INSPECT, NAME)},
                .script = RL_SCRIPT_INSPECT,
                .change = RL_CHANGE_LOOK,
                .parked_as = RL_FORM_SHA,
                /* type, PTTL, size of the value, its first bytes; who knows the token says whose key it is */
                .outcomes = OUTCOMES({YES, ARRAY("siis")}),
                .again = true,
                .rights = "type pttl strlen getrange hscan",
                .watch_rights = "multi exec type pttl strlen getrange",
            },
        /* A key that nobody has: nothing stands in the way of a SET. */
        [RL_OP_PROBE] =
            {
                .forms = FORM(PLAIN),
                .words = {[RL_FORM_PLAIN] = WORDS(WORD("SET"), NAME, TOKEN, WORD("XX"), WORD("PX"), TTL)},
                .script = RL_SCRIPT_COUNT,
                .outcomes = OUTCOMES({YES, NIL}),
                .rights = "set",
            },
        /*
         * The queue is a string: an entry for each who waits, in order of arrival, each ended by `;`.
         *
         *     1w0123456789abcdef.7      1795342681857;
         *
         * Version, kind (w: wake me), place: the client, whose channel is redlock:wake:0123456789abcdef, and
         * its slot, which is the message; if it was woken, until when (this server's time) it goes first.
         * Without that an entry has 27 bytes, and only the first one has it: so places are counted by
         * dividing. Of other versions and kinds each begins so as well: the first one is dropped, and whose
         * it is is woken.
         */
        /* An acquire that waits for its turn. By the script's digest only where the connection has run it. */
        [RL_OP_ENTER] =
            {
                .forms = RL_FORMS_QUEUE | RL_FORMS_GUARD,
                .words = {QUEUE_SCRIPT(ENTER, HANDS, TOKEN, TTL, PLACE, TERMS),
                          GUARD_SCRIPT(GUARDED_ENTER, WORD("5"), NAME, QUEUE, OFFERS, SET, FENCE, TOKEN, TTL,
                                       PLACE, TERMS, PASS, FENCED, TIMED)},
                .script = RL_SCRIPT_COUNT,
                .queue_script = RL_SCRIPT_ENTER,
                .guard_script = RL_SCRIPT_GUARDED_ENTER,
                .parked_as = RL_FORM_QUEUE_SHA,
                /* verdict, how many wait, PTTL of the key, our place (1: the first; 0: none), our token,
                 * value of the key, its first bytes. A request that was not executed has no numbers; an
                 * unknown command is BARRED, not a "no". */
                .outcomes = OUTCOMES({YES, ARRAY_FROM(1, 1, "iiiiss")}, {NO, ARRAY_FROM(0, 0, "iiiiss")},
                                     {NO, ERROR("NOSCRIPT")}, {BARRED, ERROR("ERR unknown command")},
                                     {BARRED, ERROR("ERR Unknown")}),
                /* the same, but a "yes" has number and time where a "no" has PTTL and place */
                .guard_outcomes = COUNTED("iiiiss"),
                .plainly = RL_OP_ACQUIRE,
                .quotes = true,
                .claims = true,
                .undo = RL_OP_RELEASE,
                .ghost = RL_GHOST_ALWAYS,
                .rights =
                    "set del hmget " QUEUE_RIGHTS " subscribe unsubscribe", /* to hear when it is woken */
            },
        /* A release where somebody waits, or may. */
        [RL_OP_LEAVE] =
            {
                .forms = RL_FORMS_QUEUE | DELETES,
                .words = {QUEUE_SCRIPT(LEAVE, HANDS, TOKEN, PLACE, PATIENCE, BARS), DELETE},
                .script = RL_SCRIPT_RELEASE,
                .queue_script = RL_SCRIPT_LEAVE,
                .change = RL_CHANGE_DELETE,
                .parked_as = RL_FORM_QUEUE_SHA,
                .outcomes = RELEASED,
                .again = true,
                .gives_back = true,
                .ghost = RL_GHOST_OWN,
                .rights = "set get del " QUEUE_RIGHTS,
                .watch_rights = "watch multi exec getrange del",
            },
        /* A release that gives the key to the next one, who is told; where that one cannot be told, it is a
         * release. Behind it comes LEAVE if the queue has others then. */
        [RL_OP_HAND] =
            {
                .forms = RL_FORMS_QUEUE | DELETES,
                .words = {QUEUE_SCRIPT(HAND, HANDS, TOKEN, NEXT), DELETE},
                .script = RL_SCRIPT_RELEASE,
                .queue_script = RL_SCRIPT_HAND,
                .change = RL_CHANGE_DELETE,
                .parked_as = RL_FORM_QUEUE_SHA,
                .outcomes = RELEASED,
                .again = true,
                .gives_back = true,
                .wakes = RL_OP_LEAVE,
                .ghost = RL_GHOST_OWN,
                .rights = "set get del " QUEUE_RIGHTS,
                .watch_rights = "watch multi exec getrange del",
            },
        /* An acquire that draws a number: without a record there is none. */
        [RL_OP_CLAIM_FENCED] =
            {
                .forms = RL_FORMS_GUARD,
                .words = {GUARD_SCRIPT(CLAIM_FENCED, WORD("3"), NAME, SET, FENCE, TOKEN, TTL, PASS, TIMED)},
                .script = RL_SCRIPT_COUNT,
                .guard_script = RL_SCRIPT_CLAIM_FENCED,
                .parked_as = RL_FORM_GUARD_TEXT,
                .outcomes = COUNTED("iiiis"),
                .guard_outcomes = COUNTED("iiiis"),
                .claims = true,
                .enters = RL_OP_ENTER,
                .undo = RL_OP_RELEASE,
                .ghost = RL_GHOST_ALWAYS,
                .rights = "hget hmget hset incrby set del pttl time",
            },
        /* The counters go on from this number, if all keys are still there for the token (core/fence.h). It
         * is asked of nodes that gave one: without a record there is none. */
        [RL_OP_RAISE] =
            {
                .forms = RL_FORMS_GUARD,
                .words = {GUARD_SCRIPT(RAISE, KEYS, NAMES, FENCES, SET, TOKEN, NUMBER, PASS)},
                .script = RL_SCRIPT_COUNT,
                .guard_script = RL_SCRIPT_RAISE,
                .parked_as = RL_FORM_GUARD_TEXT,
                .outcomes = COUNTED("iiiis"),
                .guard_outcomes = COUNTED("iiiis"),
                .again = true,
                .quotes = true,
                .several = true,
                .rights = "hmget hset get set",
            },
        /*
         * The record of a node set is a hash without expiry on each node, redlock:set: which process may vote
         * (net/set.h, docs/decisions/guard.md).
         *
         * MEET asks for the node's identity, and whether it may vote: verdict, how long its quarantine lasts,
         * time, what differs; the question's id, and words of the record.
         */
        [RL_OP_MEET] =
            {
                .forms = FORM(TEXT),
                .words = {[RL_FORM_TEXT] = WORDS(WORD("EVAL"), WORD(RL_LUA_MEET_TEXT), WORD("1"), SET,
                                                 RECORD(ID), RECORD(MEMBERS), RECORD(QUORUM), RECORD(TTL))},
                .script = RL_SCRIPT_MEET,
                .parked_as = RL_FORM_TEXT,
                .outcomes = OUTCOMES({YES, ARRAY_FROM(0, INT32_MAX, "iiiiss")}),
                .rights = "hmget hset info time",
            },
        /* The node's quarantine is over: it may vote again. */
        [RL_OP_ADMIT] =
            {
                .forms = FORM(TEXT),
                .words = {[RL_FORM_TEXT] =
                              WORDS(WORD("EVAL"), WORD(RL_LUA_ADMIT_TEXT), WORD("1"), SET, RECORD(ID),
                                    RECORD(SET), RECORD(STEP), RECORD(CONFIG), RECORD(TTL), RECORD(FLOOR),
                                    RECORD(MEMBERS), RECORD(QUORUM), RECORD(MEMBER))},
                .script = RL_SCRIPT_ADMIT,
                .parked_as = RL_FORM_TEXT,
                .outcomes = OUTCOMES({YES, ARRAY_FROM(1, 1, "iiiis")}, {NO, ARRAY_FROM(0, 0, "iiiis")}),
                .rights = "hmget hset hdel info time",
            },
        /*
         * Several names, all or none. An answer is: verdict, which name it is about (1: the first), PTTL of
         * that one, time, token. There is no form without scripts: SET of one name after the other would
         * hold some while others are refused.
         */
        [RL_OP_CLAIM_ALL] =
            {
                .forms = FORM(SHA) | FORM(TEXT) | RL_FORMS_GUARD,
                .words = {MANY_SCRIPT(CLAIM_ALL, NAMES, TOKEN, TTL),
                          GUARD_SCRIPT(GUARDED_CLAIM_ALL, KEYS, NAMES, SET, TOKEN, TTL, PASS, TIMED)},
                .script = RL_SCRIPT_CLAIM_ALL,
                .guard_script = RL_SCRIPT_GUARDED_CLAIM_ALL,
                .parked_as = RL_FORM_SHA,
                .outcomes = ALL_OR_NONE,
                .guard_outcomes = ADMITTED("iiiis", {.vote = REDLOCK_VOTE_PENDING}),
                .quotes = true,
                .several = true,
                .claims = true,
                .enters = RL_OP_ENTER_ALL,
                .undo = RL_OP_RELEASE_ALL,
                .ghost = RL_GHOST_ALWAYS,
                .rights = "pttl set del",
            },
        /* As CLAIM_ALL, with a number, which is the next one for each of the names. */
        [RL_OP_CLAIM_ALL_FENCED] =
            {
                .forms = RL_FORMS_GUARD,
                .words = {GUARD_SCRIPT(CLAIM_ALL_FENCED, KEYS, NAMES, FENCES, SET, TOKEN, TTL, PASS, TIMED)},
                .script = RL_SCRIPT_COUNT,
                .guard_script = RL_SCRIPT_CLAIM_ALL_FENCED,
                .parked_as = RL_FORM_GUARD_TEXT,
                .outcomes = COUNTED("iiiis"),
                .guard_outcomes = COUNTED("iiiis"),
                .quotes = true,
                .several = true,
                .claims = true,
                .enters = RL_OP_ENTER_ALL,
                .undo = RL_OP_RELEASE_ALL,
                .ghost = RL_GHOST_ALWAYS,
                .rights = "hmget hset mget pttl set del time",
            },
        /* As CLAIM_ALL, for a waiter in the queue of one of the names. An answer is that of ENTER, but for
         * the verdict: 1, or how far below -1 the held name is; -1: the node may not vote. If the held name
         * is not that of the queue, our place is 0. A "yes" has a number where a "no" has PTTL. */
        [RL_OP_ENTER_ALL] =
            {
                .forms = RL_FORMS_QUEUE | RL_FORMS_GUARD,
                .words = {QUEUE_SCRIPT(ENTER_ALL, KEYS, NAME, QUEUE, OFFERS, NAMES, TOKEN, TTL, PLACE,
                                       PATIENCE),
                          GUARD_SCRIPT(GUARDED_ENTER_ALL, KEYS, NAME, QUEUE, OFFERS, NAMES, FENCES,
                                       SET, TOKEN, TTL, PASS, TIMED, PLACE, PATIENCE, FENCED)},
                .script = RL_SCRIPT_COUNT,
                .queue_script = RL_SCRIPT_ENTER_ALL,
                .guard_script = RL_SCRIPT_GUARDED_ENTER_ALL,
                .parked_as = RL_FORM_QUEUE_SHA,
                .outcomes = LINED_UP({BARRED, ERROR("ERR unknown command")}, {BARRED, ERROR("ERR Unknown")},
                                     {NO, ERROR("NOSCRIPT")}),
                .guard_outcomes = LINED_UP({QUARANTINE, ARRAY_FROM(-1, -1, "iiiis")},
                                           {UNCOUNTED, ARRAY_FROM(2, 2, "iiiis")}),
                .plainly = RL_OP_CLAIM_ALL,
                .quotes = true,
                .several = true,
                .claims = true,
                .undo = RL_OP_RELEASE_ALL,
                .ghost = RL_GHOST_ALWAYS,
                .rights = "set del type hmget " QUEUE_RIGHTS " subscribe unsubscribe",
            },
        [RL_OP_EXTEND_ALL] =
            {
                .forms = FORM(SHA) | FORM(TEXT) | RL_FORMS_GUARD,
                .words = {MANY_SCRIPT(EXTEND_ALL, NAMES, TOKEN, TTL),
                          GUARD_SCRIPT(GUARDED_EXTEND_ALL, KEYS, NAMES, SET, TOKEN, TTL, PASS, TIMED)},
                .script = RL_SCRIPT_EXTEND_ALL,
                .guard_script = RL_SCRIPT_GUARDED_EXTEND_ALL,
                .change = RL_CHANGE_LENGTHEN,
                .parked_as = RL_FORM_SHA,
                .outcomes = ALL_OR_NONE,
                .guard_outcomes = ADMITTED("iiiis", {.vote = REDLOCK_VOTE_PENDING}),
                .again = true,
                .quotes = true,
                .several = true,
                .rights = "get pttl pexpire",
            },
        /* Which also wakes who waits for one of them, where queues are within reach. */
        [RL_OP_RELEASE_ALL] =
            {
                .forms = RL_FORMS_QUEUE | FORM(SHA) | FORM(TEXT),
                .words = {QUEUE_SCRIPT(RELEASE_ALL, KEYS, NAMES, QUEUES, TOKEN, WORD("2"), PLACE,
                                       PATIENCE, QUIET),
                          MANY_SCRIPT(RELEASE_ALL, NAMES, TOKEN, WORD("1"))},
                .script = RL_SCRIPT_RELEASE_ALL,
                .queue_script = RL_SCRIPT_RELEASE_ALL,
                .change = RL_CHANGE_DELETE,
                .parked_as = RL_FORM_SHA,
                .outcomes = OUTCOMES({YES, ARRAY_FROM(1, 2, "is")}, {NO, ARRAY_FROM(-1, 0, "is")}),
                .again = true,
                .quotes = true,
                .scripted = true,
                .several = true,
                .gives_back = true,
                .ghost = RL_GHOST_OWN,
                .rights = "get set del type pttl pexpire time publish",
            },
        /*
         * A lock of the old SETNX protocol has a time as its value, which others compare and write. A key
         * beside it, which lives as long, says whose it is: the time that was written, when it was claimed
         * (server's ms; 0: it was extended since), and the token (docs/decisions/setnx.md).
         */
        [RL_OP_SETNX] =
            {
                SETNX_SCRIPT(SETNX, TOKEN, TTL),
                .outcomes = QUOTED,
                .quotes = true,
                .claims = true,
                .undo = RL_OP_SETNX_RELEASE,
                .ghost = RL_GHOST_ALWAYS,
                .rights = "get time pttl set del",
            },
        [RL_OP_SETNX_EXTEND] =
            {
                SETNX_SCRIPT(SETNX_EXTEND, TOKEN, TTL),
                .change = RL_CHANGE_LENGTHEN,
                .outcomes = QUOTED,
                .again = true,
                .quotes = true,
                .rights = "get time pttl set del",
            },
        [RL_OP_SETNX_RELEASE] =
            {
                SETNX_SCRIPT(SETNX_RELEASE, TOKEN),
                .change = RL_CHANGE_DELETE,
                .outcomes = QUOTED,
                .again = true,
                .gives_back = true,
                .quotes = true,
                .ghost = RL_GHOST_OWN,
                .rights = "get time pttl del",
            },
        /* type, PTTL, size of the value, its first bytes, whether it is ours */
        [RL_OP_SETNX_QUERY] =
            {
                SETNX_SCRIPT(SETNX_QUERY, TOKEN),
                .change = RL_CHANGE_LOOK,
                .outcomes = OUTCOMES({YES, ARRAY("siisi")}),
                .again = true,
                .rights = "type get time pttl zcount zrevrangebyscore",
            },
        /*
         * One of k slots, each of which is an exclusive name: the first one is NAME. An answer is: verdict,
         * how many wait, the slot, 0, token. A number of slots that is not the caller's is told apart from
         * "no". There is no form without scripts: which slots are taken is looked at in the same step.
         */
        [RL_OP_SLOT] =
            {
                .forms = FORM(SHA) | FORM(TEXT),
                .words = {MANY_SCRIPT(SLOT, NAME, COUNT, SLOTS, TOKEN, TTL, MOST, FIRST)},
                .script = RL_SCRIPT_SLOT,
                .parked_as = RL_FORM_SHA,
                .outcomes = ONE_OF_K("iiiis"),
                .quotes = true,
                .several = true,
                .claims = true,
                .enters = RL_OP_SLOT_ENTER,
                .undo = RL_OP_SLOT_RELEASE,
                .ghost = RL_GHOST_ALWAYS,
                .rights = "get mget pttl set",
            },
        /* As SLOT, for a waiter in the queue of NAME, with the others. A "no" has the PTTL of the slot that
         * ends first and our place where a "yes" has the slot, and that slot's value. */
        [RL_OP_SLOT_ENTER] =
            {
                .forms = FORM(SHA) | FORM(TEXT),
                .words = {MANY_SCRIPT(SLOT_ENTER, NAME, QUEUE, OFFERS, COUNT, SLOTS, TOKEN, TTL, MOST, FIRST,
                                      PLACE, PATIENCE)},
                .script = RL_SCRIPT_SLOT_ENTER,
                .parked_as = RL_FORM_SHA,
                .outcomes = ONE_OF_K("iiiiss"),
                .quotes = true,
                .several = true,
                .claims = true,
                .undo = RL_OP_SLOT_RELEASE,
                .ghost = RL_GHOST_ALWAYS,
                .rights = "set del " QUEUE_RIGHTS " subscribe unsubscribe",
            },
        /* Releases each slot that has the token: one, unless answers were lost or votes split; or all but the
         * one that is held. Then it wakes a waiter. */
        [RL_OP_SLOT_RELEASE] =
            {
                .forms = FORM(SHA) | FORM(TEXT),
                .words = {MANY_SCRIPT(SLOT_RELEASE, NAME, QUEUE, OFFERS, SLOTS, TOKEN, PLACE, PATIENCE, QUIET,
                                      KEPT)},
                .script = RL_SCRIPT_SLOT_RELEASE,
                .change = RL_CHANGE_DELETE,
                .parked_as = RL_FORM_SHA,
                .outcomes = RELEASED,
                .again = true,
                .several = true,
                .gives_back = true,
                .ghost = RL_GHOST_OWN,
                .rights = "set del mget pttl pexpire time publish hdel",
            },
        /*
         * A shared lock is a sorted set: the tokens, each with the time (server's ms) at which it ends. The
         * key ends with the last of them. A string is an exclusive holder's, also of one of them that was
         * upgraded (docs/decisions/shared.md).
         *
         * Verdict (-1: no key keeps us out, but an exclusive waiter goes first), how many wait (-1: it was
         * not looked at), PTTL of the key, our place, our token, value of the key, if it is a string.
         */
        [RL_OP_SHARE] =
            {
                .forms = SHARED_FORMS | RL_FORMS_GUARD,
                .words = {QUEUE_SCRIPT(SHARE, HANDS, TOKEN, TTL, PLACE, TERMS),
                          SCRIPT(SHARE, NAME, TOKEN, TTL),
                          GUARD_SCRIPT(GUARDED_SHARE, GUARDED_HANDS, TOKEN, TTL, PLACE, TERMS, PASS)},
                .script = RL_SCRIPT_SHARE,
                .queue_script = RL_SCRIPT_SHARE,
                .guard_script = RL_SCRIPT_GUARDED_SHARE,
                .parked_as = RL_FORM_SHA,
                .outcomes = OUTCOMES({YES, ARRAY_FROM(1, 1, "iiiis")}, {NO, ARRAY_FROM(-1, 0, "iiiiss")}),
                .guard_outcomes =
                    OUTCOMES({YES, ARRAY_FROM(1, 1, "iiiis")}, {NO, ARRAY_FROM(-1, 0, "iiiiss")}, OUT_OF_SET),
                .quotes = true,
                .scripted = true,
                .claims = true,
                .undo = RL_OP_SHARE_RELEASE,
                .ghost = RL_GHOST_ALWAYS,
                .rights = "set del type zadd zrem zscore zrevrange zremrangebyscore pexpireat " QUEUE_RIGHTS
                          " subscribe unsubscribe",
            },
        /* Turns a string with our token back into a set, and wakes waiting readers. If it came late, it would
         * do so with a key that was upgraded since. */
        [RL_OP_SHARE_EXTEND] =
            {
                .forms = SHARED_FORMS | RL_FORMS_GUARD,
                .words = {QUEUE_SCRIPT(SHARE_EXTEND, HANDS, TOKEN, TTL, PATIENCE, TURNS),
                          SCRIPT(SHARE_EXTEND, NAME, TOKEN, TTL, TURNS),
                          GUARD_SCRIPT(GUARDED_SHARE_EXTEND, GUARDED_HANDS, TOKEN, TTL, PATIENCE, TURNS,
                                       PASS)},
                .script = RL_SCRIPT_SHARE_EXTEND,
                .queue_script = RL_SCRIPT_SHARE_EXTEND,
                .guard_script = RL_SCRIPT_GUARDED_SHARE_EXTEND,
                .change = RL_CHANGE_LENGTHEN,
                .parked_as = RL_FORM_SHA,
                .outcomes = QUOTED,
                .guard_outcomes =
                    OUTCOMES({YES, ARRAY_FROM(1, 1, "iiiis")}, {NO, ARRAY_FROM(0, 0, "iiiis")}, OUT_OF_SET),
                .again = true,
                .quotes = true,
                .scripted = true,
                .ghost = RL_GHOST_ALWAYS,
                .rights = "get set del zadd zscore zrevrange zremrangebyscore pexpireat " QUEUE_RIGHTS,
            },
        /* Releases a key of either form. The last reader wakes the next waiter. */
        [RL_OP_SHARE_RELEASE] =
            {
                .forms = SHARED_FORMS,
                .words = {QUEUE_SCRIPT(SHARE_RELEASE, HANDS, TOKEN, PLACE, PATIENCE, QUIET),
                          SCRIPT(SHARE_RELEASE, NAME, TOKEN)},
                .script = RL_SCRIPT_SHARE_RELEASE,
                .queue_script = RL_SCRIPT_SHARE_RELEASE,
                .change = RL_CHANGE_DELETE,
                .parked_as = RL_FORM_SHA,
                .outcomes = OUTCOMES({YES, ARRAY_FROM(1, 2, "is")}, {NO, ARRAY_FROM(-1, 0, "is")}),
                .again = true,
                .quotes = true,
                .scripted = true,
                .gives_back = true,
                .ghost = RL_GHOST_OWN,
                .rights = "get set del type zrem zrevrange zremrangebyscore pexpireat " QUEUE_RIGHTS,
            },
        /* type, PTTL, size of the value or how many share it, its first bytes, whether it is ours */
        [RL_OP_SHARE_QUERY] =
            {
                .forms = FORM(SHA) | FORM(TEXT),
                .words = {SCRIPT(SHARE_QUERY, NAME, TOKEN)},
                .script = RL_SCRIPT_SHARE_QUERY,
                .change = RL_CHANGE_LOOK,
                .parked_as = RL_FORM_SHA,
                .outcomes = OUTCOMES({YES, ARRAY("siisi")}),
                .again = true,
                .scripted = true,
                .rights = "type get pttl time zcount zrevrangebyscore zscore",
            },
        /* The set becomes a string, if nobody else is in it: 0 if somebody is, -1 if we are not. */
        [RL_OP_UPGRADE] =
            {
                .forms = FORM(SHA) | FORM(TEXT) | RL_FORMS_GUARD,
                .words = {SCRIPT(UPGRADE, NAME, TOKEN, TTL),
                          GUARD_SCRIPT(GUARDED_UPGRADE, WORD("2"), NAME, SET, TOKEN, TTL, PASS)},
                .script = RL_SCRIPT_UPGRADE,
                .guard_script = RL_SCRIPT_GUARDED_UPGRADE,
                .change = RL_CHANGE_LENGTHEN,
                .parked_as = RL_FORM_SHA,
                .outcomes = OUTCOMES({YES, ARRAY_FROM(1, 1, "is")}, {NO, ARRAY_FROM(-1, 0, "is")}),
                .guard_outcomes =
                    OUTCOMES({YES, ARRAY_FROM(1, 1, "iiiis")}, {NO, ARRAY_FROM(-1, 0, "iiiis")}, OUT_OF_SET),
                .again = true,
                .quotes = true,
                .scripted = true,
                .doubts = true,
                .rights = "get set pttl pexpire time zscore zcount",
            },
        /* As UPGRADE, with a number. */
        [RL_OP_UPGRADE_FENCED] =
            {
                .forms = RL_FORMS_GUARD,
                .words = {GUARD_SCRIPT(UPGRADE_FENCED, WORD("3"), NAME, FENCE, SET, TOKEN, TTL, PASS)},
                .script = RL_SCRIPT_COUNT,
                .guard_script = RL_SCRIPT_UPGRADE_FENCED,
                .change = RL_CHANGE_LENGTHEN,
                .parked_as = RL_FORM_GUARD_TEXT,
                .outcomes = NUMBERED_UPGRADE,
                .guard_outcomes = NUMBERED_UPGRADE,
                .again = true,
                .quotes = true,
                .scripted = true,
                .doubts = true,
                .rights = "get set pttl pexpire time zscore zcount mget hmget hset",
            },
};
