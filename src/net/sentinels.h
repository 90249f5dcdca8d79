/* SPDX-License-Identifier: MIT */
/*
 * The Sentinels of one node, which say where its master is (SENTINEL get-master-addr-by-name), and again when
 * it changes (+switch-master). All of them are asked at once, each on a link of its own, so that a hung one
 * costs nothing where most of the others agree. The newest change of mind of any Sentinel counts; as long as
 * none has changed its mind the address that most of them name, of equals the first listed. Before most of
 * the listed ones agree, the first answer waits 100 ms for others. Until it is found to be wrong, it counts
 * from then on.
 *
 * A guarded node votes only at an address that most of the listed Sentinels have named lately:
 * rl_dial.told_ns is when they were asked (rl_record_is_aged()).
 *
 *     rl_sentinels_new()       for a link whose endpoint has `master`
 *     rl_sentinels_seek()      after each call that may begin a lookup: rl_link_dial(), rl_dial_doubt()
 *     rl_sentinels_ready(),    the poller or the time says so: these tell the link what was found, and the
 *     rl_sentinels_tick()      link may be BROKEN afterwards
 *
 * A Sentinel that has no answer within a second is left, and one that says nothing is asked every 10 s.
 */
#ifndef RL_NET_SENTINELS_H
#define RL_NET_SENTINELS_H

#include "net/link.h"

struct rl_sentinels;

/* `number` is the number of the link in the poller. NULL: out of memory. */
struct rl_sentinels *rl_sentinels_new(struct rl_link *link, uint32_t number);

/* NULL is allowed, here and below. A `child` process does not touch what it shares with its parent. */
void rl_sentinels_free(struct rl_sentinels *sentinels, bool child);

/* Asks all that can be asked, if the link looks up its address. */
void rl_sentinels_seek(struct rl_sentinels *sentinels, uint64_t now_ns);

/* As rl_link_ready(), for ids whose number has RL_WATCH_SENTINELS added. */
void rl_sentinels_ready(struct rl_sentinels *sentinels, uint32_t watch_id, uint32_t events, uint64_t now_ns);

/* When rl_sentinels_tick() is due; UINT64_MAX: never. */
uint64_t rl_sentinels_deadline(const struct rl_sentinels *sentinels);
void rl_sentinels_tick(struct rl_sentinels *sentinels, uint64_t now_ns);

/* Time has passed that the clock did not show: what the Sentinels have said is older by that. */
void rl_sentinels_leap(struct rl_sentinels *sentinels, uint64_t leap_ns);

#endif
