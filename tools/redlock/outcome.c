/* SPDX-License-Identifier: MIT */
/* From results of the library and votes of the nodes to exit codes: three tables. */
#include "outcome.h"

#include "exit_codes.h"

static const struct {
	int error;
	int code;
} by_error[] = {
    {0, EXIT_OK},
    {REDLOCK_E_BUSY, EXIT_BUSY},
    {REDLOCK_E_NOQUORUM, EXIT_NOQUORUM},
    {REDLOCK_E_LOST, EXIT_NO},
    {REDLOCK_E_GONE, EXIT_NO},
    {REDLOCK_E_INVAL, EXIT_USAGE},
    {REDLOCK_E_URL, EXIT_CONFIG},
    {REDLOCK_E_DUPLICATE, EXIT_CONFIG},
    {REDLOCK_E_TLS, EXIT_AUTH},
};

/* The first row that any node matches decides: a wrong password has to be mended before a permission shows.
 * A host name that does not resolve is a node that did not answer, not one that refuses. */
static const struct {
	enum redlock_vote_code vote;
	int code;
} by_vote[] = {
    {REDLOCK_VOTE_AUTH, EXIT_AUTH},        {REDLOCK_VOTE_TLS, EXIT_AUTH},
    {REDLOCK_VOTE_DUPLICATE, EXIT_CONFIG}, {REDLOCK_VOTE_READONLY, EXIT_REFUSED},
    {REDLOCK_VOTE_CLUSTER, EXIT_REFUSED},  {REDLOCK_VOTE_NOPERM, EXIT_REFUSED},
    {REDLOCK_VOTE_COMMAND, EXIT_REFUSED},  {REDLOCK_VOTE_DATABASE, EXIT_REFUSED},
};

static const struct {
	int code;
	const char *hint;
} hints[] = {
    {EXIT_NOQUORUM, "start or reach the nodes that are down; `redlock status` shows each"},
    {EXIT_REFUSED, "mend what the server refuses: give independent masters, and a user with the rights of "
                   "`redlock help acl`"},
    {EXIT_AUTH, "check user and password (in the URL, or --user and --password-file), or certificates "
                "(--cacert, --cert)"},
    {EXIT_CONFIG, "list every server once; two databases of one server are one server"},
};

int outcome_of_error(int error)
{
	for (size_t i = 0; i < sizeof(by_error) / sizeof(by_error[0]); i++)
		if (by_error[i].error == error)
			return by_error[i].code;
	return EXIT_INTERNAL;
}

int outcome_of_votes(const struct redlock_vote *votes, size_t count)
{
	for (size_t row = 0; row < sizeof(by_vote) / sizeof(by_vote[0]); row++)
		for (size_t i = 0; i < count; i++)
			if (votes[i].code == by_vote[row].vote)
				return by_vote[row].code;
	return EXIT_NOQUORUM;
}

const char *outcome_hint(int exit_code)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (hints[i].code == exit_code)
			return hints[i].hint;
	return NULL;
}
