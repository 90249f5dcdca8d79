/* SPDX-License-Identifier: MIT */
/*
 * How a connection opens: AUTH and SELECT, which must succeed before any operation is sent; then the
 * connection's own id, the server's identity and what commands it has, which are pipelined with the first
 * operations and may be refused: then something is unknown, and the node still votes. Where an earlier
 * connection may have left a SET in the server's buffer, operations also wait until the identity is known,
 * and that connection is ended first: if it is the same server process, whose ids mean what they meant.
 */
#include <stdio.h>
#include <string.h>

#include "core/quorum.h"
#include "net/node.h"
#include "proto/answer.h"
#include "proto/command.h"

/* How long a SET in the buffer of a server that answers again may stay there. Seconds would do. */
#define GHOST_LIFE_NS (60000 * RL_NS_PER_MS)

#define WORD(text) ((struct rl_slice){text, sizeof(text) - 1})
#define TEXT(text) ((struct rl_slice){text, strlen(text)})

static bool push(struct rl_node *n, enum rl_setup setup, const struct rl_slice *words, unsigned count)
{
	struct rl_buffer command = {0};
	bool ok = rl_command_write(&command, words, count);
	if (ok) {
		struct rl_entry entry = {.setup = (uint8_t)setup};
		ok = rl_outbox_push(&n->setup, &entry, (struct rl_slice){command.bytes, command.size});
	}
	rl_buffer_free(&command);
	return ok;
}

static bool push_auth(struct rl_node *n)
{
	n->new_credentials = false;
	n->gate += rl_endpoint_logs_in(&n->endpoint);
	return rl_auth_push(&n->setup, &n->endpoint);
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

/* Which commands of its own it has for what the scripts do. Behind INFO, which says whose answer it is. */
static bool push_probe(struct rl_node *n)
{
	struct rl_slice words[] = {WORD("COMMAND"), WORD("INFO"), WORD("delex"), WORD("delifeq")};
	return push(n, RL_SETUP_PROBE, words, 4);
}

bool rl_handshake_begin(struct rl_node *n)
{
	rl_outbox_clear(&n->setup);
	n->client_id = 0;
	n->run_id_known = false;
	n->gate = n->ghost_count > 0; /* INFO */
	return push_auth(n) && push_select(n) &&
	       push(n, RL_SETUP_ID, (struct rl_slice[]){WORD("CLIENT"), WORD("ID")}, 2) &&
	       push(n, RL_SETUP_INFO, (struct rl_slice[]){WORD("INFO"), WORD("server")}, 2) && push_probe(n);
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
		n->run_id_known = true;
	}
}

/* Another server, by address and identity, has taken over the name. What is owed follows the name, as the
 * votes do: that server may have a copy of the keys, and the one before no longer counts. But its "not there"
 * says nothing of the one before, which may live on with its keys, and come back. */
static void meet_successor(struct rl_node *n, const char *run_id_before)
{
	bool same = n->run_id_known && strcmp(n->run_id, run_id_before) == 0;
	if (n->dial.elsewhere && !same)
		rl_node_ghost_stays(n);
	n->dial.elsewhere = false;
}

static bool push_kill(struct rl_node *n, int64_t client_id)
{
	char number[24];
	snprintf(number, sizeof number, "%lld", (long long)client_id);
	struct rl_slice words[] = {WORD("CLIENT"), WORD("KILL"), WORD("ID"), TEXT(number)};
	return push(n, RL_SETUP_KILL, words, 4);
}

/* The ghosts of another process died with it. Those of this one are killed before the first operation is
 * sent. */
static void meet_ghosts(struct rl_node *n)
{
	for (unsigned i = 0; i < n->ghost_count; i++) {
		const struct rl_ghost *ghost = &n->ghosts[i];
		bool same = n->run_id_known && strcmp(ghost->run_id, n->run_id) == 0;
		if (!n->run_id_known || (same && !push_kill(n, ghost->client_id)))
			rl_node_ghost_stays(n);
	}
	if (n->ghost_count > 0)
		n->gate--;
}

/* Some servers tell a client why they close on it, as the answer to whatever it asks first. */
static bool is_turned_away(const char *text)
{
	return strncmp(text, "DENIED", 6) == 0 || strncmp(text, "ERR max number of clients", 25) == 0;
}

bool rl_handshake_fits(enum rl_setup setup, const struct rl_reply *reply)
{
	static const enum rl_reply_type types[] = {
	    [RL_SETUP_AUTH] = RL_REPLY_STATUS, [RL_SETUP_SELECT] = RL_REPLY_STATUS,
	    [RL_SETUP_ID] = RL_REPLY_INTEGER,  [RL_SETUP_INFO] = RL_REPLY_STRING,
	    [RL_SETUP_PROBE] = RL_REPLY_ARRAY, [RL_SETUP_KILL] = RL_REPLY_INTEGER,
	};
	const struct rl_reply_value *v = &reply->value;
	if (v->type == RL_REPLY_ERROR)
		return true;
	return v->type == types[setup] && (v->type != RL_REPLY_STATUS || strcmp(v->text, "OK") == 0);
}

void rl_handshake_answer(struct rl_node *n, enum rl_setup setup, const struct rl_reply *reply,
                         uint64_t now_ns)
{
	const struct rl_reply_value *v = &reply->value;
	bool error = v->type == RL_REPLY_ERROR;
	bool needed = setup == RL_SETUP_AUTH || setup == RL_SETUP_SELECT;
	if (error && (needed || is_turned_away(v->text))) {
		rl_node_fail(n, rl_answer_of_error(v->text), v->text);
		return;
	}
	if (needed)
		n->gate--;
	if (setup == RL_SETUP_AUTH)
		rl_auth_accepted(n);
	if (setup == RL_SETUP_ID)
		n->client_id = error ? 0 : v->integer;
	if (setup == RL_SETUP_KILL && error)
		rl_node_ghost_stays(n);
	if (setup == RL_SETUP_INFO) {
		char run_id_before[sizeof n->run_id];
		memcpy(run_id_before, n->run_id, sizeof run_id_before);
		learn_identity(n, v);
		rl_method_meet(&n->methods, n->run_id);
		meet_successor(n, run_id_before);
		meet_ghosts(n);
	}
	if (setup == RL_SETUP_PROBE)
		rl_method_probed(&n->methods, reply);
	rl_outbox_pop(&n->setup);
	if (n->setup.count > 0)
		return;
	n->opened_ns = now_ns;
	n->ghost_count = 0;
	n->ghost_own = n->ghost_own && n->ghost_stays;
	if (n->ghost_stays && n->ghost_gone_ns == UINT64_MAX)
		n->ghost_gone_ns = rl_time_add(now_ns, GHOST_LIFE_NS);
}
