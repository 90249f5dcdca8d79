/* SPDX-License-Identifier: MIT */
/* One command under execution, and how it answers. Shared by the files that run commands. */
#pragma once

#include "asked.h"
#include "redis.h"

struct call {
	struct redis *redis;
	struct session *session;
	struct buffer *out;
	struct words w;
	struct asked asked; /* the request of the library that it is */
	bool in_exec;       /* it was queued, and is executed now */
	bool inside;        /* that, or it is behind MULTI */
	bool made, deleted; /* it did so with a key */
};

/* RESP: a whole line (status, error, nil, head of an array), the same as printf(3) makes it, a number, a bulk
 * string. */
void call_reply(struct call *c, const char *line);
void call_reply_text(struct call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void call_reply_number(struct call *c, int64_t number);
void call_reply_bulk(struct call *c, struct bytes b);
/* Numbers, and a text behind them, as one text. */
void call_reply_words(struct call *c, const int64_t *numbers, unsigned count, struct bytes text);

/* What the library must never send. */
void call_wrong(struct call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A number as servers read them, with a sign: false if it is none; then it was answered. */
bool call_integer(struct call *c, struct bytes word, int64_t *ret_number);

/* redis.c: looks the command up and runs it. */
void call_execute(struct call *c);

/* redis_keys.c: the key, its life as PTTL tells it, DEL. */
struct key *call_find(struct call *c, struct bytes name);
int64_t call_life(struct call *c, const struct key *key);
void call_delete(struct call *c, struct key *key);

/* Makes the key, for the session's owner. `ttl_ms` 0: for ever. */
void call_store(struct call *c, struct bytes name, struct bytes value, int64_t ttl_ms);
void call_store_for(struct call *c, uint64_t owner, struct bytes name, struct bytes value, int64_t ttl_ms);

/* What a write, or one that needs memory, is answered now; NULL: it may go ahead. */
const char *call_write_refused(const struct call *c);
const char *call_memory_refused(const struct call *c);

extern const char call_wrongtype[];
extern const char *const key_type_names[KEY_TYPES];

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

/* redis_script.c: an error of a command inside a script, where one is (not NULL): the server says where. */
bool script_fails_at(struct call *c, const char *error, enum rl_script script, unsigned line);
void run_script_flush(struct call *c);
void run_eval(struct call *c);
void run_evalsha(struct call *c);

/* redis_queue.c */
void script_enter(struct call *c);
void script_guarded_enter(struct call *c);
void script_vacate(struct call *c);
void script_leave(struct call *c);
void script_hand(struct call *c);

/* redis_guard.c */
void script_claim(struct call *c);
void script_claim_fenced(struct call *c);
void script_raise(struct call *c);
void script_guarded_extend(struct call *c);
void script_meet(struct call *c);
void script_admit(struct call *c);

/* redis_many.c */
void script_claim_all(struct call *c);
void script_claim_all_fenced(struct call *c);
void script_guarded_claim_all(struct call *c);
void script_extend_all(struct call *c);
void script_guarded_extend_all(struct call *c);
void script_release_all(struct call *c);
void script_enter_all(struct call *c);
void script_guarded_enter_all(struct call *c);

/* redis_share_scripts.c */
void script_share(struct call *c);
void script_share_extend(struct call *c);
void script_share_release(struct call *c);
void script_share_query(struct call *c);
void script_upgrade(struct call *c);
void script_guarded_share(struct call *c);
void script_guarded_share_extend(struct call *c);
void script_guarded_upgrade(struct call *c);
void script_upgrade_fenced(struct call *c);

/* redis_share.c; of a key that is shared: how many do, with who they are as INSPECT shows them */
bool share_member(const struct key *key, struct bytes token, struct key *ret); /* as a key of its own */
bool share_next(const struct key *key, struct bytes *rest, struct key *ret); /* `rest`: at first its value */
void share_goes(struct redis *r, const struct key *key, bool deleted);       /* each of them */
bool share_ends_within(const struct key *key, int64_t from_ms, int64_t to_ms);
int64_t share_holders(struct call *c, const struct key *key, struct buffer *ret);

/* redis_setnx.c */
void script_setnx(struct call *c);
void script_setnx_extend(struct call *c);
void script_setnx_release(struct call *c);
void script_setnx_query(struct call *c);

/* redis_slots.c */
void script_slot(struct call *c);
void script_slot_enter(struct call *c);
void script_slot_release(struct call *c);

/* redis_multi.c */
void run_multi(struct call *c);
void run_watch(struct call *c);
void run_exec(struct call *c);

/* The session is behind MULTI: commands are queued. Of what is queued: is there anything, does it write? */
bool multi_is_open(const struct call *c);
void multi_queue(struct call *c, bool writes);
bool multi_has_commands(const struct call *c);
bool multi_writes(const struct call *c);

/* A command was refused: EXEC will be. EXEC itself is, for this reason (an error line): all is forgotten. */
void multi_fail(struct call *c);
void multi_abort(struct call *c, const char *why);

/* A key has changed: whoever watches it must know. */
void multi_touch(struct redis *r, unsigned database, struct bytes name);

void multi_free(struct session *s);

/* redis_pubsub.c */
void run_subscribe(struct call *c);
void run_unsubscribe(struct call *c);
void run_publish(struct call *c);
void pubsub_free(struct session *s);
