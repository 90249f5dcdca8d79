/* SPDX-License-Identifier: MIT */
/* Logging in: when a connection opens, and again on an open one when the credentials change. */
#include <stdio.h>
#include <string.h>

#include "net/answer.h"
#include "net/node.h"

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
	bool ok = rl_resp_command(&command, words, count) &&
	          rl_outbox_push_secret(outbox, &entry, (struct rl_slice){command.bytes, command.size});
	if (command.bytes != NULL)
		explicit_bzero(command.bytes, command.capacity);
	rl_buffer_free(&command);
	return ok;
}

/* No byte of a connection that is being made has left. One that is open is told behind all that it was asked:
 * also when its first login is not answered yet, which is then followed by this one. */
bool rl_auth_renew(struct rl_node *n, uint64_t now_ns)
{
	n->new_credentials = true;
	switch (n->link) {
	case RL_LINK_DOWN:
		if (n->failure != REDLOCK_VOTE_AUTH)
			return true;
		n->failures = 0;
		rl_node_connect(n, now_ns);
		return true;
	case RL_LINK_CONNECTING:
		if (rl_handshake_begin(n))
			return true;
		rl_node_fail(n, REDLOCK_VOTE_DOWN, "out of memory"); /* half of it must not be said */
		return false;
	case RL_LINK_OPEN:
		rl_auth_accepted(n); /* what was refused before were the old ones */
		if (n->outbox.count == 0)
			n->progress_ns = now_ns;
		return rl_auth_push(&n->outbox, &n->endpoint);
	case RL_LINK_BROKEN:
		break; /* rl_backoff_begin() comes */
	}
	return true;
}

void rl_auth_answer(struct rl_node *n, const struct rl_reply *reply)
{
	const struct rl_reply_value *v = &reply->value;
	if (v->type != RL_REPLY_ERROR) {
		rl_auth_accepted(n);
		return;
	}
	n->failure = rl_vote_of_error(v->text);
	/* "unknown command 'AUTH', with args beginning with: ..." would repeat the password */
	snprintf(n->failure_text, sizeof n->failure_text, "the new credentials are refused: %.*s",
	         (int)strcspn(v->text, ",\r\n"), v->text);
}

void rl_auth_accepted(struct rl_node *n)
{
	if (n->failure != REDLOCK_VOTE_AUTH)
		return;
	n->failure = REDLOCK_VOTE_PENDING;
	n->failure_text[0] = '\0';
}
