/* SPDX-License-Identifier: MIT */
/*
 * How a connection opens: AUTH and SELECT, which must succeed before any operation is sent; then the
 * connection's own id, the server's identity, and an end to earlier connections. The latter three are
 * pipelined with the first operations and may be refused: then something is unknown, and the node still
 * votes.
 */
#include <stdio.h>
#include <string.h>

#include "net/answer.h"
#include "net/node.h"

#define WORD(text) ((struct rl_slice){text, sizeof(text) - 1})
#define TEXT(text) ((struct rl_slice){text, strlen(text)})

static bool push(struct rl_node *n, enum rl_setup setup, const struct rl_slice *words, unsigned count)
{
	struct rl_buffer command = {0};
	bool ok = rl_resp_command(&command, words, count);
	if (ok) {
		struct rl_entry entry = {.setup = (uint8_t)setup};
		ok = rl_outbox_push(&n->outbox, &entry, (struct rl_slice){command.bytes, command.size});
	}
	rl_buffer_free(&command);
	n->setup_left += ok;
	return ok;
}

static bool push_auth(struct rl_node *n)
{
	const struct rl_endpoint *e = &n->endpoint;
	if (e->user == NULL && e->password == NULL)
		return true;
	struct rl_slice password = TEXT(e->password != NULL ? e->password : "");
	n->gate++;
	if (e->user == NULL)
		return push(n, RL_SETUP_AUTH, (struct rl_slice[]){WORD("AUTH"), password}, 2);
	return push(n, RL_SETUP_AUTH, (struct rl_slice[]){WORD("AUTH"), TEXT(e->user), password}, 3);
}

static bool push_select(struct rl_node *n)
{
	if (n->endpoint.database == 0)
		return true;
	char number[16];
	snprintf(number, sizeof number, "%u", n->endpoint.database);
	n->gate++;
	return push(n, RL_SETUP_SELECT, (struct rl_slice[]){WORD("SELECT"), TEXT(number)}, 2);
}

static bool push_kills(struct rl_node *n)
{
	for (unsigned i = 0; i < n->ghost_count; i++) {
		char number[24];
		snprintf(number, sizeof number, "%lld", (long long)n->ghosts[i]);
		struct rl_slice words[] = {WORD("CLIENT"), WORD("KILL"), WORD("ID"), TEXT(number)};
		if (!push(n, RL_SETUP_KILL, words, 4))
			return false;
	}
	return true;
}

bool rl_handshake_begin(struct rl_node *n)
{
	n->setup_left = n->gate = 0;
	bool ok = push_auth(n) && push_select(n) &&
	          push(n, RL_SETUP_ID, (struct rl_slice[]){WORD("CLIENT"), WORD("ID")}, 2) &&
	          push(n, RL_SETUP_INFO, (struct rl_slice[]){WORD("INFO"), WORD("server")}, 2) && push_kills(n);
	n->gate_bytes = n->gate > 0 ? rl_outbox_size(&n->outbox) : 0;
	return ok;
}

static void learn_identity(struct rl_node *n, const struct rl_reply_value *info)
{
	static const char mark[] = "run_id:";
	n->run_id[0] = '\0';
	n->identified = true;
	const char *at = info->type == RL_REPLY_STRING ? strstr(info->text, mark) : NULL;
	if (at == NULL)
		return;
	at += sizeof mark - 1;
	size_t size = strspn(at, "0123456789abcdefABCDEF");
	if (size == sizeof n->run_id - 1) {
		memcpy(n->run_id, at, size);
		n->run_id[size] = '\0';
	}
}

/* The oldest ghost was answered for: the kills are sent in their order. */
static void lay_ghost(struct rl_node *n, const struct rl_reply_value *answer)
{
	if (answer->type != RL_REPLY_INTEGER)
		n->ghost_stays = true;
	if (n->ghost_count == 0)
		return;
	n->ghost_count--;
	memmove(n->ghosts, n->ghosts + 1, n->ghost_count * sizeof n->ghosts[0]);
}

void rl_handshake_answer(struct rl_node *n, enum rl_setup setup, const struct rl_reply *reply)
{
	const struct rl_reply_value *v = &reply->value;
	switch (setup) {
	case RL_SETUP_AUTH:
	case RL_SETUP_SELECT:
		if (v->type == RL_REPLY_ERROR) {
			rl_node_fail(n, rl_vote_of_error(v->text), v->text);
			return;
		}
		n->gate--;
		break;
	case RL_SETUP_ID:
		n->client_id = v->type == RL_REPLY_INTEGER ? v->integer : 0;
		break;
	case RL_SETUP_INFO:
		learn_identity(n, v);
		break;
	case RL_SETUP_KILL:
		lay_ghost(n, v);
		break;
	case RL_SETUP_NONE:
		break;
	}
	if (--n->setup_left == 0)
		n->failures = 0;
}
