/* SPDX-License-Identifier: MIT */
#include "net/handshake.h"

#include <stdio.h>
#include <string.h>

#include "net/auth.h"
#include "proto/answer.h"
#include "proto/command.h"
#include "proto/side.h"

enum { LOOKS = 3 }; /* fields */

struct opening {
	const char *words[6];     /* end with NULL */
	enum rl_reply_type reply; /* unless it is an error; STATUS: "OK" */
	bool needed;              /* an error breaks the connection, and operations wait for the answer */
};

static const struct opening openings[] = {
    [RL_SETUP_AUTH] = {{NULL}, RL_REPLY_STATUS, true}, /* auth.c has the words */
    [RL_SETUP_SELECT] = {{"SELECT"}, RL_REPLY_STATUS, true},
    [RL_SETUP_ID] = {{"CLIENT", "ID"}, RL_REPLY_INTEGER, false},
    [RL_SETUP_ROLE] = {{"ROLE"}, RL_REPLY_ARRAY, true},
    [RL_SETUP_INFO] = {{"INFO", "server"}, RL_REPLY_STRING, false},
    /* which commands of its own it has for what the scripts do; INFO has said whose answer that is */
    [RL_SETUP_PROBE] = {{"COMMAND", "INFO", "delex", "delifeq"}, RL_REPLY_ARRAY, false},
    [RL_SETUP_KILL] = {{"CLIENT", "KILL", "ID"}, RL_REPLY_INTEGER, false},
    /* the fields of which each record has one: record.h */
    [RL_SETUP_LOOK] = {{"HMGET", RL_SIDE_SET, "version", "mode", "qrid"}, RL_REPLY_ARRAY, false},
    [RL_SETUP_MEET] = {{NULL}, RL_REPLY_ARRAY, false}, /* record.c has the words */
    [RL_SETUP_SUBSCRIBE] = {{"SUBSCRIBE"}, RL_REPLY_ARRAY, true},
    [RL_SETUP_UNSUBSCRIBE] = {{"UNSUBSCRIBE"}, RL_REPLY_ARRAY, false},
    [RL_SETUP_MASTER] = {{"SENTINEL", "get-master-addr-by-name"}, RL_REPLY_ARRAY, false},
    [RL_SETUP_ASKING] = {{"ASKING"}, RL_REPLY_STATUS, true},
};

/* `argument` is its last word, NULL: it has none. */
static bool push_to(struct rl_outbox *outbox, enum rl_setup setup, const char *argument)
{
	struct rl_slice words[6];
	struct rl_buffer command = {0};
	unsigned count = 0;
	for (const char *const *word = openings[setup].words; *word != NULL; word++)
		words[count++] = rl_slice_of(*word);
	if (argument != NULL)
		words[count++] = rl_slice_of(argument);
	struct rl_entry entry = {.setup = (uint8_t)setup};
	bool ok = rl_command_write(&command, words, count) &&
	          rl_outbox_push(outbox, &entry, (struct rl_slice){command.bytes, command.size});
	rl_buffer_free(&command);
	return ok;
}

static bool push(struct rl_link *l, enum rl_setup setup, const char *argument)
{
	return push_to(&l->setup, setup, argument);
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
	return push(l, RL_SETUP_SELECT, number);
}

static bool push_role(struct rl_link *l)
{
	if (l->endpoint.master == NULL)
		return true;
	l->gate++;
	return push(l, RL_SETUP_ROLE, NULL);
}

static void forget(struct rl_link *l)
{
	rl_outbox_clear(&l->setup);
	l->facts.client_id = 0;
	l->facts.run_id_known = false;
}

bool rl_handshake_begin(struct rl_link *l, bool waits)
{
	forget(l);
	l->gate = waits; /* INFO */
	return push_auth(l) && push_select(l) && push(l, RL_SETUP_ID, NULL) && push_role(l) &&
	       push(l, RL_SETUP_INFO, NULL) && push(l, RL_SETUP_PROBE, NULL);
}

bool rl_handshake_listen(struct rl_link *l, const char *channel)
{
	forget(l);
	l->gate = 1; /* SUBSCRIBE */
	return push_auth(l) && push(l, RL_SETUP_INFO, NULL) && push(l, RL_SETUP_SUBSCRIBE, channel);
}

bool rl_handshake_log_in(struct rl_link *l)
{
	forget(l);
	l->gate = 0;
	return push_auth(l) && push_select(l);
}

static const char switches[] = "+switch-master";

bool rl_handshake_resolve(struct rl_link *l, const char *master)
{
	forget(l);
	l->gate = 0;
	return push_auth(l) && push(l, RL_SETUP_MASTER, master) && push(l, RL_SETUP_SUBSCRIBE, switches);
}

bool rl_handshake_resolve_again(struct rl_link *l, const char *master)
{
	return push_to(&l->outbox, RL_SETUP_UNSUBSCRIBE, switches) &&
	       push_to(&l->outbox, RL_SETUP_MASTER, master) && push_to(&l->outbox, RL_SETUP_SUBSCRIBE, switches);
}

bool rl_handshake_asking(struct rl_outbox *asked)
{
	return push_to(asked, RL_SETUP_ASKING, NULL);
}

