/* SPDX-License-Identifier: MIT */
#include "net/handshake.h"

#include <stdio.h>
#include <string.h>

#include "net/auth.h"
#include "proto/answer.h"
#include "proto/command.h"

#define WORD(text) ((struct rl_slice){text, sizeof(text) - 1})
#define TEXT(text) ((struct rl_slice){text, strlen(text)})

static bool push(struct rl_link *l, enum rl_setup setup, const struct rl_slice *words, unsigned count)
{
	struct rl_buffer command = {0};
	bool ok = rl_command_write(&command, words, count);
	if (ok) {
		struct rl_entry entry = {.setup = (uint8_t)setup};
		ok = rl_outbox_push(&l->setup, &entry, (struct rl_slice){command.bytes, command.size});
	}
	rl_buffer_free(&command);
	return ok;
}

static bool push_auth(struct rl_link *l)
{
	l->new_credentials = false;
	l->gate += rl_url_logs_in(&l->endpoint);
	return rl_auth_push(&l->setup, &l->endpoint);
}

static bool push_select(struct rl_link *l)
{
	if (l->endpoint.database == 0)
		return true;
	char number[16];
	snprintf(number, sizeof number, "%u", l->endpoint.database);
	l->gate++;
	return push(l, RL_SETUP_SELECT, (struct rl_slice[]){WORD("SELECT"), TEXT(number)}, 2);
}

/* Which commands of its own it has for what the scripts do. Behind INFO, which says whose answer it is. */
static bool push_probe(struct rl_link *l)
{
	struct rl_slice words[] = {WORD("COMMAND"), WORD("INFO"), WORD("delex"), WORD("delifeq")};
	return push(l, RL_SETUP_PROBE, words, 4);
}

bool rl_handshake_begin(struct rl_link *l, bool waits)
{
	rl_outbox_clear(&l->setup);
	l->facts.client_id = 0;
	l->facts.run_id_known = false;
	l->gate = waits; /* INFO */
	return push_auth(l) && push_select(l) &&
	       push(l, RL_SETUP_ID, (struct rl_slice[]){WORD("CLIENT"), WORD("ID")}, 2) &&
	       push(l, RL_SETUP_INFO, (struct rl_slice[]){WORD("INFO"), WORD("server")}, 2) && push_probe(l);
}

bool rl_handshake_kill(struct rl_link *l, int64_t client_id)
{
	char number[24];
	snprintf(number, sizeof number, "%lld", (long long)client_id);
	struct rl_slice words[] = {WORD("CLIENT"), WORD("KILL"), WORD("ID"), TEXT(number)};
	return push(l, RL_SETUP_KILL, words, 4);
}

void rl_handshake_pass(struct rl_link *l)
{
	l->gate--;
}

static void learn_identity(struct rl_facts *f, const struct rl_reply_value *info)
{
	static const char mark[] = "run_id:";
	char before[sizeof f->run_id];
	memcpy(before, f->run_id, sizeof before);
	f->run_id[0] = '\0';
	const char *at = info->type == RL_REPLY_STRING ? strstr(info->text, mark) : NULL;
	size_t size = at != NULL ? strspn(at + sizeof mark - 1, "0123456789abcdefABCDEF") : 0;
	f->run_id_known = size == sizeof f->run_id - 1;
	if (f->run_id_known) {
		memcpy(f->run_id, at + sizeof mark - 1, size);
		f->run_id[size] = '\0';
	}
	f->same_server = f->run_id_known && strcmp(f->run_id, before) == 0;
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

bool rl_handshake_take(struct rl_link *l, enum rl_setup setup, const struct rl_reply *reply)
{
	const struct rl_reply_value *v = &reply->value;
	bool error = v->type == RL_REPLY_ERROR;
	bool needed = setup == RL_SETUP_AUTH || setup == RL_SETUP_SELECT;
	if (error && (needed || is_turned_away(v->text))) {
		rl_link_fail(l, rl_answer_of_error(v->text), v->text);
		return false;
	}
	if (needed)
		l->gate--;
	if (setup == RL_SETUP_AUTH)
		rl_auth_accepted(l);
	if (setup == RL_SETUP_ID)
		l->facts.client_id = error ? 0 : v->integer;
	if (setup == RL_SETUP_INFO)
		learn_identity(&l->facts, v);
	return true;
}

bool rl_handshake_done(struct rl_link *l, uint64_t now_ns)
{
	rl_outbox_pop(&l->setup);
	if (l->setup.count > 0)
		return false;
	l->opened_ns = now_ns;
	return true;
}
