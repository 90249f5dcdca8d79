/* SPDX-License-Identifier: MIT */
/* What the nodes' servers tell: to the checkers, to the trace, and to what is counted. */
#include <stdio.h>

#include "redis_call.h"
#include "world.h"

static uint32_t node_of(const struct redis *r)
{
	const struct world *w = r->world;
	return (uint32_t)((const struct node *)(const void *)((const char *)r - offsetof(struct node, redis)) -
	                  w->nodes);
}

static void wrong(struct redis *r, const char *what)
{
	check_fail(r->world, VIOLATION_PROTOCOL, "n%u: %s", node_of(r), what);
}

static void claimed(struct redis *r, const struct session *s, struct bytes value)
{
	struct world *w = r->world;
	if (s->database != w->plan.database)
		check_fail(w, VIOLATION_PROTOCOL, "SET in database %u", s->database);
	check_set(w, node_of(r), (uint32_t)(s->owner >> 32), (uint32_t)s->owner, value);
}

static void stored(struct redis *r, const struct key *key)
{
	check_stored(r->world, node_of(r), key);
}

static void goes(struct redis *r, const struct key *key, bool deleted)
{
	struct world *w = r->world;
	uint32_t node = node_of(r);
	if (deleted)
		check_deleted(w, key->value);
	else
		world_hit(w, COVER_EXPIRED);
	check_gone(w, node, key, deleted ? w->now_ns : node_expiry_world(&w->nodes[node], key));
}

static void changed(struct redis *r, struct bytes name)
{
	check_key(r->world, name);
}

static void killed(struct redis *r, struct session *s)
{
	struct world *w = r->world;
	if (w->links.conns[s->tag].pipe[TO_NODE].inbox.length > 0)
		world_hit(w, COVER_KILLED_UNREAD);
	TRACE(w, "n%u kills conn %u", node_of(r), s->tag);
	link_node_close(w, s->tag, false);
}

/* What is counted when a command is answered so; `inside`: only in a transaction. */
static const struct {
	const char *command, *answer;
	enum sim_cover kind;
	bool inside;
} counted[] = {
    {"evalsha", "-NOSCRIPT", COVER_NOSCRIPT, false}, {"evalsha", "-WRONGTYPE", COVER_WRONGTYPE, false},
    {"eval", "-WRONGTYPE", COVER_WRONGTYPE, false},  {"exec", "*-1", COVER_EXEC_NIL, false},
    {"delex", ":1", COVER_NATIVE_DELETED, false},    {"delifeq", ":1", COVER_NATIVE_DELETED, false},
    {"del", ":1", COVER_EXEC_DELETED, true},         {"pexpire", ":1", COVER_EXEC_EXTENDED, true},
};

static void count(const struct call *c, const char *name, struct bytes answer)
{
	struct world *w = c->redis->world;
	w->cover->commands++;
	for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
		if (strcmp(name, counted[i].command) == 0 && (c->in_exec || !counted[i].inside) &&
		    answer.size >= strlen(counted[i].answer) &&
		    memcmp(answer.at, counted[i].answer, strlen(counted[i].answer)) == 0)
			world_hit(w, counted[i].kind);
	if (strcmp(name, "set") == 0 && answer.size > 0 && *answer.at != '-' &&
	    w->links.conns[c->session->tag].aborted)
		world_hit(w, COVER_LATE_EXECUTION);
}

/* The command's name and the beginning of its token, and what was answered. */
static void trace(const struct call *c, const char *name, struct bytes answer)
{
	enum { EVAL_TOKEN = 4, EVAL_TTL };
	bool script = strncmp(name, "eval", 4) == 0;
	struct bytes token = {"", 0};
	size_t line = 0;
	while (line < answer.size && line < 47 && strchr("\r\n", answer.at[line]) == NULL)
		line++;
	if (strcmp(name, "set") == 0)
		token = c->w.at[2];
	else if (script && c->w.count > EVAL_TOKEN)
		token = c->w.at[EVAL_TOKEN];
	TRACE((struct world *)c->redis->world, "n%u conn %u of c%u: %s%s %.8s -> %.*s", node_of(c->redis),
	      c->session->tag, (unsigned)(c->session->owner >> 32), name,
	      c->w.count > EVAL_TTL && script ? " (extend)" : "", token.size >= 8 ? token.at : "-", (int)line,
	      answer.at);
}

static void answered(const struct call *c, const char *name, size_t from)
{
	struct world *w = c->redis->world;
	struct bytes answer = {buffer_front(c->out) + from, c->out->length - from};
	count(c, name, answer);
	if (*name != '?' && w->trace.on)
		trace(c, name, answer);
	if (w->plan.broken == BREAK_ANSWERS && !c->inside && prng_chance(&w->chaos, 10))
		c->out->length = from;
}

const struct redis_ears node_ears = {
    .wrong = wrong,
    .claimed = claimed,
    .stored = stored,
    .goes = goes,
    .changed = changed,
    .answered = answered,
    .killed = killed,
};
