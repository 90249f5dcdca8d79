/* SPDX-License-Identifier: MIT */
/* User and password of the nodes whose URL has none: given when the client is opened, and changed later. */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "os/clock.h"
#include "os/secret.h"

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
	for (unsigned i = 0; i < c->node_count; i++)
		if (!copy_for(&c->nodes[i].endpoint, user, password, &logins[i]))
			return false;
	for (unsigned i = 0; i < c->node_count; i++)
		exchange(&c->nodes[i].endpoint, &logins[i]);
	return true;
}

static void tell_nodes(redlock_client *c)
{
	for (unsigned i = 0; i < c->node_count; i++) {
		const struct rl_endpoint *e = &c->nodes[i].endpoint;
		if (e->lent_user || e->lent_password)
			rl_auth_renew(&c->nodes[i], c->now_ns);
	}
	c->new_credentials = true;
}

/* One node after the other: what it is asked waits meanwhile, and a quorum must be there for renewals. */
void rl_credentials_go_on(redlock_client *c)
{
	struct rl_node *next = NULL;
	bool any = false;
	for (unsigned i = c->node_count; i-- > 0;) {
		struct rl_node *n = &c->nodes[i];
		if (n->login_by_ns != 0)
			return;
		any |= n->new_credentials;
		if (rl_auth_is_due(n))
			next = n;
	}
	c->new_credentials = any;
	if (next != NULL)
		rl_auth_begin(next, c->now_ns);
}

void rl_credentials_end(redlock_client *c)
{
	c->new_credentials = false;
	for (unsigned i = 0; i < c->node_count; i++)
		if (c->nodes[i].setup.count == 0)
			rl_auth_end(&c->nodes[i]);
}

int redlock_set_credentials(redlock_client *c, const char *user, const char *password)
{
	RL_NO_CANCEL;
	struct login logins[REDLOCK_MAX_NODES] = {{NULL, NULL}};
	int error = rl_enter(c);
	if (error < 0)
		return error;
	c->now_ns = rl_clock_now();
	if (exchange_all(c, user, password, logins))
		tell_nodes(c);
	else
		error = REDLOCK_E_NOMEM;
	rl_settle(c);
	rl_leave(c);
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++) {
		rl_secret_free(logins[i].user);
		rl_secret_free(logins[i].password);
	}
	return error;
}
