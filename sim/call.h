/* SPDX-License-Identifier: MIT */
/* One command under execution in a modelled server, and how it answers. Shared by the files that run
 * commands. */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "world.h"

#define MAX_WORDS 16

/* Where the words of a script call are: EVALSHA sha 1 key [token [ttl_ms]]. */
enum { SCRIPT_KEY = 3, SCRIPT_TOKEN, SCRIPT_TTL };

/* One command under execution. */
struct call {
	struct world *w;
	struct node *node;
	struct conn *conn;
	uint32_t conn_number;
	struct buffer *out;
	struct bytes words[MAX_WORDS];
	unsigned count;
	bool in_exec; /* it was queued, and is executed now */
};

/* RESP: a whole line (status, error, nil, head of an array), a number, a bulk string. */
void call_reply(struct call *c, const char *line);
void call_reply_number(struct call *c, int64_t number);
void call_reply_bulk(struct call *c, struct bytes b);

struct bytes text_bytes(const char *text);
/* Whether a word is this text, in any case. */
bool word_is(struct bytes word, const char *text);
/* A decimal number; -1 if it is none. */
int64_t word_number(struct bytes word);
/* A number as servers read them, with a sign: false if it is none. */
bool word_integer(struct bytes word, int64_t *ret_number);

/* command.c: looks the command up and runs it. */
void call_execute(struct call *c);

/* resp_server.c: runs the commands that EXEC has taken out of the queue. */
void call_run_queued(struct call *c, struct buffer *queue);

/* command_keys.c */
void run_set(struct call *c);
void run_get(struct call *c);
void run_del(struct call *c);
void run_pexpire(struct call *c);
void run_pttl(struct call *c);
void run_type(struct call *c);
void run_strlen(struct call *c);
void run_getrange(struct call *c);
void run_delex(struct call *c);
void run_delifeq(struct call *c);
void run_hset(struct call *c);
void run_rpush(struct call *c);

/* command_script.c */
void run_script_flush(struct call *c);
void run_eval(struct call *c);
void run_evalsha(struct call *c);

/* command_keys.c, for the scripts: the key, its life as PTTL tells it, its value, what a write is answered
 * now (NULL: it may go ahead), DEL. */
struct key *call_find(struct call *c, struct bytes name);
int64_t call_life(struct call *c, const struct key *key);
struct bytes key_value(const struct key *key);
const char *call_write_refused(const struct call *c);
void call_delete(struct call *c, struct key *key);
extern const char call_wrongtype[];
extern const char *const key_type_names[KEY_TYPES];

#endif
