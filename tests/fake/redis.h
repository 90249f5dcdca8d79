/* SPDX-License-Identifier: MIT */
/*
 * A Redis server in memory: what a session says goes in, answers come out, as redis-server 7.0 gives them, or
 * a newer one by the settings. The simulator's nodes are made of it, those of the storm and the budgets, and
 * what the TLS peer and the scripted server say where no rule matches. redlock-sim-differential holds it
 * against real ones. By hand, byte for byte, answer only those that say what no server should, or something
 * else each time: tests/unit/scene.h, fuzz/peer.h, tests/cli/hostile.py.
 *
 *     struct redis redis = {.password = "secret"};       all zero: a healthy server that wants no password
 *     struct session *s = redis_accept(&redis);          a connection has come
 *     redis.now_ms = ...;                                time is the caller's
 *     redis_serve(&redis, s, &inbox, UINT32_MAX, &out);  takes whole commands off the inbox, appends answers
 *     redis_forget(&redis, s);                           the connection has gone
 *     redis_free(&redis);
 */
#pragma once

#include "buffer.h"
#include "keyspace.h"

/* Why a server that runs refuses commands. */
enum redis_mode {
	REDIS_NORMAL,
	REDIS_LOADING,
	REDIS_OOM,
	REDIS_MISCONF,
	REDIS_READONLY,
	REDIS_BUSY,
	REDIS_MODES
};

/* Commands of newer servers, in place of scripts. */
enum redis_native { NATIVE_NONE, NATIVE_DELEX, NATIVE_DELIFEQ };

/* The fate of a message to a subscriber, which is counted as a receiver all the same. */
enum redis_fate { FATE_ARRIVES, FATE_LOST, FATE_LATE, FATE_TWICE };

struct multi;
struct channel;
struct redis;

struct session {
	bool greeted; /* authenticated, or no password is wanted */
	bool stray;   /* it has said what is not RESP: it is to be closed */
	uint64_t id;  /* CLIENT ID */
	unsigned database;
	bool queue_denied;        /* as of the whole server, below */
	uint32_t tag;             /* the caller's */
	uint64_t owner;           /* of the keys that it sets: the caller's */
	struct multi *multi;      /* MULTI and WATCH; NULL: none was ever sent */
	struct channel *channels; /* that it has subscribed to */
	unsigned channel_count;
	struct buffer late; /* messages: until redis_say_late() */
};

struct call;

/* Other text for some of a script's, as if the library had been written so: digests stay. */
struct script_edit {
	const char *script;         /* its name; NULL: each that has the text, which one must */
	const char *find, *replace; /* NULL: after the last one */
};

/* The listeners to events of a server: any of them may be NULL. */
struct redis_ears {
	/* Something was sent that the library must never send. */
	void (*wrong)(struct redis *r, const char *what);
	/* A request that makes a key came in, whatever is answered. */
	void (*claimed)(struct redis *r, const struct session *s, struct bytes token);
	/* `was`: the key before; NULL: there was none. `handed`: by who had it before. */
	void (*stored)(struct redis *r, const struct key *key, const struct key *was, bool handed);
	/* A key goes: it was deleted by a command, or has expired. */
	void (*goes)(struct redis *r, const struct key *key, bool deleted);
	/* Whether a key that was changed is still that of the same claim: then it neither goes nor is stored.
	 * NULL: its value tells. */
	bool (*same)(const struct key *is, const struct key *was);
	/* A key has less than before: it was deleted, it ends earlier, or its value is another. */
	void (*changed)(struct redis *r, struct bytes name);
	/* A command was answered, with what is in `out` from `answer` on: it may be cut off again. `name` in
	 * lower case, "?" for none that it knows. */
	void (*answered)(const struct call *c, const char *name, size_t answer);
	/* CLIENT KILL: its connection must be closed now. */
	void (*killed)(struct redis *r, struct session *s);
	/* A message to who listens: to be sent to it. Nobody gets one if this is NULL. */
	void (*said)(struct redis *r, struct session *s, struct bytes message);
	/* Asked before, once for each who listens; NULL: all arrive. */
	enum redis_fate (*fate)(struct redis *r, const struct session *s);
};

struct redis {
	struct keyspace keys;
	int64_t now_ms;
	char run_id[41];
	enum redis_mode mode;
	const char *user; /* NULL: the default user */
	const char *password;
	unsigned databases; /* 0: 16 */
	uint64_t cached;    /* bit per script of the library */
	uint64_t last_id;
	/* Rights that the server does not grant. */
	bool kill_denied, info_denied, eval_denied, subscribe_denied, publish_denied;
	bool queue_denied; /* scripts with a queue's key: as by a rule for the names of locks alone */
	bool keys_denied;  /* channels of keys */
	bool tells_keys;   /* notify-keyspace-events Kgx */
	bool promoted;     /* it was a replica before */
	/* How newer servers differ. */
	enum redis_native native;
	bool is_valkey_9;      /* some commands run beside a script; a client must log in before anything else */
	bool queues_when_full; /* Redis 7.2, Valkey 8: after MULTI only commands that need memory are refused */
	bool quiet_login;      /* Redis 7.2 to 8.6, Valkey 8: see refuse_login() */
	const struct script_edit *edits; /* broken on purpose; NULL: the library's scripts as they are */
	struct session **open;
	uint32_t open_count;
	uint32_t open_capacity;
	const struct redis_ears *ears;
	void *world; /* the ears' */
};

struct session *redis_accept(struct redis *r);
void redis_forget(struct redis *r, struct session *s);
void redis_free(struct redis *r);

/* Executes the whole commands in the inbox, at most `most`, and appends the answers to `out`. */
void redis_serve(struct redis *r, struct session *s, struct buffer *inbox, unsigned most, struct buffer *out);

/* The session that would get a message. NULL: none. */
const struct session *fake_redis_listener(const struct redis *r, struct bytes channel);

/* PUBLISH: the number of receivers; -1: it is not permitted. */
int fake_redis_publish(struct redis *r, struct bytes channel, struct bytes payload);

/* Tells an event of a key to the sessions that have subscribed to such events. */
void fake_redis_tell(struct redis *r, unsigned database, struct bytes name, const char *event);

/* Messages that were to be late arrive now. */
void redis_say_late(struct redis *r);

/* Removes the keys that have expired, and all of them. */
void redis_expire(struct redis *r);
void redis_wipe(struct redis *r);

/* Another program sets a key that is not there. */
struct key *redis_put(struct redis *r, unsigned database, struct bytes name, struct bytes value);

/* Another program deletes a key. */
void redis_delete(struct redis *r, struct key *key);
