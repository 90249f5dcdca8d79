/* SPDX-License-Identifier: MIT */
/* User and password of the nodes whose URL has none: given when the client is opened, and changed later. */
#include "credentials.h"

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "os/secret.h"
#include "turn.h"

struct login {
	char *user;
	char *password;
};

/* Copies what the URL of a node does not say. False: out of memory. */
static bool copy_for(const struct rl_endpoint *e, const char *user, const char *password, struct login *ret)
{
	bool has_user = e->lent_user && user != NULL;
	bool has_password = e->lent_password && password != NULL;
	ret->user = has_user ? rl_secret_copy(user, strlen(user)) : NULL;
	ret->password = has_password ? rl_secret_copy(password, strlen(password)) : NULL;
	return (!has_user || ret->user != NULL) && (!has_password || ret->password != NULL);
}

/* `login` has the old ones afterwards. */
static void exchange(struct rl_endpoint *e, struct login *login)
{
	struct login old = {e->lent_user ? e->user : NULL, e->lent_password ? e->password : NULL};
	if (e->lent_user)
		e->user = login->user;
	if (e->lent_password)
		e->password = login->password;
	*login = old;
}

bool rl_credentials_lend(struct rl_endpoint *e, const char *user, const char *password)
{
	struct login login;
	e->lent_user = e->user == NULL;
	e->lent_password = e->password == NULL;
	bool ok = copy_for(e, user, password, &login);
	if (ok)
		exchange(e, &login);
	rl_secret_free(login.user);
	rl_secret_free(login.password);
	return ok;
}

/* ---- all servers of all node sets, or none ---- */

/* The nodes, and then the servers of clusters beside them. */
static unsigned count_servers(const redlock_client *part)
{
	return part->nodes.count + rl_cluster_count(part->nodes.clusters);
}

static struct rl_node *server_at(const redlock_client *part, unsigned index)
{
	unsigned count = part->nodes.count;
	return index < count ? &part->nodes.list[index] : part->nodes.clusters->servers[index - count];
}

static unsigned count_all(const redlock_client *c)
{
	unsigned count = 0;
	for (unsigned i = 0; i < rl_client_count(c); i++)
		count += count_servers(rl_client_part(c, i));
	return count;
}

static bool copy_for_all(const redlock_client *c, const char *user, const char *password,
                         struct login *logins)
{
	for (unsigned i = 0; i < rl_client_count(c); i++)
		for (unsigned k = 0; k < count_servers(rl_client_part(c, i)); k++)
			if (!copy_for(&server_at(rl_client_part(c, i), k)->link.endpoint, user, password, logins++))
				return false;
	return true;
}

static void exchange_all(const redlock_client *c, struct login *logins)
{
	for (unsigned i = 0; i < rl_client_count(c); i++)
		for (unsigned k = 0; k < count_servers(rl_client_part(c, i)); k++)
			exchange(&server_at(rl_client_part(c, i), k)->link.endpoint, logins++);
}

static void tell_servers(redlock_client *part)
{
	for (unsigned i = 0; i < count_servers(part); i++) {
		struct rl_node *n = server_at(part, i);
		const struct rl_endpoint *e = &n->link.endpoint;
		if (e->lent_user || e->lent_password)
			rl_node_renew(n, part->loop.now_ns);
	}
	part->nodes.new_credentials = true;
}

/* False: out of memory, and nothing has changed. All parts are entered, so that no server comes meanwhile. */
static bool change_all(const redlock_client *c, const char *user, const char *password)
{
	const unsigned count = count_all(c);
	struct login *logins = calloc(count + 1, sizeof *logins); /* of no bytes it might be NULL */
	bool ok = logins != NULL && copy_for_all(c, user, password, logins);
	if (ok)
		exchange_all(c, logins);
	for (unsigned i = 0; i < count && logins != NULL; i++) {
		rl_secret_free(logins[i].user);
		rl_secret_free(logins[i].password);
	}
	free(logins);
	return ok;
}

int redlock_set_credentials(redlock_client *c, const char *user, const char *password)
{
	RL_NO_CANCEL;
	int error = rl_client_check(c);
	if (error < 0)
		return error;
	for (unsigned i = 0; i < rl_client_count(c); i++)
		rl_loop_enter_now(&rl_client_part(c, i)->loop);
	bool changed = change_all(c, user, password);
	for (unsigned i = 0; i < rl_client_count(c); i++) {
		redlock_client *part = rl_client_part(c, i);
		if (changed)
			tell_servers(part);
		rl_turn_settle(part);
		rl_loop_leave(&part->loop);
	}
	return changed ? 0 : REDLOCK_E_NOMEM;
}
