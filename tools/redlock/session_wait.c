/* SPDX-License-Identifier: MIT */
/* Waits after the result of a command: for votes that were not needed, and for releases that are owed. */
#include "session.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "message.h"
#include "printable.h"
#include "signals.h"

enum {
	LEAST_PATIENCE_NS = 1000000, /* for votes that were not needed */
	PART_FOR_VOTES = 10,         /* and at most this part of the validity */
	LEAST_DRAIN_NS = 2000000,    /* for releases */
	SEND_ROUND_TRIPS = 4,        /* for those that have not left */
	LEAST_ANSWER_NS = 200000000  /* for a server that a busy machine has suspended */
};

/* For releases of a value that may be used again. A silent connection is given up after 5 s, the next one is
 * up soon after that. */
#define VALUE_PATIENCE_NS 10000000000u

/* Whether the vote leaves open that a release, or the SET in front of it, is on its way. The others say that
 * nothing was sent, or that the server refused it. */
static bool leaves_open(enum redlock_vote_code vote)
{
	enum redlock_vote_kind kind = redlock_vote_kind(vote);
	return kind < REDLOCK_KIND_MISSING || vote == REDLOCK_VOTE_TIMEOUT || vote == REDLOCK_VOTE_CLOSED ||
	       vote == REDLOCK_VOTE_GARBAGE || vote == REDLOCK_VOTE_BACKLOG || vote == REDLOCK_VOTE_STALE;
}

/* Whether the node has got the request. A request to a node that could not be reached ends with this process,
 * unless there is a connection meanwhile, or was one. Commands wait for a connection as well as for answers:
 * while they do, the outcome is not known. */
static bool is_told(struct session *session, const redlock_lock *lock, unsigned node,
                    const struct redlock_node_status *status)
{
	struct redlock_vote vote = {.size = sizeof vote};
	if (redlock_lock_vote(lock, node, &vote) < 0 || leaves_open(vote.code))
		return true;
	if (status->owed > 0 &&
	    (status->connected || status->last_failure == REDLOCK_VOTE_CLOSED ||
	     status->last_failure == REDLOCK_VOTE_TIMEOUT || status->last_failure == REDLOCK_VOTE_GARBAGE))
		session->told_late |= 1U << node;
	return (session->told_late >> node & 1) != 0 || (status->owed > 0 && status->waiting > 0);
}

/* ---- what may be awaited of a node ---- */

typedef bool node_test(struct session *session, const redlock_lock *lock, unsigned node);

static bool votes(struct session *session, const redlock_lock *lock, unsigned node)
{
	struct redlock_vote vote = {.size = sizeof vote};
	(void)session;
	return redlock_lock_vote(lock, node, &vote) == 0 && vote.code == REDLOCK_VOTE_PENDING;
}

/* -1: no release is owed. Else 1 while something has not left, 2 if it may have to be asked again. */
static int unsent(const struct session *session, unsigned node)
{
	struct redlock_node_status status = {.size = sizeof status};
	return redlock_node_status(session->client, node, &status) == 0 && status.owed > 0 ? status.unsent : -1;
}

static bool is_owed(struct session *session, const redlock_lock *lock, unsigned node)
{
	(void)lock;
	return unsent(session, node) >= 0;
}

static bool is_unsent(struct session *session, const redlock_lock *lock, unsigned node)
{
	(void)lock;
	return unsent(session, node) > 0;
}

static bool has_not_left(struct session *session, const redlock_lock *lock, unsigned node)
{
	(void)lock;
	return unsent(session, node) == 1;
}

/* Whether the server may be executing a request in front of a release that is owed. It writes the answer
 * then, which fails if a Unix socket was closed meanwhile; the server drops the connection for that, with
 * what it has not read. A write to a TCP connection does not fail so soon. */
static bool answers_late(struct session *session, const redlock_lock *lock, unsigned node)
{
	struct redlock_node_status status = {.size = sizeof status};
	(void)lock;
	return redlock_node_status(session->client, node, &status) == 0 && status.owed > 0 &&
	       status.waiting > status.owed && strncmp(status.address, "unix:", 5) == 0;
}

