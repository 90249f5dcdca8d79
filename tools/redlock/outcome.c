/* SPDX-License-Identifier: MIT */
/* From results of the library and votes of the nodes to exit codes and hints: two tables. */
#include "outcome.h"

#include <string.h>

#include "exit_codes.h"

static const char list_once[] = "list every server once; two databases of one server are one server";

#define TROUBLE "see the votes of the nodes below, or `redlock status` and `redlock doctor`"
#define CALLER "a program's call, or an error of redlock itself: tell its authors"

/* `hint` is a part of messages, `step` of `redlock help troubleshooting` alone: of that a message says more.
 */
static const struct {
	int error;
	int code;
	const char *hint, *step;
} by_error[] = {
    {0, EXIT_OK, NULL, ""},
    {REDLOCK_E_BUSY, EXIT_BUSY, NULL,
     "`redlock status NAME` shows who holds it and when the key expires; -w TIME waits. A key without expiry "
     "blocks until somebody deletes it"},
    {REDLOCK_E_NOQUORUM, EXIT_NOQUORUM, NULL, TROUBLE},
    {REDLOCK_E_LOST, EXIT_NO, NULL,
     "too few nodes renewed it in time, keys were deleted, or the machine stood still: the message says "
     "which. "
     "`run` then exits with 79"},
    {REDLOCK_E_GONE, EXIT_NO, NULL, "it has expired, or has another holder: `redlock status NAME` shows it"},
    {REDLOCK_E_INVAL, EXIT_USAGE, NULL, "the message names the option and what is allowed"},
    {REDLOCK_E_URL, EXIT_CONFIG, NULL,
     "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// with TLS, unix:///PATH; `redlock config "
     "show` "
     "tells where a URL comes from"},
    {REDLOCK_E_CONFIG, EXIT_CONFIG, NULL, "the message names the file and the line, or the variable"},
    {REDLOCK_E_DUPLICATE, EXIT_CONFIG, list_once, NULL},
    {REDLOCK_E_TLS, EXIT_CONFIG, NULL, /* files, or no OpenSSL; a server that refuses is a vote */
     "check that the files of --cacert, --cert and --key exist, and may be read"},
    {REDLOCK_E_CANCELLED, EXIT_INTERNAL, NULL, "a signal ended the wait"},
    {REDLOCK_E_NOMEM, EXIT_INTERNAL, NULL, "free memory, or raise the limit of this process"},
    {REDLOCK_E_SYSTEM, EXIT_INTERNAL, NULL, "raise the limits of this process: `ulimit -a` shows them"},
};

const struct outcome outcome_descriptors = {
    EXIT_INTERNAL, "let redlock open more files: `ulimit -n` is their number", "DESCRIPTORS"};

const struct outcome outcome_protected = {EXIT_AUTH,
                                          "set a password on the server (requirepass, or an ACL user), and "
                                          "give it to redlock; or, where only trusted "
                                          "machines reach the server, set protected-mode no",
                                          "AUTH"};

const char outcome_protected_text[] =
    "the server is in protected mode: without a password it refuses all other machines (DENIED)";

bool outcome_is_protected(enum redlock_vote_code vote, const char *error)
{
	return vote == REDLOCK_VOTE_AUTH && strncmp(error, "DENIED", strlen("DENIED")) == 0;
}

/* The first row that any node matches decides: a wrong password has to be mended before a permission shows,
 * and a node that is down before one that is full. A host name that does not resolve is a node that did not
 * answer, not one that refuses. */
