/* SPDX-License-Identifier: MIT */
/*
 * Several node sets in one client: names are spread over them. A part of redlock.h, which includes it.
 *
 * One node set bounds how many locks a second its servers serve. With several, each name belongs to one set,
 * by rendezvous hashing of the name and the names of the sets: every client with the same sets chooses the
 * same one, and a set that is added takes its share of the names from the others and moves no other name.
 *
 *     struct redlock_node_set sets[] = {
 *         {.size = sizeof sets[0], .name = "a", .urls = urls_of_a, .url_count = 3},
 *         {.size = sizeof sets[0], .name = "b", .urls = urls_of_b, .url_count = 3},
 *     };
 *     options.sets = sets;                              instead of `urls` and `quorum`
 *     options.set_count = 2;
 *
 * redlock_options_load() fills this in from `quorums` in the configuration. The client has one descriptor and
 * one queue of events; a keeper has a thread for each set. A handle has the votes of the nodes of its set,
 * with indexes in that set: redlock_lock_client() returns the client of the set for redlock_node_status().
 * redlock_node_count(), _node_status() and _node_stats() of the whole client have the nodes of all sets, one
 * set after the other; redlock_stats() is the sum. redlock_quorum() of the whole client is 0, and
 * redlock_guard_status() and redlock_asker_open() refuse it (INVAL).
 *
 * Several names of one handle must have the same hash tag, {tag}: names with the same tag are in the same
 * set. Fencing tokens are refused: a name that moves would begin to count again.
 *
 * Adding a set. A client that knows the new set and one that does not could both hold a name that moves. So a
 * set is added in two steps, each by all clients before the next one:
 *
 *  1. the new set with `joining` 1: a lock of a name that moves is acquired on the nodes of its old set and
 * of the new one together, with a quorum that contains a quorum of each: max(N + q', N' + q) votes, for N
 *     nodes with quorum q and N' with q'. Names that do not move stay where they are.
 *  2. the same sets with `joining` 0, once all clients have had step 1 for longer than the longest TTL.
 *
 * Clients of neighbouring steps have a set in common, which each of them needs a quorum of. They may wait in
 * different queues: while those of one step hand a lock to one another without a pause, those of the other
 * may get few turns or none. To take a set away, go the same steps back. Not with REDLOCK_GUARD_REQUIRE:
 * nodes of a guarded set refuse a list with nodes of another one.
 */
#ifndef REDLOCK_SETS_H
#define REDLOCK_SETS_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

struct redlock_config; /* config.h */
struct redlock_name;   /* kinds.h */

/* One of the sets. The elements of an array all have the `size` of the first one. */
struct redlock_node_set {
	size_t size;             /* sizeof(struct redlock_node_set) */
	const char *name;        /* chooses the names of the set: all clients call it the same */
	const char *const *urls; /* as `urls` of the options */
	size_t url_count;        /* with those of a set that joins, at most REDLOCK_MAX_NODES */
	unsigned quorum;         /* as `quorum` of the options */
	int joining;             /* 1, of one set at most: it is being added, or taken away */
};

/*
 * The nodes that have all these names, prefix excluded, under `sets` of the options: writes their URLs to
 * `ret_urls`, which has room for REDLOCK_MAX_NODES, and `url_count`, `quorum`, `urls` (`ret_urls`) and `name`
 * to `ret_set`, whose size the caller sets. Of a name that moves, these are the nodes of both sets, and
 * `joining` is 1. For programs that need one set only, such as the redlock command. On failure error_text of
 * the options has a sentence. Any thread. Errors: INVAL.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_nodes_of(const struct redlock_options *options,
                                                    const struct redlock_name *names, size_t count,
                                                    const char **ret_urls, struct redlock_node_set *ret_set);

/* Sets `sets` of the options to the node sets of the configuration, `quorums` and `joining`, or, where the
 * chosen section is itself one of the node sets of one other section, to these sets; they are copied.
 * Errors: CONFIG (the configuration has none, or a section is wrong: error_text has a sentence), NOMEM,
 * INVAL. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_config_sets(const struct redlock_config *config,
                                                       struct redlock_options *options);

/* The client whose nodes this handle asks: of a client with several sets that of one set, else the client
 * that made the handle. It lives as long as that client, and must not be closed. NULL: the client was
 * closed. Any thread. */
REDLOCK_API redlock_client *redlock_lock_client(const redlock_lock *lock);

#ifdef __cplusplus
}
#endif

#endif
