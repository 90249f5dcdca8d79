/* SPDX-License-Identifier: MIT */
/*
 * Logging in: when a connection opens, and again on an open one when the credentials change.
 *
 * Redis from 7.2 on and Valkey 8 do not answer an AUTH that they refuse while replies of the connection are
 * unsent (addAuthErrReply() in their acl.c): each later answer would be taken for the one before it, and
 * somebody's release for a grant. So the second login is a barrier: all that was asked is answered when AUTH
 * is sent, nothing is sent until it is answered, and where no answer comes the connection ends. Requests wait
 * in the outbox meanwhile. The client lets one node do so at a time (credentials.c), and the others vote.
 */
#include <stdio.h>
#include <string.h>

#include "core/quorum.h"
#include "net/node.h"
#include "proto/answer.h"
#include "proto/command.h"

/* For all of it, from its beginning: the server must answer what it was asked before, then the AUTH. */
#define LOGIN_LIMIT_NS (5000 * RL_NS_PER_MS)

#define TEXT(text) ((struct rl_slice){text, strlen(text)})

bool rl_endpoint_logs_in(const struct rl_endpoint *e)
{
	return e->user != NULL || e->password != NULL;
}

bool rl_auth_push(struct rl_outbox *outbox, const struct rl_endpoint *e)
{
	if (!rl_endpoint_logs_in(e))
		return true;
	struct rl_buffer command = {0};
	const struct rl_entry entry = {.setup = RL_SETUP_AUTH};
	struct rl_slice words[3] = {TEXT("AUTH")};
	unsigned count = 1;
	if (e->user != NULL)
		words[count++] = TEXT(e->user);
	words[count++] = TEXT(e->password != NULL ? e->password : "");
	bool ok = rl_command_write(&command, words, count) &&
	          rl_outbox_push_secret(outbox, &entry, (struct rl_slice){command.bytes, command.size});
	if (command.bytes != NULL)
		explicit_bzero(command.bytes, command.capacity);
	rl_buffer_free(&command);
	return ok;
}

/* No byte of a connection that is being made has left: it opens with the new ones. */
void rl_auth_renew(struct rl_node *n, uint64_t now_ns)
{
	n->new_credentials = true;
	switch (n->link) {
	case RL_LINK_DOWN:
		if (n->failure != REDLOCK_VOTE_AUTH)
			break;
		n->failures = 0;
		rl_node_connect(n, now_ns);
		break;
	case RL_LINK_CONNECTING:
		if (!rl_handshake_begin(n))
			rl_node_fail(n, REDLOCK_VOTE_DOWN, "out of memory"); /* half of it must not be said */
		break;
	case RL_LINK_OPEN:
		rl_auth_accepted(n); /* what was refused before were the old ones */
		break;
	case RL_LINK_BROKEN:
		break; /* rl_backoff_begin() comes */
	}
}

bool rl_auth_is_due(const struct rl_node *n)
{
	bool open = n->link == RL_LINK_OPEN && n->setup.count == 0;
	return open && n->new_credentials && rl_endpoint_logs_in(&n->endpoint);
}

void rl_auth_begin(struct rl_node *n, uint64_t now_ns)
{
	n->login_by_ns = rl_time_add(now_ns, LOGIN_LIMIT_NS);
}

void rl_auth_end(struct rl_node *n)
{
	n->login_by_ns = 0;
	n->login_holds = false;
}

/* What a WATCH has seen counts for one user only: between the two steps of a transaction nobody logs in. */
bool rl_auth_go_on(struct rl_node *n)
{
	if (n->setup.count > 0 || n->transaction.step != RL_STEP_NONE)
		return false;
	n->login_holds = true;
	if (n->outbox.count > 0 && !rl_outbox_front_unsent(&n->outbox))
		return false; /* not all answered */
	n->new_credentials = false;
	if (!rl_endpoint_logs_in(&n->endpoint))
		rl_auth_end(n); /* they were taken back */
	else if (!rl_auth_push(&n->setup, &n->endpoint))
		rl_node_fail(n, REDLOCK_VOTE_DOWN, "out of memory");
	return n->link == RL_LINK_OPEN;
}

void rl_auth_answer(struct rl_node *n, const struct rl_reply *reply)
{
	const struct rl_reply_value *v = &reply->value;
	rl_outbox_pop(&n->setup);
	rl_auth_end(n);
	if (v->type != RL_REPLY_ERROR) {
		rl_auth_accepted(n);
	} else if (!n->new_credentials) { /* else there are newer ones, which nobody has refused */
		n->failure = rl_answer_of_error(v->text);
		/* "unknown command 'AUTH', with args beginning with: ..." would repeat the password */
		snprintf(n->failure_text, sizeof n->failure_text, "the new credentials are refused: %.*s",
		         (int)strcspn(v->text, ",\r\n"), v->text);
	}
}

void rl_auth_accepted(struct rl_node *n)
{
	if (n->failure != REDLOCK_VOTE_AUTH)
		return;
	n->failure = REDLOCK_VOTE_PENDING;
	n->failure_text[0] = '\0';
}
