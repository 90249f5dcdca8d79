/* SPDX-License-Identifier: MIT */
/* User and password of the nodes whose URL has none: given when the client is opened, and changed later. */
#include "credentials.h"

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

/* All nodes or none: `logins` has the old ones afterwards. */
static bool exchange_all(redlock_client *c, const char *user, const char *password, struct login *logins)
{
	for (unsigned i = 0; i < c->nodes.count; i++)
		if (!copy_for(&c->nodes.list[i].link.endpoint, user, password, &logins[i]))
			return false;
	for (unsigned i = 0; i < c->nodes.count; i++)
		exchange(&c->nodes.list[i].link.endpoint, &logins[i]);
	return true;
}

static void tell_nodes(redlock_client *c)
{
	for (unsigned i = 0; i < c->nodes.count; i++) {
		const struct rl_endpoint *e = &c->nodes.list[i].link.endpoint;
		if (e->lent_user || e->lent_password)
			rl_node_renew(&c->nodes.list[i], c->loop.now_ns);
	}
	c->nodes.new_credentials = true;
}

static int set_credentials(redlock_client *c, const char *user, const char *password)
{
	struct login logins[REDLOCK_MAX_NODES] = {{NULL, NULL}};
	int error = 0;
	rl_loop_enter_now(&c->loop);
	if (exchange_all(c, user, password, logins)) {
		tell_nodes(c);
		error = rl_cluster_renew(c->nodes.clusters, c->loop.now_ns) ? 0 : REDLOCK_E_NOMEM;
	} else {
		error = REDLOCK_E_NOMEM;
	}
	rl_turn_settle(c);
	rl_loop_leave(&c->loop);
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++) {
		rl_secret_free(logins[i].user);
		rl_secret_free(logins[i].password);
	}
	return error;
}

int redlock_set_credentials(redlock_client *c, const char *user, const char *password)
{
	RL_NO_CANCEL;
	int error = rl_client_check(c);
	for (unsigned i = 0; error == 0 && i < rl_client_count(c); i++)
		error = set_credentials(rl_client_part(c, i), user, password);
	return error;
}
