/* SPDX-License-Identifier: MIT */
/* Claimants of one of PostgreSQL's advisory locks: threads with a connection each. See common/turns.h. The
 * node is the folder of the server's socket. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

struct claimant {
	PGconn *connection;
	PGcancel *cancel;
};

static bool ask(struct claimant *c, const char *statement)
{
	PGresult *answer = PQexecPrepared(c->connection, statement, 0, NULL, NULL, NULL, 0);
	bool good = PQresultStatus(answer) == PGRES_TUPLES_OK;
	PQclear(answer);
	return good;
}

static void prepare(struct claimant *c, const char *statement, const char *text)
{
	PQclear(PQprepare(c->connection, statement, text, 0, NULL));
}

static void open_nothing(const struct options *o, _Atomic uint64_t *attempts)
{
	(void)o;
	(void)attempts;
}

static void *claimant(const struct options *o)
{
	const char *keys[] = {"host", "dbname", "user", NULL};
	const char *values[] = {o->nodes[0], "postgres", "bench", NULL};
	struct claimant *c = calloc(1, sizeof *c);
	if (c == NULL)
		die("calloc");
	c->connection = PQconnectdbParams(keys, values, 0);
	c->cancel = PQgetCancel(c->connection);
	prepare(c, "lock", "SELECT pg_advisory_lock(1)");
	prepare(c, "unlock", "SELECT pg_advisory_unlock(1)");
	if (!ask(c, "lock") || !ask(c, "unlock")) {
		fprintf(stderr, "PostgreSQL: %s\n", PQerrorMessage(c->connection));
		exit(1);
	}
	return c;
}

static bool acquire(void *of)
{
	return ask(of, "lock");
}

static void release(void *of)
{
	(void)ask(of, "unlock");
}

static void stop(void *of)
{
	struct claimant *c = of;
	char error[256];
	(void)PQcancel(c->cancel, error, sizeof error);
}

static void close_nothing(void)
{
}

int main(int argc, char **argv)
{
	static const struct turns_kind kind = {open_nothing, claimant, acquire, release, stop, close_nothing};
	return turns_main(argc, argv, &kind);
}