/* As is_owed(), without those that end with this process. */
static bool is_awaited(struct session *session, const redlock_lock *lock, unsigned node)
{
	struct redlock_node_status status = {.size = sizeof status};
	if (!session->value_returns || lock == NULL)
		return is_owed(session, lock, node);
	session->told &= ~(1U << node);
	if (redlock_node_status(session->client, node, &status) < 0 || !is_told(session, lock, node, &status))
		return false;
	session->told |= 1U << node;
	return status.owed > 0;
}

/* Asks all of them, as is_awaited() makes notes. */
static bool any(struct session *session, const redlock_lock *lock, node_test *test)
{
	bool found = false;
	for (unsigned i = 0; i < redlock_node_count(session->client); i++)
		found |= test(session, lock, i);
	return found;
}

/* Goes on while something is awaited, until a time at most, and until a signal comes. */
static void wait_while(struct session *session, const redlock_lock *lock, node_test *awaits,
                       uint64_t until_ns)
{
	bool interrupted = signals_caught() != 0;
	struct pollfd watched[2] = {{.fd = redlock_fd(session->client), .events = POLLIN},
	                            {.fd = interrupted ? -1 : signals_fd(), .events = POLLIN}};
	struct redlock_event unused = {.size = sizeof unused};
	while (redlock_process(session->client) >= 0 && any(session, lock, awaits)) {
		uint64_t now_ns = clock_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		const struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
		                              .tv_nsec = (long)(left_ns % 1000000000)};
		while (redlock_next(session->client, &unused) > 0)
			;
		if (left_ns == 0 || (!interrupted && signals_caught()))
			return;
		(void)ppoll(watched, 2, &left, NULL);
	}
}

/* ---- how long ---- */

