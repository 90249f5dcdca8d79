/* SPDX-License-Identifier: MIT */
#include "net/auth.h"

#include <stdio.h>
#include <string.h>

#include "core/time.h"
#include "proto/answer.h"
#include "proto/command.h"

/* For all of it, from its beginning: the server must answer what it was asked before, then the AUTH. */
#define LOGIN_LIMIT_NS (5000 * RL_NS_PER_MS)

bool rl_auth_push(struct rl_outbox *outbox, const struct rl_endpoint *e)
{
	if (!rl_url_logs_in(e))
		return true;
	struct rl_buffer command = {0};
	const struct rl_entry entry = {.setup = RL_SETUP_AUTH};
	struct rl_slice words[3] = {rl_slice_of("AUTH")};
	unsigned count = 1;
	if (e->user != NULL)
		words[count++] = rl_slice_of(e->user);
	words[count++] = rl_slice_of(e->password != NULL ? e->password : "");
	bool ok = rl_command_write(&command, words, count) &&
	          rl_outbox_push_secret(outbox, &entry, (struct rl_slice){command.bytes, command.size});
	if (command.bytes != NULL)
		explicit_bzero(command.bytes, command.capacity);
	rl_buffer_free(&command);
	return ok;
}

bool rl_auth_is_due(const struct rl_link *l)
{
	bool open = l->state == RL_LINK_OPEN && l->setup.count == 0;
	return open && l->new_credentials && rl_url_logs_in(&l->endpoint);
}

void rl_auth_begin(struct rl_link *l, uint64_t now_ns)
{
	l->login = RL_LOGIN_BEGUN;
	l->login_by_ns = rl_time_add(now_ns, LOGIN_LIMIT_NS);
}

void rl_auth_end(struct rl_link *l)
{
	l->login = RL_LOGIN_NONE;
}

bool rl_auth_go_on(struct rl_link *l)
{
	if (l->setup.count > 0)
		return false;
	l->login = RL_LOGIN_HOLDS;
	if (l->outbox.count > 0 && !rl_outbox_front_unsent(&l->outbox))
		return false; /* not all answered */
	l->new_credentials = false;
	if (!rl_url_logs_in(&l->endpoint))
		rl_auth_end(l); /* they were taken back */
	else if (!rl_auth_push(&l->setup, &l->endpoint))
		rl_link_fail_memory(l);
	return l->state == RL_LINK_OPEN;
}

void rl_auth_answer(struct rl_link *l, const struct rl_reply *reply)
{
	const struct rl_reply_value *v = &reply->value;
	rl_outbox_pop(&l->setup);
	rl_auth_end(l);
	if (v->type != RL_REPLY_ERROR) {
		rl_auth_accepted(l);
	} else if (!l->new_credentials) { /* else there are newer ones, which nobody has refused */
		l->failure = rl_answer_of_error(v->text);
		snprintf(l->failure_text, sizeof l->failure_text, "the new credentials are refused: %.*s",
		         rl_reply_shown_length(v->text), v->text);
	}
}

void rl_auth_accepted(struct rl_link *l)
{
	if (l->failure != REDLOCK_VOTE_AUTH)
		return;
	l->failure = REDLOCK_VOTE_PENDING;
	l->failure_text[0] = '\0';
}