bool rl_handshake_look(struct rl_link *l)
{
	return push(l, RL_SETUP_LOOK, NULL);
}

bool rl_handshake_is_bare(const struct rl_reply *reply)
{
	const struct rl_reply_value *field = reply->items;
	bool whole = reply->value.type == RL_REPLY_ARRAY && reply->count == LOOKS;
	for (unsigned i = 0; whole && i < LOOKS; i++)
		whole = field[i].type == RL_REPLY_NIL;
	return whole;
}

bool rl_handshake_kill(struct rl_link *l, int64_t client_id)
{
	char number[24];
	snprintf(number, sizeof number, "%lld", (long long)client_id);
	return push(l, RL_SETUP_KILL, number);
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
	if (!f->same_server && before[0] != '\0')
		memcpy(f->left, before, sizeof f->left);
}

/* INFO says redis_mode, and newer servers of Valkey server_mode. */
static bool is_sentinel(const struct rl_reply_value *info)
{
	return info->type == RL_REPLY_STRING && strstr(info->text, "_mode:sentinel") != NULL;
}

/* A server of a cluster's URL that is no member would have a vote of its own: it may not have it. */
static bool is_stranger(struct rl_link *l, const struct rl_reply_value *info)
{
	char text[160];
	bool error = info->type == RL_REPLY_ERROR;
	if (!l->in_cluster || (!error && strstr(info->text, "_mode:cluster") != NULL))
		return false;
	snprintf(text, sizeof text, error ? "%.64s:%u: %s" : "%.64s:%u is not a member of a Redis Cluster",
	         l->endpoint.host, l->endpoint.port, info->text);
	rl_link_fail(l, error ? rl_answer_of_error(info->text) : REDLOCK_VOTE_SERVICE, text);
	return true;
}

/* ["master", ...]. A server that does not tell refuses writes if it is a replica. */
static bool is_master(const struct rl_reply *reply)
{
	static const char master[] = "master";
	const struct rl_reply_value *role = &reply->items[0];
	return reply->value.type != RL_REPLY_ARRAY ||
	       (reply->count > 0 && role->type == RL_REPLY_STRING && role->kept == sizeof master - 1 &&
	        memcmp(role->text, master, role->kept) == 0);
}

bool rl_handshake_turns_away(const char *text)
{
	return strncmp(text, "DENIED", 6) == 0 || strncmp(text, "ERR max number of clients", 25) == 0;
}

bool rl_handshake_fits(enum rl_setup setup, const struct rl_reply *reply)
{
	const struct rl_reply_value *v = &reply->value;
	if (v->type == RL_REPLY_ERROR)
		return true;
	if (setup == RL_SETUP_LOOK && reply->count != LOOKS)
		return false;
	return v->type == openings[setup].reply && (v->type != RL_REPLY_STATUS || strcmp(v->text, "OK") == 0);
}

bool rl_handshake_take(struct rl_link *l, enum rl_setup setup, const struct rl_reply *reply)
{
	const struct rl_reply_value *v = &reply->value;
	bool error = v->type == RL_REPLY_ERROR;
	bool needed = openings[setup].needed;
	bool untold = error && setup == RL_SETUP_ROLE;
	if (setup == RL_SETUP_ROLE && !is_master(reply)) {
		rl_link_fail(l, REDLOCK_VOTE_READONLY, "a replica, which the Sentinels take for the master");
		return false;
	}
	if (error && setup == RL_SETUP_SELECT && rl_answer_of_error(v->text) == REDLOCK_VOTE_COMMAND) {
		rl_link_fail(l, REDLOCK_VOTE_SERVICE,
		             "one without databases such as a Sentinel: give the address of its master or "
		             "redis+sentinel://HOST/NAME");
		return false;
	}
	if (error && ((needed && !untold) || rl_handshake_turns_away(v->text))) {
		rl_link_fail(l, rl_answer_of_error(v->text), v->text);
		return false;
	}
	if (setup == RL_SETUP_INFO && is_sentinel(v)) {
		rl_link_fail(
		    l, REDLOCK_VOTE_SERVICE,
		    "a Sentinel that holds no keys: give the address of its master or redis+sentinel://HOST/NAME");
		return false;
	}
	if (setup == RL_SETUP_INFO && is_stranger(l, v))
		return false;
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

/* The server is reached, so why it was not before is history: votes and messages must not tell it. */
static void forget_outage(struct rl_link *l)
{
	bool broken = l->state == RL_LINK_BROKEN; /* by this very answer: that is no history */
	bool unreached = l->failure == REDLOCK_VOTE_DOWN || l->failure == REDLOCK_VOTE_CLOSED ||
	                 l->failure == REDLOCK_VOTE_TIMEOUT;
	if (broken || !unreached)
		return;
	l->failure = REDLOCK_VOTE_PENDING;
	l->failure_text[0] = '\0';
}

bool rl_handshake_done(struct rl_link *l, uint64_t now_ns)
{
	rl_outbox_pop(&l->setup);
	if (l->setup.count > 0)
		return false;
	l->opened_ns = now_ns;
	l->connects++;
	forget_outage(l);
	return true;
}