/* How long the last round took until it was decided. */
static uint64_t slowest_answer_ns(const struct session *session, const redlock_lock *lock)
{
	struct redlock_vote vote = {.size = sizeof vote};
	uint64_t slowest = 0;
	for (unsigned i = 0; i < redlock_node_count(session->client); i++)
		if (redlock_lock_vote(lock, i, &vote) == 0 && vote.rtt_ns > slowest)
			slowest = vote.rtt_ns;
	return slowest;
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

static uint64_t at_least(uint64_t least, uint64_t value)
{
	return value > least ? value : least;
}

/* The library decides with the first votes that suffice. This process is about to end, and with it its
 * connections: the slower nodes get half as much time again as the quorum took, so that a new or longer key
 * is on them too, and the keys of another holder are counted on all; but no more than a tenth of the
 * validity, which is the caller's. A user that reads each vote (-v), or why there is no quorum, wants to see
 * which nodes are well: they get one node timeout.
 */
static uint64_t patience_ns(const struct session *session, const redlock_lock *lock,
                            enum redlock_operation operation, int result)
{
	uint64_t timeout_ns = session->node_timeout_ms * 1000000;
	uint64_t patience = session->settings->verbose ? timeout_ns : slowest_answer_ns(session, lock) / 2;
	if (result == REDLOCK_E_NOQUORUM)
		return timeout_ns;
	if (result != 0 && result != REDLOCK_E_GONE)
		return 0;
	if (operation == REDLOCK_OP_RELEASE || (operation == REDLOCK_OP_QUERY && result == 0))
		return 0; /* the one is drained, the other only wants to know */
	patience = at_least(LEAST_PATIENCE_NS, patience);
	if (result == 0)
		patience = at_most(patience, redlock_remaining_ms(lock) * 1000000 / PART_FOR_VOTES);
	return at_most(patience, timeout_ns);
}

void session_await_votes(struct session *session, const redlock_lock *lock, enum redlock_operation operation,
                         int result)
{
	wait_while(session, lock, votes, clock_ns() + patience_ns(session, lock, operation, result));
}

/* Where the value may be used again, a release that comes late would delete the next key: it is waited for,
 * in that time also for a new connection, by which the library ends an old one. */
static uint64_t drain_limit_ns(const struct session *session, const redlock_lock *lock,
                               uint64_t round_trip_ns)
{
	uint64_t timeout_ns = session->node_timeout_ms * 1000000;
	if (session->value_returns && !signals_caught())
		return VALUE_PATIENCE_NS;
	if (lock == NULL || session->settings->verbose)
		return timeout_ns;
	return at_most(LEAST_DRAIN_NS + round_trip_ns / 2, timeout_ns);
}

/* A release that has left no longer needs this process: a node that hangs finds it after its SET, and a
 * distant one executes it. For their answers there is half a round trip. One that waits for its connection
 * would be lost with the process, so that a distant node gets a few; as many, one that the node may refuse as
 * a script, and one that a busy server may not read; but then a node that hangs is no reason to take half as
 * long again.
 */
bool session_drain(struct session *session, const redlock_lock *lock)
{
	uint64_t now_ns = clock_ns(), spent_ns = now_ns - session->begin_ns;
	uint64_t round_trip_ns = lock != NULL ? slowest_answer_ns(session, lock) : 0;
	uint64_t timeout_ns = session->node_timeout_ms * 1000000;
	uint64_t sending_ns = at_most(round_trip_ns * SEND_ROUND_TRIPS, timeout_ns);
	wait_while(session, lock, is_awaited, now_ns + drain_limit_ns(session, lock, round_trip_ns));
	if (!any(session, lock, is_owed))
		return true;
	wait_while(session, lock, answers_late,
	           now_ns + at_most(timeout_ns, at_least(LEAST_ANSWER_NS, spent_ns / 2)));
	wait_while(session, lock, is_unsent, now_ns + at_most(sending_ns, spent_ns / 2));
	wait_while(session, lock, has_not_left, now_ns + sending_ns);
	return !any(session, lock, is_owed);
}

/* "node 2 unix:/run/x.sock (last error: NOPERM ...), node 4 ...", of the nodes in the mask. Returns how many.
 */
static unsigned list_debtors(const struct session *session, uint32_t nodes, char *text, size_t size)
{
	unsigned count = 0;
	size_t used = 0;
	*text = '\0';
	char error[PRINTABLE_MAX];
	for (unsigned i = 0; i < redlock_node_count(session->client); i++) {
		struct redlock_node_status status = {.size = sizeof status};
		if (((nodes & ~session->keyless) >> i & 1) == 0 ||
		    redlock_node_status(session->client, i, &status) < 0 || status.owed + status.lingering == 0)
			continue;
		printable(status.last_error, strlen(status.last_error), error, sizeof error);
		if (used < size)
			used +=
			    (size_t)snprintf(text + used, size - used, "%snode %u %s%s%s%s", count ? ", " : "", i + 1,
			                     status.address, *error ? " (last error: " : "", error, *error ? ")" : "");
		count++;
	}
	return count;
}

void session_warn_lingering(const struct session *session, const char *name)
{
	unsigned spare = redlock_node_count(session->client) - redlock_quorum(session->client);
	char nodes[4096];
	if (session->value_returns && list_debtors(session, session->told, nodes, sizeof nodes) > 0) {
		say(session->settings, MSG(VALUE_USED), nodes);
		return;
	}
	unsigned count = list_debtors(session, UINT32_MAX, nodes, sizeof nodes);
	char shown[PRINTABLE_MAX], others[64] = "";
	size_t also = session->settings->also.count;
	if (also > 0)
		snprintf(others, sizeof others, " and %zu of --also", also);
	if (count > spare || (count > 0 && session->settings->verbose))
		say(session->settings, MSG(KEPT), count > spare ? "warning: " : "", count,
		    redlock_node_count(session->client), printable(name, strlen(name), shown, sizeof shown), others,
		    count > spare ? " and keep others out" : ", which keeps nobody out", nodes);
}