static const struct {
	enum redlock_vote_code vote;
	int code;
	const char *hint;
} by_vote[] = {
    {REDLOCK_VOTE_AUTH, EXIT_AUTH, "check user and password (in the URL, or --user and --password-file)"},
    {REDLOCK_VOTE_TLS, EXIT_AUTH, "check the certificates (--cacert, --cert, --key, --sni)"},
    {REDLOCK_VOTE_DUPLICATE, EXIT_CONFIG, list_once},
    {REDLOCK_VOTE_SERVICE, EXIT_CONFIG, "correct the host, port or scheme in the URL of that node"},
    {REDLOCK_VOTE_READONLY, EXIT_REFUSED, "give the masters: a replica has no vote of its own"},
    {REDLOCK_VOTE_CLUSTER, EXIT_REFUSED,
     "give a Redis Cluster as redis+cluster://HOST: one server of it cannot vote on every name"},
    {REDLOCK_VOTE_NOPERM, EXIT_REFUSED,
     "give the user the rights of `redlock help acl`, and give the --prefix that its names have"},
    {REDLOCK_VOTE_COMMAND, EXIT_REFUSED, "`redlock help acl` shows the commands that a server must have"},
    {REDLOCK_VOTE_DATABASE, EXIT_REFUSED, "give the number of a database that the server has"},
    {REDLOCK_VOTE_FOREIGN, EXIT_REFUSED,
     "give the nodes and the quorum that `redlock init` was given; `redlock status` says what differs; a "
     "node "
     "with replicas, or that was a replica, gives no fencing token, and does not fit guard = require: detach "
     "it, and restart it (it votes after a quarantine), or init with --guard=auto"},
    {REDLOCK_VOTE_UNGUARDED, EXIT_REFUSED,
     "run `redlock init`, which makes a guarded node set, or repairs one where a node still has its record; "
     "nodes that it repairs vote after a quarantine"},
    {REDLOCK_VOTE_SLOTS, EXIT_REFUSED,
     "give all who use the name the same --slots; another number works when none of its slots is held"},
    {REDLOCK_VOTE_UNCHECKED, EXIT_REFUSED,
     "use other nodes for --compat setnx: its scripts do not check the record of a guarded set"},
    {REDLOCK_VOTE_LONG_TTL, EXIT_REFUSED,
     "give a shorter --ttl; for a longer maximum, end all locks, then `redlock init --plain` and "
     "`redlock init --max-ttl`"},
    {REDLOCK_VOTE_QUARANTINE, EXIT_NOQUORUM,
     "wait: nodes that may have forgotten locks vote again by themselves, if need be after a node that has "
     "its record answers"},
    {REDLOCK_VOTE_CLOCK, EXIT_NOQUORUM,
     "let a time daemon keep the clocks of the nodes: `redlock doctor` compares them"},
    {REDLOCK_VOTE_DOWN, EXIT_NOQUORUM,
     "start the nodes that are down (their logs say why they ended), or make them reachable"},
    {REDLOCK_VOTE_NAME, EXIT_NOQUORUM, "check the host names, and the name server"},
    {REDLOCK_VOTE_MASTER, EXIT_NOQUORUM,
     "check the master's name in the URL, the password of the Sentinels (sentinel_password there), and that "
     "they "
     "run: SENTINEL MASTERS lists the names that one knows"},
    {REDLOCK_VOTE_SHARD, EXIT_NOQUORUM,
     "wait until a replica takes over or the slot has moved (TRYAGAIN), or start the master of the slot: "
     "CLUSTER NODES "
     "says which are down"},
    {REDLOCK_VOTE_UNREPLICATED, EXIT_NOQUORUM,
     "connect the node's replicas, or lower ?replicas= of its URL; if they are only far away, use a longer "
     "--node-timeout"},
    {REDLOCK_VOTE_UNCOUNTED, EXIT_NOQUORUM,
     "see `redlock doctor`: the user lacks a right, or too few nodes know their fencing numbers, and "
     "`redlock "
     "init --new-epoch` begins anew"},
    {REDLOCK_VOTE_OOM, EXIT_NOQUORUM, "free memory on the nodes that are full, or raise their maxmemory"},
    {REDLOCK_VOTE_MISCONF, EXIT_NOQUORUM,
     "make room for the node's files, or mend its persistence: its log says why"},
    {REDLOCK_VOTE_REPLICAS, EXIT_NOQUORUM, "connect the node's replicas, or lower its min-replicas-to-write"},
    {REDLOCK_VOTE_GARBAGE, EXIT_NOQUORUM,
     "check host and port: another program than a Redis or Valkey server may answer there"},
    {REDLOCK_VOTE_LOADING, EXIT_NOQUORUM, "wait until the node has loaded its data"},
    {REDLOCK_VOTE_BLOCKED, EXIT_NOQUORUM, "wait for the end of the script, or end it there with SCRIPT KILL"},
    {REDLOCK_VOTE_UNSENT, EXIT_NOQUORUM, "make the nodes reachable that do not accept connections"},
    {REDLOCK_VOTE_TIMEOUT, EXIT_NOQUORUM,
     "check the nodes that hang; if they are only far away, use a longer --node-timeout"},
    {REDLOCK_VOTE_CLOSED, EXIT_NOQUORUM, "check the nodes that end the connection, and any proxy in between"},
    {REDLOCK_VOTE_BACKLOG, EXIT_NOQUORUM,
     "check the nodes that hang: too many requests wait for their answers"},
    {REDLOCK_VOTE_STALE, EXIT_NOQUORUM,
     "try again later, or give another value to --token: an older request with this one may still arrive"},
    {REDLOCK_VOTE_SERVER, EXIT_NOQUORUM, "see the error of the server in this message, and in its log"},
};

