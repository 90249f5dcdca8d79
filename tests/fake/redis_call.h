/* SPDX-License-Identifier: MIT */
/* One command under execution, and how it answers. Shared by the files that run commands. */
#pragma once

#include "asked.h"
#include "redis.h"

/* A script that runs. */
struct script {
	bool written;  /* by a command so far: a lack of memory does not stop the script any more */
	uint64_t heir; /* the owner of a session that a message of the script has reached; or KEY_NOBODY */
};

/* The keys of locks that a command has changed, each as it was before: redis_change.c. */
struct changes {
	struct key *was; /* without a value: there was no such key */
	unsigned count, capacity;
};

struct call {
	struct redis *redis;
	struct session *session;
	struct buffer *out;
	struct words w;
	struct asked asked; /* the request of the library that it is */
	bool in_exec;       /* it was queued, and is executed now */
	bool inside;        /* in_exec, or queued after MULTI */
	bool made, deleted; /* it did so with a key */
	uint64_t heir;      /* of the script that the command has run */
	struct changes *changes;
	struct script *script; /* that calls the command; NULL: a session sends it */
};

/* RESP: a whole line (status, error, nil, head of an array), the same as printf(3) makes it, a number, a bulk
 * string. */
void call_reply(struct call *c, const char *line);
void call_reply_text(struct call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void call_reply_number(struct call *c, int64_t number);
void call_reply_array(struct call *c, unsigned count);
void call_reply_bulk(struct call *c, struct bytes b);

/* Reports a command that the library must never send. */
void call_wrong(struct call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads a number as servers do, with a sign: false if it is not a number; then it was answered. */
bool call_integer(struct call *c, struct bytes word, int64_t *ret_number);

/* redis.c: looks the command up and runs it. A script may call fewer commands than a session. */
void call_execute(struct call *c);
void call_from_script(struct call *c);

/* redis_change.c: call_changes() comes before each change of a key, changes_tell() after the command or the
 * whole script: the ears hear what has become of the keys of locks. They hear nothing of side keys. */
void call_changes(struct call *c, struct bytes name);
void changes_tell(struct call *c);
bool changes_are_of_side(struct bytes name);

/* redis_keys.c: the key, its life as PTTL tells it, DEL. */
struct key *call_find(struct call *c, struct bytes name);
int64_t call_life(struct call *c, const struct key *key);
void call_delete(struct call *c, struct key *key);

/* The key that the second word names: call_make() makes a missing one, and returns NULL where the key has
 * another type; call_look() gives NULL for a missing one, and returns false. Then both have answered. */
struct key *call_make(struct call *c, enum key_type type);
bool call_look(struct call *c, enum key_type type, struct key **ret);

/* The answer to a write, or to a command that needs memory, at present; NULL: it may go ahead. */
const char *call_write_refused(const struct call *c);
const char *call_memory_refused(const struct call *c);

extern const char call_wrongtype[];

void run_set(struct call *c);
void run_get(struct call *c);
void run_mget(struct call *c);
void run_incrby(struct call *c);
void run_del(struct call *c);
void run_pexpire(struct call *c);
void run_pexpireat(struct call *c);
void run_pttl(struct call *c);
void run_type(struct call *c);
void run_strlen(struct call *c);
void run_getrange(struct call *c);
void run_delex(struct call *c);
void run_delifeq(struct call *c);
void run_rpush(struct call *c);

/* redis_hash.c */
void run_hset(struct call *c);
void run_hget(struct call *c);
void run_hmget(struct call *c);
void run_hdel(struct call *c);
void run_hlen(struct call *c);
void run_hscan(struct call *c);

/* redis_zset.c */
void run_zadd(struct call *c);
void run_zrem(struct call *c);
void run_zscore(struct call *c);
void run_zcount(struct call *c);
void run_zrevrange(struct call *c);
void run_zrevrangebyscore(struct call *c);
void run_zremrangebyscore(struct call *c);

/* redis_script.c */
void run_script_flush(struct call *c);
void run_eval(struct call *c);
void run_evalsha(struct call *c);

/* redis_lua.c: runs a script of the library, and answers. */
void call_script(struct call *c, enum rl_script script);

/* redis_multi.c */
void run_multi(struct call *c);
void run_watch(struct call *c);
void run_exec(struct call *c);

/* Whether the session is after MULTI, so that commands are queued; queues one; whether any is queued, and
 * whether one of them writes. */
bool multi_is_open(const struct call *c);
void multi_queue(struct call *c, bool writes);
bool multi_has_commands(const struct call *c);
bool multi_writes(const struct call *c);

/* A command was refused: EXEC will be. EXEC itself is, for this reason (an error line): all is forgotten. */
void multi_fail(struct call *c);
void multi_abort(struct call *c, const char *why);

/* A key has changed: the sessions that watch it must know. */
void multi_touch(struct redis *r, unsigned database, struct bytes name);

void multi_free(struct session *s);

/* redis_pubsub.c */
void run_subscribe(struct call *c);
void run_unsubscribe(struct call *c);
void run_publish(struct call *c);
void pubsub_free(struct session *s);