int outcome_of_error(int error)
{
	for (size_t i = 0; i < sizeof by_error / sizeof by_error[0]; i++)
		if (by_error[i].error == error)
			return by_error[i].code;
	return EXIT_INTERNAL;
}

const char outcome_joining[] =
    "take `joining` away: a set cannot join guarded node sets, whose nodes refuse a list with other nodes; "
    "stop all clients for longer than the longest TTL, and start them with the new list of sets";

enum { VOTE_ROWS = sizeof by_vote / sizeof by_vote[0] };

/* The first row, from `row` on, that any node matches. VOTE_ROWS: no node matches any row. */
static size_t matching_row(const struct redlock_vote *votes, size_t count, size_t row)
{
	for (; row < VOTE_ROWS; row++)
		for (size_t i = 0; i < count; i++)
			if (votes[i].code == by_vote[row].vote)
				return row;
	return VOTE_ROWS;
}

static struct outcome of_votes(const struct redlock_vote *votes, size_t count)
{
	size_t row = matching_row(votes, count, 0);
	if (row == VOTE_ROWS)
		return (struct outcome){EXIT_NOQUORUM, NULL, redlock_error_name(REDLOCK_E_NOQUORUM)};
	return (struct outcome){by_vote[row].code, by_vote[row].hint, redlock_vote_name(by_vote[row].vote)};
}

size_t outcome_other_hints(const struct redlock_vote *votes, size_t count, const char **ret_hints,
                           size_t room)
{
	size_t row = matching_row(votes, count, 0), hints = 0;
	while (row < VOTE_ROWS && hints < room) {
		row = matching_row(votes, count, row + 1);
		if (row < VOTE_ROWS)
			ret_hints[hints++] = by_vote[row].hint;
	}
	return hints;
}

struct outcome outcome_of(int result, const struct redlock_vote *votes, size_t count)
{
	if (result == REDLOCK_E_NOQUORUM)
		return of_votes(votes, count);
	for (size_t i = 0; i < sizeof by_error / sizeof by_error[0]; i++)
		if (by_error[i].error == result)
			return (struct outcome){by_error[i].code, by_error[i].hint, redlock_error_name(result)};
	return (struct outcome){EXIT_INTERNAL, NULL, redlock_error_name(result)};
}

const char *outcome_step(int error)
{
	for (size_t i = 0; i < sizeof by_error / sizeof by_error[0]; i++)
		if (by_error[i].error == error)
			return by_error[i].hint != NULL ? by_error[i].hint : by_error[i].step;
	return CALLER;
}
